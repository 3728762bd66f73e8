"""Which commit of a history changed a figure, from noisy comparisons of its commits with both ends.

Probabilistic bisection: every hypothesis has a probability, each comparison is made where its answer is least known,
and the search ends when one hypothesis is probable enough (Burnashev and Zigangirov, Problems of Information
Transmission 10 (1974); Waeber, Frazier and Henderson, SIAM Journal on Control and Optimization 51 (2013)). There the
probability of a wrong answer is known; here it follows from differences, whose size and scatter are estimated with the
place. Hypotheses are: no change beyond the margin; one change, at each commit; two changes, at each pair of commits,
with a level between them that is neither that of the good nor that of the bad end.

It does no I/O. Levels and differences are natural logarithms of the figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ChangeCount = Literal["none", "one", "more", "undecided"]

LEAST_OF_ENDS = 4
"""Comparisons of the ends with each other before any other commit is looked at."""


@dataclass(frozen=True)
class Comparison:
    """The commit at `place` (1 is the first one after the good end), measured beside an end."""

    place: int
    against_bad: bool
    difference: float
    """Its figure against the end's: a natural logarithm."""


@dataclass(frozen=True)
class History:
    """What is looked for, and where."""

    length: int
    """Commits after the good end; the last one is the bad end."""
    margin: float
    """A change of this share, or of less, is none."""
    error: float
    """Probability with which the answer may be wrong."""
    skipped: frozenset[int] = frozenset()
    """Places that cannot be measured."""
    resolution: float = 0.0
    """How far a difference may be off by the resolution of single runs."""


@dataclass(frozen=True)
class Belief:
    """What is known by now."""

    history: History
    comparisons: Sequence[Comparison]
    none: float
    """Probability that the ends do not differ by more than the margin."""
    one: Array
    """That the only change is at the place of this index; that of 0, the good end, is 0."""
    more: float
    """That there is more than one change."""
    first: Array
    """Where the first of two changes is, if there are two: probabilities by place."""
    second: Array
    change: tuple[float, float, float]
    """The level of the bad end: lower end of its interval of 95 %, mean, and upper end."""

    @cached_property
    def place(self) -> tuple[int, int]:
        """First and last place of the likeliest change that can be told apart from others by measuring: they differ
        where places between them are skipped."""
        best = int(np.argmax(self.one))
        first = last = best
        while first - 1 in self.history.skipped:
            first -= 1
        while last in self.history.skipped:
            last += 1
        return first, last

    @property
    def likeliest(self) -> tuple[ChangeCount, float]:
        """The likeliest answer, and its probability."""
        first, last = self.place
        answers: dict[ChangeCount, float] = {
            "none": self.none,
            "one": float(self.one[first : last + 1].sum()),
            "more": self.more,
        }
        best = max(answers, key=lambda answer: answers[answer])
        return best, answers[best]

    @property
    def leaning(self) -> ChangeCount:
        """How many changes there are most probably, wherever they are."""
        answers: dict[ChangeCount, float] = {"none": self.none, "one": float(self.one.sum()), "more": self.more}
        return max(answers, key=lambda answer: answers[answer])

    @property
    def answer(self) -> ChangeCount:
        """What is certain enough; 'undecided' if nothing is."""
        best, probability = self.likeliest
        ends = sum(each.place == self.history.length for each in self.comparisons)
        return best if probability >= 1 - self.history.error and ends >= LEAST_OF_ENDS else "undecided"

    def next(self) -> tuple[int, bool]:
        """The place whose level is least known, and whether it is compared with the bad end.

        The ends come first, until it is certain that they differ.
        """
        length = self.history.length
        ends = sum(each.place == length for each in self.comparisons)
        if ends < LEAST_OF_ENDS or self.none > self.history.error / 4:
            return length, False
        place = max(self._measurable, key=lambda place: (round(float(self._unknown[place]), 9), -place))
        if place == length:
            return length, False
        return place, sum(each.place == place for each in self.comparisons) % 2 == 1

    @property
    def span(self) -> tuple[int, int]:
        """First and last of the likeliest places that hold the only change with the wanted probability, if there is
        one."""
        return self._span(self.one)

    @property
    def spans(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The same of the first and of the second change, if there are two."""
        return self._span(self.first), self._span(self.second)

    def _span(self, of: Array) -> tuple[int, int]:
        order = np.argsort(-of, kind="stable")
        share = np.cumsum(of[order]) / max(float(of.sum()), 1e-300)
        kept = order[: int(np.searchsorted(share, 1 - self.history.error)) + 1]
        return int(kept.min()), int(kept.max())

    @cached_property
    def _measurable(self) -> list[int]:
        return [place for place in range(1, self.history.length + 1) if place not in self.history.skipped]

    @cached_property
    def _unknown(self) -> Array:
        """Entropy of whether the level at a place is that of the good end, that of the bad one, or another."""
        high = np.cumsum(self.one) + self.more * np.cumsum(self.second)
        low = float(self.one.sum()) + self.more - np.cumsum(self.one) - self.more * np.cumsum(self.first)
        parts = np.array([low, high, self.more * (np.cumsum(self.first) - np.cumsum(self.second))])
        parts = np.clip(parts, 1e-15, None)
        parts /= parts.sum(axis=0)
        found: Array = -(parts * np.log(parts)).sum(axis=0)
        return found
