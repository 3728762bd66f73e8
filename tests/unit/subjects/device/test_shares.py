"""Strict priority and weights, from the frames of two classes in equal intervals."""

from __future__ import annotations

import pytest

from keisoku.subjects.device.analysis.shares import sharing


def test_a_class_that_gets_everything_is_served_before() -> None:
    assert sharing([100] * 40, [0] * 40).kind == "before"
    assert sharing([0] * 40, [100] * 40).kind == "behind"


def test_weights_have_a_ratio_with_an_interval() -> None:
    own = [75 + (place % 3 - 1) for place in range(40)]
    found = sharing(own, [100 - frames for frames in own])
    assert found.kind == "weighted" and found.ratio is not None and found.ratio.interval is not None
    assert found.ratio.value == pytest.approx(3, abs=0.02)
    assert found.ratio.interval.lower <= 3 <= found.ratio.interval.upper < 3.1


def test_nothing_is_told_of_classes_that_did_not_arrive() -> None:
    assert sharing([0] * 40, [0] * 40).kind == "unknown"
    assert sharing([5], [5]).kind == "unknown"
