"""What a comparison does where the main figure is a bound on both sides, or cannot be compared."""

from __future__ import annotations

from typing import Literal

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.measurement.paired_result import compared, judged, only_bounds
from keisoku.running.measurement.paired_settings import PairedSettings
from keisoku.subjects.device.measurement import MEASUREMENT
from keisoku.subjects.device.plan.plan import parse

SETTINGS = PairedSettings(of="device", a={}, b={"methods": ["throughput"], "dut": "lab:bridge"})
STAND_INS = MEASUREMENT.stand_ins(SETTINGS.b)


def throughput(bound: Literal["", "at least"], cost_ns: float | None = None, size: int = 64) -> Result:
    figures = {"throughput": Quantity(value=5e5, unit="frames/s", bound=bound)}
    if cost_ns is not None:
        figures["cost"] = Quantity(value=cost_ns, unit="ns")
    return Result(measurement="throughput", rows=[Row(frame_bytes=size, figures=figures)])


def cost(ns: float) -> Result:
    return Result(measurement="cost", rows=[Row(frame_bytes=64, figures={"cost": Quantity(value=ns, unit="ns")})])


def switches(a: list[Result], b: list[Result]) -> bool:
    return only_bounds(judged(MEASUREMENT, SETTINGS, [a], [b], [0.1]), STAND_INS)


def test_bounds_on_both_sides_are_replaced_by_the_cost_of_a_frame() -> None:
    assert switches([throughput("at least", 950)], [throughput("at least", 990)])
    assert not switches([throughput("at least", 950)], [throughput("")]), "a side that is measured decides"
    assert not switches([throughput("at least")], [throughput("at least")]), "the engine cannot time batches"
    instead = MEASUREMENT.instead(parse(SETTINGS.b))
    assert instead.methods == ("cost",) and MEASUREMENT.instead(instead) is instead


def test_the_cost_of_later_pairs_takes_the_place_of_the_bound() -> None:
    a = [[throughput("at least", 950)], *([cost(950 + each)] for each in range(20))]
    b = [[throughput("at least", 2000)], *([cost(1000 + each)] for each in range(20))]
    (found,) = judged(MEASUREMENT, SETTINGS, a, b, [each / 21 for each in range(1, 22)])
    assert (found.of.measurement, found.of.figure) == ("cost", "cost")
    assert (found.said.verdict, found.said.pairs) == ("worse", 10), "it ended at the first look that was certain"


def test_sizes_that_lose_no_frames_are_compared_beside_one_that_does() -> None:
    """One size that lost frames once took away the figures of all others."""

    def run(least_ns: float, loss_percent: float) -> list[Result]:
        rows = [
            Row(
                frame_bytes=size,
                figures={
                    "cost": Quantity(value=least_ns, unit="ns"),
                    "loss": Quantity(value=percent, unit="%"),
                },
            )
            for size, percent in ((64, 0.0), (1518, loss_percent))
        ]
        return [Result(measurement="cost", rows=rows)]

    a = [run(950 + each, 0.0) for each in range(20)]
    b = [run(950 + each, 40.0) for each in range(20)]
    settings = SETTINGS.model_copy(update={"b": {"methods": ["cost"], "dut": "lab:bridge"}})
    found = judged(MEASUREMENT, settings, a, b, [each / 20 for each in range(1, 21)])
    assert [each.said.verdict for each in found] == ["equal", "not measured"]
    said = "B's CPU time a frame (1518-byte frames) cannot be compared with A's: A lost 0 % of its frames, and B 40 %"
    result = compared(settings, found, a, b, [])
    assert result.failure.startswith(said) and said in result.sentence
    assert "lost" not in result.rows[0].remark and result.rows[1].remark.startswith("A lost 0 % of its frames")
