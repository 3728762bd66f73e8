"""The line of a queue that fills: its first samples are above it until the queue is longer than the frames jitter."""

from __future__ import annotations

import numpy as np
import pytest

from keisoku.device.analysis.behaviour import behaviour
from keisoku.device.analysis.samples import Sample

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
