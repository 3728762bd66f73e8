"""Search for the largest number of frames that passes a test: doubling strides, then bisection. Whole numbers only.

It knows neither frames nor test; a trial that the tester disturbs bounds the search, but is not counted as a failure
of the DUT.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

Test = Callable[[int], Generator[Trial, TrialRecord, bool | None]]
"""Whether so many frames pass; None if the tester disturbed the trial."""


@dataclass(frozen=True)
class Bracket:
    """The largest number that passed (0: none) and the least above it that did not (None: all did)."""

    passed: int
    failed: int | None
    by_tester: bool
    """True if `failed` is the tester's limit, not the DUT's."""


def search_frames(test: Test, first: int, most: int, step: int, stride: int) -> Generator[Trial, TrialRecord, Bracket]:
    """Tries `first`, goes up or down by `stride`, doubled each time, then bisects down to `step`.

    Never tries more than `most` or less than one.
    """
    passed, failed, by_tester = 0, None, False
    frames = min(max(1, first), most)
    while True:
        outcome = yield from test(frames)
        if outcome:
            passed = frames
        else:
            failed, by_tester = frames, outcome is None
        if failed is None:
            if passed == most:
                break
            frames, stride = min(most, passed + stride), 2 * stride
        elif failed - passed <= step:
            break
        elif passed == 0:
            frames, stride = max(1, failed - stride), 2 * stride
        else:
            frames = (passed + failed) // 2
    return Bracket(passed, failed, by_tester)
