"""Curves of marks against the queue, from counts whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from keisoku.subjects.device.analysis.marking_curve import Counts, curve, merged, points

TOP = 200_000.0


def marked_by(least: float, most: float, share: float, seed: int, frames: int = 100_000) -> Counts:
    """Frames that met queues of every length alike, in the buckets that latencies have."""
    chance = np.random.default_rng(seed)
    queue = chance.uniform(0, TOP, frames)
    ramp = share * (queue - least) / max(most - least, 1e-9)
    probability = np.where(queue < least, 0.0, np.where(queue >= most, 1.0, ramp))
    marks = chance.random(frames) < probability
    latency = (8 * queue + 12_000).astype(np.int64)
    octave = np.maximum(0, np.floor(np.log2(latency)).astype(np.int64) - 7)
    lower = (latency >> octave) << octave
    keys, place = np.unique(np.stack((lower, lower + (1 << octave)), 1), axis=0, return_inverse=True)
    place = place.reshape(-1)
    low, high = (np.maximum(0.0, (keys[:, side] - 12_000) / 8) for side in (0, 1))
    return Counts(
        low, np.maximum(high, 1e-6), np.bincount(place).astype(float), np.bincount(place, marks).astype(float)
    )


def test_a_ramp_is_recovered() -> None:
    found = curve(marked_by(40_000, 150_000, 0.2, 3))
    assert found.kind == "ramp"
    assert found.least and found.most and found.share
    for figure, truth in ((found.least, 40_000), (found.most, 150_000), (found.share, 20)):
        assert figure.interval is not None
        assert figure.interval.lower <= truth <= figure.interval.upper
        assert figure.interval.upper - figure.interval.lower < 0.1 * truth


def test_a_step_is_one_threshold_and_has_no_share() -> None:
    found = curve(marked_by(80_000, 80_000, 0.0, 4))
    assert found.kind == "step" and found.share is None
    assert found.least == found.most
    assert found.least is not None and found.least.interval is not None
    assert found.least.interval.lower <= 80_000 <= found.least.interval.upper


def test_a_curve_that_no_queue_reached_the_end_of_has_a_bound() -> None:
    found = curve(marked_by(40_000, 400_000, 0.9, 5))
    assert found.kind == "ramp" and found.most is not None and found.most.bound == "at least"
    assert found.share is not None and found.share.interval is not None
    # At the longest queue the share is that of the ramp there.
    truth = 90 * (TOP - 40_000) / 360_000
    assert found.share.interval.lower <= truth <= found.share.interval.upper


def test_no_mark_is_no_curve_and_marks_of_a_controller_are_none_either() -> None:
    counts = marked_by(40_000, 150_000, 0.2, 6)
    assert curve(Counts(counts.lower, counts.upper, counts.frames, np.zeros_like(counts.marked))).kind == "none"
    # Marks in spells, whatever the queue is.
    spells = np.where(np.arange(len(counts.frames)) // 20 % 2, 0.3, 0.02) * counts.frames
    assert curve(Counts(counts.lower, counts.upper, counts.frames, np.floor(spells))).kind == (
        "not a function of the queue"
    )


def test_points_add_up_to_all_frames_and_joining_counts_keeps_them() -> None:
    counts = marked_by(40_000, 150_000, 0.2, 7)
    both = merged([counts, counts])
    assert both.frames.sum() == 2 * counts.frames.sum()
    assert sum(frames for _, _, frames in points(both)) == pytest.approx(both.frames.sum())
    assert sum(marked for _, marked, _ in points(both)) == both.marked.sum()
