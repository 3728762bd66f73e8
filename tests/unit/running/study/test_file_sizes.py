"""Sizes of files that differ: their distribution, and what it changes in a simulated system."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.file import SystemStep, WebStep
from keisoku.running.study.system_step import model
from keisoku.running.study.web_step import again, frames, sizes, with_line
from keisoku.subjects.system.simulated.file import Timetable, read_system, write_system
from keisoku.subjects.system.simulated.model import ClientModel, e4, log_normal_sizes
from keisoku.subjects.system.simulated.system import SimulatedSystem


@pytest.mark.parametrize(("mean", "variation"), [(1430, 0.5), (10_000, 1.0), (100_000, 3.0)])
def test_log_normal_sizes_have_their_mean_and_nearly_their_variation(mean: int, variation: float) -> None:
    found = log_normal_sizes(mean, variation)
    assert sum(size * share for size, share in found) == pytest.approx(mean)
    assert sum(share for _, share in found) == pytest.approx(1)
    spread = math.sqrt(sum(share * (size - mean) ** 2 for size, share in found)) / mean
    assert 0.8 * variation < spread < variation  # the largest parts are means themselves
    # Half of the files are smaller than the median, mean / √(1 + variation²).
    median = mean / math.sqrt(1 + variation**2)
    assert sum(share for size, share in found if size < median) == pytest.approx(0.5, abs=0.01)


def client(**changes: Any) -> ClientModel:
    return replace(ClientModel("a", 10, 1e9, 1430), **changes)


def test_an_answer_of_many_sizes_has_the_mean_of_their_bits_not_the_bits_of_their_mean() -> None:
    # 200 and 2660 byte of 1430 mean, with 240 of headers: 1 and 2 segments; 1430 alone needs 2.
    mixed = client(sizes=((200.0, 0.5), (2660.0, 0.5)))
    assert client().answer_bits == 8 * (1670 + 58 * 5)
    assert mixed.answer_bits == 8 * (1670 + 58 * 4.5)
    assert mixed.size_variance == 1230**2 and client().size_variance == 0


def test_slow_start_takes_round_trips_for_large_files_only() -> None:
    """RFC 6928: 10 segments, then 20, then 40."""
    assert [client(file_bytes=size).round_trips for size in (1430, 14_000, 20_000, 60_000, 100_000)] == [2, 2, 3, 4, 4]


def test_random_sizes_change_what_a_system_does_at_the_same_mean() -> None:
    """Only the mean file size mattered, so that random sizes had the same best limit by construction."""
    totals = []
    for variation in (0.0, 3.0):
        system = model(SystemStep(name="x", file_bytes=100_000, size_variation=variation))
        running = SimulatedSystem(replace(system, server=replace(system.server, unsteady=0.0)))
        running.run(3.0)
        totals.append(sum(view.completed for view in running.run(10.0).clients))
    assert totals[0] != pytest.approx(totals[1], rel=1e-3)


def test_without_a_distribution_nothing_changes() -> None:
    assert model(SystemStep(name="x")) == e4()


def test_a_system_with_sizes_is_written_and_read_again(tmp_path: Path) -> None:
    system = model(SystemStep(name="x", size_variation=2.0))
    write_system(tmp_path / "x.toml", Timetable("x", system))
    assert read_system(tmp_path / "x.toml").model == system
    with pytest.raises(PlanError, match="their mean is not file_bytes"):
        client(sizes=((100.0, 1.0),))


def test_files_of_the_lab_are_whole_bytes_of_that_mean() -> None:
    found = sizes(WebStep(name="x", mean_bytes=10_000, size_variation=2.5, line_bps=10**7))
    assert sum(size * share for size, share in found.items()) == pytest.approx(10_000, rel=1e-3)
    assert sum(found.values()) == pytest.approx(1) and len(found) == 40


def test_bytes_on_a_line_are_counted_with_the_frames_of_their_sizes() -> None:
    """By hand: 1430 and 240 byte are 2 segments and 3 frames without data, of 66 byte, and 8 of options."""
    step = WebStep(name="x", mean_bytes=1430, line_bps=10**7)
    assert frames(step) == 5
    sigma = math.sqrt(math.log1p(2.5**2))
    sizes_ = NormalDist(math.log(1430) - sigma**2 / 2, sigma)
    more = sum(1 - sizes_.cdf(math.log(1448 * number - 240)) for number in range(1, 100))
    random = step.model_copy(update={"size_variation": 2.5})
    assert frames(random) == pytest.approx(3 + 1 + more, abs=0.06) and frames(random) < 5
    figures = {
        "requests": Quantity(value=100.0, unit="requests/s"),
        "received": Quantity(value=100 * 8 * 1670.0, unit="bit/s", uncertainty=0.0),
    }
    (row,) = with_line(Result(measurement="m", rows=[Row(case="client1, 10 connections", figures=figures)]), step).rows
    assert row.figures["of_line"].value == pytest.approx(100 * 100 * 8 * (1670 + 5 * 66 + 8) / 10**7)


def test_segments_that_were_sent_again_were_taken_for_a_line_that_full_cpus_left_empty() -> None:
    """What was measured on a line of 5 Mb/s that always had frames to send: 42 segments a second were sent again."""
    step = WebStep(name="x", mean_bytes=1430, line_bps=5_000_000, concurrency=20)
    assert again(step) == 1496
    figures = {
        "requests": Quantity(value=280.4, unit="requests/s"),
        "received": Quantity(value=3735093.2, unit="bit/s", uncertainty=0.0),
    }
    host = {"retransmitted": Quantity(value=1060.0, unit="", uncertainty=0.0)}
    rows = [Row(case="client1, 20 connections", figures=figures), Row(case="Together, 20 each", figures=host)]
    assert step.repetitions * step.duration_s == 25
    found = with_line(Result(measurement="m", rows=rows), step)
    assert found.rows[0].figures["of_line"].value == pytest.approx(100, abs=0.5)
    assert "of_line" not in found.rows[1].figures
