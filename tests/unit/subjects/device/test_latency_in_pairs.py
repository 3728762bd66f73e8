"""A run of `latency` on one side of a comparison."""

from __future__ import annotations

import pytest

from keisoku.subjects.device.procedure.rfc2544.latency import PROCEDURE, LatencySettings


@pytest.mark.parametrize(("asked", "made"), [(1, 1), (3, 1), (4, 4), (20, 20)])
def test_pairs_repeat_where_few_trials_are_asked_for(asked: int, made: int) -> None:
    settings = PROCEDURE.in_pairs(LatencySettings(repetitions=asked))
    assert isinstance(settings, LatencySettings)
    assert (settings.repetitions, settings.calms) == (made, False)
