"""What a bisection takes of the runs of its commits."""

from __future__ import annotations

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.measurement.bisected import bisected
from keisoku.running.measurement.bisection_settings import BisectionSettings
from keisoku.running.measurement.commit_history import Commit
from keisoku.subjects.device.measurement import MEASUREMENT

PLAN = {"methods": ["cost"], "dut": "lab:bridge"}
SETTINGS = BisectionSettings(of="device", plan=PLAN, good="a", bad="b", build="make", load="true")


def cost(batches_ns: float, loss_percent: float = 0.0) -> list[Result]:
    names = {"cost": batches_ns - 500, "whole": batches_ns, "tester": 500.0, "batches": batches_ns}
    figures = {name: Quantity(value=ns, unit="ns") for name, ns in names.items()}
    figures["loss"] = Quantity(value=loss_percent, unit="%")
    return [Result(measurement="cost", rows=[Row(frame_bytes=64, figures=figures)])]


def test_a_run_that_was_slow_beside_others_of_its_commit_is_left_out_later() -> None:
    """The first run of a commit was slow as a whole, which nobody knew then."""
    runs = {(1, 0): cost(1000), (1, 1): cost(1300), (2, 1): cost(1002), (2, 0): cost(1001)}
    commits = [Commit(name * 40, name) for name in "ab"]
    found = bisected(MEASUREMENT, SETTINGS, commits, runs, {})
    assert found.series is not None
    first, second = found.series.pairs
    assert first is None and second is not None
    assert [figure.value for figure in second] == [501, 502]


def test_a_commit_that_loses_its_frames_is_not_called_a_cheap_one() -> None:
    """It is left out, as one that cannot be built, and nothing is found where the last one is such a commit."""
    commits = [Commit(name * 40, name) for name in "abc"]
    runs = {(pair, 0): cost(1000 + pair) for pair in range(1, 7)}
    runs |= {(pair, 1): cost(600, 100.0) for pair in range(1, 4)} | {(pair, 2): cost(1300) for pair in range(4, 7)}
    found = bisected(MEASUREMENT, SETTINGS, commits, runs, {})
    lost = "A lost 0 % of its frames, and B 100 %: a lost frame takes less time"
    assert found.without_figures == {1: lost} and not found.cause
    runs |= {(pair, 2): cost(600, 100.0) for pair in range(4, 7)}
    assert bisected(MEASUREMENT, SETTINGS, commits, runs, {}).cause == lost
