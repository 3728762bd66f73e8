"""A search or sweep step by step: the next evaluation, given the observations so far, live or from a run's rows.

It depends on the scores only: the same run gives the same answer whenever it is analysed or continued.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from keisoku.errors import KeisokuError
from keisoku.subjects.system.interval_log import KeptInterval
from keisoku.subjects.system.search.candidate import Candidates, Limit, limit_text
from keisoku.subjects.system.search.evaluation import Evaluation
from keisoku.subjects.system.search.reach import within_reach
from keisoku.subjects.system.search.search import LimitFound, limit_search
from keisoku.subjects.system.search.sweep import SweepPoint, limit_sweep
from keisoku.subjects.system.settings import LimitSettings

SearchResult = LimitFound | list[SweepPoint]
LOOK = "look"
"""Purpose of the intervals without a limit before a search."""


def looks(intervals: Sequence[KeptInterval]) -> list[KeptInterval]:
    """Observations before the search."""
    return [kept for kept in intervals if kept.used and kept.purpose == LOOK]


def evaluations(intervals: Sequence[KeptInterval]) -> list[KeptInterval]:
    """What was observed of the limits that were asked for."""
    return [kept for kept in intervals if kept.used and kept.purpose != LOOK]


def searched(settings: LimitSettings, intervals: Sequence[KeptInterval]) -> Candidates:
    """The candidates of a search, by what was seen before it."""
    return within_reach(settings.candidates, [kept.observation for kept in looks(intervals)], settings.client)


class Asking:
    """`next` is what to evaluate; None when there is an `answer`."""

    def __init__(self, settings: LimitSettings, intervals: Sequence[KeptInterval]) -> None:
        """`intervals`: what was seen before the search."""
        self._objective = settings.weighted_objective
        self._told = 0
        before = [self._objective.score(kept.observation) for kept in looks(intervals)]
        self._plan = _plan(settings, searched(settings, intervals), before)
        self.next: Evaluation | None = next(self._plan)
        self.answer: SearchResult | None = None

    def tell(self, kept: KeptInterval) -> None:
        """Takes an observation. Raises KeisokuError if it is not of the evaluation that was asked for."""
        if self.next is None or self.next.purpose != kept.purpose or not _same(self.next.limit, kept.commanded_bps):
            wanted = "no more" if self.next is None else limit_text(self.next.limit)
            raise KeisokuError(
                f"run: evaluation {self._told} was of {limit_text(kept.commanded_bps)}, and this version would have"
                f" asked for {wanted}; analyse it with the version that measured it"
            )
        self._told += 1
        try:
            self.next = self._plan.send(self._objective.score(kept.observation))
        except StopIteration as end:
            self.next, self.answer = None, end.value


def again(settings: LimitSettings, intervals: Sequence[KeptInterval]) -> SearchResult | None:
    """The answer to what was kept; None: the run was interrupted before there was one.

    Raises KeisokuError if the run was not made with these settings by this version.
    """
    asking = Asking(settings, intervals)
    for kept in evaluations(intervals):
        asking.tell(kept)
    return asking.answer


def _plan(
    settings: LimitSettings, candidates: Candidates, before: list[float]
) -> Generator[Evaluation, float, SearchResult]:
    """The search among these candidates, or the sweep over all that the settings name.

    `before`: scores from before any limit was set.
    """
    if not settings.sweep:
        return limit_search(candidates, settings.search, before=before)
    return limit_sweep(settings.candidates_of(settings.sweep).limits, settings.times, settings.seed)


def _same(one: Limit, other: Limit) -> bool:
    return one == other or (one is not None and other is not None and abs(one - other) < 1e-6 * one)
