"""Figures of two sides become pairs: of one pair of runs, or of single runs that are close to each other."""

from hypothesis import given
from hypothesis import strategies as st

from keisoku.ground.run.pairing import APART, Series
from keisoku.ground.statistics.quantity import Quantity


def series(a: list[int | None], b: list[int | None]) -> Series:
    """Values say which pair they are of."""
    sides: list[list[Quantity | None]] = [
        [None if value is None else Quantity(value=value, unit="ns", uncertainty=0.0) for value in side]
        for side in (a, b)
    ]
    return Series("cost", "cost", 64, "", sides[0], sides[1])


def matched(a: list[int | None], b: list[int | None]) -> list[tuple[float, float] | None]:
    return [None if pair is None else (pair[0].value, pair[1].value) for pair in series(a, b).matched]


def test_what_is_alone_is_matched_with_what_the_other_side_had_alone_last() -> None:
    assert matched([1, 2, None, None], [None, None, 3, 4]) == [None, None, (2, 3), (1, 4)]
    assert matched([None, 2], [1, None]) == [None, (2, 1)]


def test_a_whole_pair_is_never_parted() -> None:
    assert matched([1, 2, None], [None, 2, 3]) == [None, (2, 2), (1, 3)]


def test_runs_far_apart_are_no_pair() -> None:
    def one_and(gap: int) -> list[tuple[float, float] | None]:
        nothing: list[int | None] = [None] * gap
        return matched([1, *nothing], [*nothing, 9])

    assert one_and(APART)[-1] == (1, 9)
    assert one_and(APART + 1)[-1] is None


FIGURES = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40)


@given(FIGURES)
def test_no_run_is_in_two_pairs_and_no_whole_pair_is_lost(present: list[tuple[bool, bool]]) -> None:
    a: list[int | None] = [number if here else None for number, (here, _) in enumerate(present)]
    b: list[int | None] = [number if here else None for number, (_, here) in enumerate(present)]
    one = series(a, b)
    found = one.matched
    assert len(found) == len(present)
    for side in (0, 1):
        used = [pair[side].value for pair in found if pair is not None]
        assert len(used) == len(set(used))
    for number, pair in enumerate(found):
        if one.pairs[number] is not None:
            assert pair == one.pairs[number]
        elif pair is not None:
            # Known when the later of both was measured, and not before.
            assert max(figure.value for figure in pair) == number
            assert max(figure.value for figure in pair) - min(figure.value for figure in pair) <= APART
