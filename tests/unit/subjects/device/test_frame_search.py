"""The search for the largest number of frames, against a plain threshold."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from keisoku.subjects.device.procedure.rfc8239.frame_search import Bracket, search_frames

NUMBERS = st.integers(1, 5000)


@given(NUMBERS, NUMBERS, st.integers(1, 50), st.integers(1, 500), st.integers(0, 6000), st.booleans())
def test_the_threshold_lies_in_the_bracket(
    first: int, most: int, step: int, stride: int, largest: int, by_tester: bool
) -> None:
    tried: list[int] = []

    def test(frames: int) -> Any:
        tried.append(frames)
        return True if frames <= largest else None if by_tester else False
        yield  # a generator that proposes no trial

    found: Bracket
    search = search_frames(cast(Any, test), first, most, step, stride)
    try:
        next(search)
    except StopIteration as stop:
        found = stop.value
    assert all(1 <= frames <= most for frames in tried)
    assert len(tried) == len(set(tried)) < 40
    assert found.passed <= largest
    if largest >= most:
        assert (found.passed, found.failed) == (most, None)
    else:
        assert found.failed is not None and largest < found.failed <= found.passed + step
        assert found.by_tester == by_tester
