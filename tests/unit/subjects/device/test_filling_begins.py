"""A queue that fills: the first samples, until it is longer than the frames jitter, and the end, when it is full."""

from __future__ import annotations

import numpy as np
import pytest

from keisoku.subjects.device.analysis.behaviour import behaviour
from keisoku.subjects.device.analysis.drift import drift
from keisoku.subjects.device.analysis.samples import Sample
from keisoku.subjects.device.analysis.stamp_phase import tilt_share
from keisoku.subjects.device.procedure.own.buffer_over_time import first_drop
from keisoku.subjects.device.record.gaps import Gap, Gaps

SLOPE = 93_390.0


def filling(above_ns: tuple[float, ...], noise_ns: float = 0.0) -> list[Sample]:
    """Twenty samples of a queue that grows by `SLOPE` ns/s; the first ones lie above its line."""
    chance = np.random.default_rng(1)
    means = [10_000 + SLOPE * (number + 0.5) / 20 + chance.normal() * noise_ns for number in range(20)]
    for number, above in enumerate(above_ns):
        means[number] += above
    return [
        Sample(number / 20, (number + 1) / 20, mean, mean - 2400, mean + 2400, 50_000, 0, (number + 0.5) / 20)
        for number, mean in enumerate(means)
    ]


@pytest.mark.parametrize("above_ns", [(-0.2,), (-3.0,), (-3.0, -0.4), (-9.0, -2.0, -0.1)])
def test_what_jitters_before_a_queue_hides_it_is_no_part_of_the_slope(above_ns: tuple[float, ...]) -> None:
    """92.7 % of 123 slopes of filling buffers were inside: the first sample alone took 0.8 of each interval."""
    (piece,) = behaviour(filling(above_ns), resolution_ns=0.001).pieces
    assert abs(piece.fit.slope - SLOPE) < 2 * piece.slope_error < 0.005
    assert piece.start_s <= 1 / 20


def test_a_first_sample_that_scatters_as_the_others_do_is_kept() -> None:
    (piece,) = behaviour(filling((), noise_ns=5.0), resolution_ns=0.001).pieces
    assert len(piece.fitted_s) == 20
    assert abs(piece.fit.slope - SLOPE) < 3 * piece.slope_error


def drops(count: int, chance: np.random.Generator) -> Gaps:
    """One frame is lost every 10 ms, give or take 0.1 ms."""
    times_ns = [int(1e9 + 1e7 * number + 1e5 * chance.normal()) for number in range(count)]
    return Gaps(Gap(7 * place, 7 * place, 1, at_ns, None) for place, at_ns in enumerate(times_ns))


@pytest.mark.parametrize("count", [5, 8, 50])
def test_when_a_buffer_is_full_is_as_uncertain_as_so_few_drops_show(count: int) -> None:
    """91.0 % of 111 ends of fillings were inside: with 5 to 15 drops the scatter had no Student's factor."""
    chance, inside = np.random.default_rng(3), 0
    for _ in range(400):
        found = first_drop(drops(count, chance), 1e5)
        assert found is not None
        # This run's first drop is early or late, and so is that of the next run, each with the begin of its queue.
        inside += abs(2 * 1e-4 * chance.normal()) <= 2 * found.scatter_s
    assert 0.93 <= inside / 400 <= 0.98


def test_two_drops_do_not_tell_how_irregular_they_are() -> None:
    assert first_drop(drops(2, np.random.default_rng(3)), 1e5) is None


def stamped(resolution_ns: float, frames: int = 2500) -> list[Sample]:
    """Twenty samples of a queue that grows steadily, each the mean of frames whose latencies are whole steps."""
    found = []
    for number in range(20):
        at_s = (number + (np.arange(frames) + 0.5) / frames) / 20
        latencies = 10_000.3137 + SLOPE * at_s
        if resolution_ns:
            latencies = np.round(latencies / resolution_ns) * resolution_ns
        middle_s, mean = float(at_s.mean()), float(latencies.mean())
        found.append(Sample(number / 20, (number + 1) / 20, mean, mean - 2400, mean + 2400, frames, 0, middle_s))
    return found


@pytest.mark.parametrize(("resolution_ns", "most"), [(0.001, 0.0005), (8.0, 0.5)])
def test_a_slope_over_many_steps_of_the_stamps_is_not_as_uncertain_as_one_step_at_its_end(
    resolution_ns: float, most: float
) -> None:
    """Uncertainties of slopes were 1500 errors, and 1000 with stamps of 8 ns: a whole step was stated for each end."""
    (piece,) = behaviour(stamped(resolution_ns), resolution_ns=resolution_ns).pieces
    assert abs(piece.fit.slope - SLOPE) < 2 * piece.slope_error < most
    found = drift([stamped(resolution_ns)], resolution_ns)
    assert found is not None
    assert abs(found.slope - SLOPE) < 2 * found.error < most


def test_a_growth_by_whole_steps_from_frame_to_frame_crosses_none() -> None:
    assert tilt_share(8.0 * 1000, 1000, 8.0) == 1.0
    assert tilt_share(0.0, 1000, 8.0) == 1.0
    assert tilt_share(800.0, 1000, 8.0) == pytest.approx(0.01)
