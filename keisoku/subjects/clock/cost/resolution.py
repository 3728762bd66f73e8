"""Resolution of a time source, from the steps between reads back to back; nothing is derived from a nominal rate.

A counter of 2.6 GHz that moves by 26 ticks at a time resolves 10 ns, although its rate suggests 0.4 ns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.subjects.clock.cost.tally import Tally, total

REGULAR_SHARE = 0.9
"""Share of the steps that are multiples of the common step; the others have another cause."""
_CANDIDATES = 3
"""Number of the most frequent steps whose divisors are tried."""


@dataclass(frozen=True)
class Resolution:
    """In the unit of the source. None where it was never seen to step."""

    smallest: int | None
    common: int | None
    """Greatest common divisor of the steps, outliers left out."""
    zero_share: float
    """Share of reads that showed the same as the one before."""
    backward: int
    """Reads that showed less than the one before."""
    backward_max: int


def resolution(reads: int, zero: int, ahead: Tally, backward: int, backward_max: int) -> Resolution:
    """Of `reads` reads, `zero` without a step, with the steps ahead as a tally. Raises ValueError without reads."""
    if reads < 1:
        raise ValueError("no reads show no resolution")
    return Resolution(
        smallest=ahead[0][0] if ahead else None,
        common=common_step(ahead),
        zero_share=zero / reads,
        backward=backward,
        backward_max=backward_max,
    )


def common_step(ahead: Tally, share: float = REGULAR_SHARE) -> int | None:
    """The largest number of which at least `share` of all steps are multiples; None without steps.

    A plain greatest common divisor falls to 1 by a single odd step: a virtual TSC that moves by 26 ticks sometimes
    takes 25 and the last one later.
    """
    if not ahead:
        return None
    enough = share * total(ahead)
    frequent = sorted(ahead, key=lambda step: -step[1])[:_CANDIDATES]
    candidates = sorted({divisor for step, _ in frequent for divisor in _divisors(step)}, reverse=True)
    return next(step for step in candidates if _multiples(ahead, step) >= enough)


def _multiples(ahead: Tally, step: int) -> int:
    return sum(count for value, count in ahead if value % step == 0)


def _divisors(number: int) -> Sequence[int]:
    small, factor = [], 1
    while factor * factor <= number:
        if number % factor == 0:
            small += [factor, number // factor]
        factor += 1
    return small
