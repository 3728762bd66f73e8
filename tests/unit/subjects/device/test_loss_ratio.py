"""The interval of a loss ratio: of the trial's own intervals where they show losses, else of independent frames."""

from __future__ import annotations

import math
from typing import Any

import pytest

from keisoku.ground.statistics.share import clopper_pearson
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.subjects.device.analysis.late_load import LateLoad, Stretch
from keisoku.subjects.device.analysis.loss_ratio import loss_ratio, share
from keisoku.subjects.device.analysis.samples import Sample
from keisoku.subjects.device.record.counts import Tracked


def tracked(forwarded: int) -> Tracked:
    known: dict[str, Any] = {"forwarded_frames": forwarded}
    return Tracked.model_construct(**known)


def samples(lost: list[float], frames: int = 1000) -> list[Sample]:
    """Of a trial in which so many of `frames` were lost in each interval of time."""
    return [Sample(at, at + 1, 1.0, 1.0, 1.0, round(frames - one), one) for at, one in enumerate(lost)]


def bounds(lost: int, offered: int, own: list[Sample], late: LateLoad | None = None) -> tuple[float, float]:
    found = loss_ratio(tracked(offered - lost), offered, own, late)
    assert found.value == pytest.approx(100 * lost / offered)
    assert found.bounds is not None
    return found.bounds


def percent(ends: tuple[float, float]) -> tuple[float, float]:
    return 100 * ends[0], 100 * ends[1]


REGULAR = [20.0, 21.0, 19.0, 20.0] * 3
"""Ten and more intervals with ten and more losses each show the scatter themselves."""


def test_losses_that_come_regularly_scatter_by_their_intervals_of_time() -> None:
    lost = round(sum(REGULAR))
    own = 100 * half_width([one / 1000 for one in REGULAR])
    assert bounds(lost, 12_000, samples(REGULAR)) == pytest.approx((2 - own, 2 + own))
    low, high = percent(clopper_pearson(lost, 12_000))
    assert own < 2 - low and own < high - 2
    # An interval of time has at least the resolution of a frame.
    assert bounds(240, 12_000, samples([20.0] * 12)) == pytest.approx((2 - 100 / 12_000, 2 + 100 / 12_000))


@pytest.mark.parametrize("own", [samples(REGULAR[:8]), samples([2.0, 9.0] * 6), []])
def test_few_intervals_or_few_losses_are_at_least_those_of_independent_frames(own: list[Sample]) -> None:
    offered = 1000 * max(1, len(own))
    lost = round(sum(one.lost_frames for one in own)) or 40
    low, high = percent(clopper_pearson(lost, offered))
    ratio = 100 * lost / offered
    half = 100 * half_width([one.lost_frames / 1000 for one in own]) if own else 0.0
    assert bounds(lost, offered, own) == pytest.approx((min(low, ratio - half), max(high, ratio + half)))


def test_corrupt_frames_add_the_interval_of_their_own_number() -> None:
    """No interval of time has them: 75 of 100 intervals contained the truth, as the value alone counted them."""
    lost, corrupt, offered = round(sum(REGULAR)), 120, 12_000
    own, ratio = half_width([one / 1000 for one in REGULAR]), (lost + corrupt) / offered
    least, most = clopper_pearson(corrupt, offered)
    expected = (
        ratio - math.hypot(own, corrupt / offered - least),
        ratio + math.hypot(own, most - corrupt / offered),
    )
    assert bounds(lost + corrupt, offered, samples(REGULAR)) == pytest.approx(percent(expected))


def test_corrupt_frames_are_no_losses_that_intervals_of_time_show() -> None:
    """With them there would be ten for each interval, and less uncertainty than independent losses have."""
    few, offered = [9.0, 9.0, 10.0] * 4, 12_000
    lost = round(sum(few)) + 30
    low, high = percent(clopper_pearson(lost, offered))
    assert bounds(lost, offered, samples(few)) == pytest.approx((low, high))


def test_no_loss_and_nothing_but_loss_end_at_0_and_100_percent() -> None:
    assert bounds(0, 1000, samples([0.0] * 12)) == pytest.approx(percent(clopper_pearson(0, 1000)))
    assert bounds(1000, 1000, [])[1] == 100
    # One burst of losses reaches below none of all.
    assert bounds(900, 12_000, samples([900.0] + [0.0] * 11))[0] == 0


def test_a_load_that_was_late_is_as_uncertain_as_the_frames_that_this_did_not_help() -> None:
    plain = bounds(240, 12_000, samples(REGULAR))
    few = LateLoad(0.1, [Stretch(1000, 5.0)])
    assert bounds(240, 12_000, samples(REGULAR), few) == pytest.approx((plain[0], 100 * few.most(0.02)))
    assert few.most(0.02) == pytest.approx(1 - 0.98 / 1.1)
    independent = LateLoad(0.1, [Stretch(1000, 20.0), Stretch(1000, 40.0)])
    least, most = percent(clopper_pearson(60, 2000))
    assert bounds(240, 12_000, samples(REGULAR), independent) == pytest.approx((min(plain[0], least), most))
    regular = LateLoad(0.1, [Stretch(1000, 29.0), Stretch(1000, 31.0)] * 6)
    half = 100 * regular.half_width(0.03)
    assert bounds(240, 12_000, samples(REGULAR), regular) == pytest.approx((plain[0], 3 + half))
    squares = 12 * 1.0 * 12 / 11
    assert regular.half_width(0.03) == pytest.approx((2.200985 * math.sqrt(squares) + 12) / 12_000, rel=1e-6)


def test_frames_that_come_together_are_fewer_independent_ones() -> None:
    assert share(0, 0).value == 0 and share(0, 0).interval is None
    assert share(30, 300).bounds == pytest.approx(percent(clopper_pearson(30, 300)))
    assert share(30, 300, together=10).bounds == pytest.approx(percent(clopper_pearson(3, 30)))
