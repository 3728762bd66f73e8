"""Mixes of sizes: shares are exact, spread evenly, and wrong texts are refused."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import PlanError
from keisoku.ground.frame.imix import is_mix, mix


def test_simple_imix_is_seven_to_four_to_one_and_spread() -> None:
    sizes = mix("frame size", "imix")
    assert Counter(sizes) == {64: 7, 570: 4, 1518: 1}
    assert sizes == mix("frame size", "64:7, 570:4, 1518:1") == mix("frame size", "64:14,570:8,1518:2")
    # Never more of a size together than its share makes necessary.
    assert max(len(run) for run in "".join("s" if size == 64 else "-" for size in sizes).split("-")) == 2


@given(st.dictionaries(st.integers(64, 9000), st.integers(1, 40), min_size=1, max_size=5))
def test_each_size_keeps_its_share_at_every_point(weights: dict[int, int]) -> None:
    sizes = mix("frame size", ",".join(f"{size}:{weight}" for size, weight in weights.items()))
    total = sum(weights.values())
    assert total % len(sizes) == 0
    for size, weight in weights.items():
        assert Counter(sizes)[size] * total == weight * len(sizes)
        for sent in range(len(sizes) + 1):
            assert abs(sizes[:sent].count(size) - sent * weight / total) < len(weights)


def test_a_genome_keeps_its_order() -> None:
    assert mix("frame size", "genome:aafgfg") == (64, 64, 1280, 1518, 1280, 1518)
    assert mix("frame size", "genome:aAbB,A=594,B=1400") == (64, 594, 128, 1400)


@pytest.mark.parametrize(
    ("text", "mixed"),
    [
        ("imix", True),
        ("64:1,128:2", True),
        ("genome:ab", True),
        ("64", False),
        ("64-1518:64", False),
        ("64,128", False),
    ],
)
def test_a_mix_is_told_from_a_list_of_sizes(text: str, mixed: bool) -> None:
    assert is_mix(text) is mixed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("64:7,570", "'570' is no size with a weight; write '64:7,570:4,1518:1'"),
        ("64:0", "'64:0' is no size with a weight"),
        ("64:-1", "is no size with a weight"),
        ("64:1,1518:99999", "repeats only after 100000 frames; use at most 4096"),
        ("genome:", "the genome is empty"),
        ("genome:ax", "the letter 'x' has no size"),
        ("genome:az", "the letter 'z' has no size; define a letter for the size"),
        ("genome:aA", "the letter 'A' has no size"),
        ("genome:aA,A=x", "'A=x' defines no letter"),
    ],
)
def test_a_wrong_mix_is_refused(text: str, expected: str) -> None:
    with pytest.raises(PlanError, match=expected) as caught:
        mix("frame size", text)
    assert caught.value.field == "frame size"
