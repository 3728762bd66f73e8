"""A search or sweep for a limit, carried out on a system, and carried out again on what was kept of it.

The search is a function of the scores it was told: the same run gives the same answer whenever it is analysed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from keisoku.errors import KeisokuError
from keisoku.system.interval_log import IntervalLog, KeptInterval
from keisoku.system.search.candidate import Candidates, Limit
from keisoku.system.search.evaluation import Evaluation
from keisoku.system.search.reach import LOOKS, within_reach
from keisoku.system.search.search import LimitFound, limit_search
from keisoku.system.search.sweep import SweepPoint, limit_sweep
from keisoku.system.settings import LimitSettings
from keisoku.system.system import System

KIND = "app-limit"
Answer = LimitFound | list[SweepPoint]
Say = Callable[[str], None]


LOOK = "look"
"""Purpose of the intervals without a limit before a search."""


def searched(settings: LimitSettings, intervals: Sequence[KeptInterval]) -> Candidates:
    """The candidates of a search, by what was seen before it."""
    shown = [kept.observation for kept in intervals if kept.used and kept.purpose == LOOK]
    return within_reach(settings.candidates, shown, settings.ports)


def plan(settings: LimitSettings, candidates: Candidates) -> Generator[Evaluation, float, Answer]:
    """The search among these candidates, or the sweep over all that the settings name."""
    if not settings.sweep:
        return limit_search(candidates, settings.search)
    limits = Candidates(settings.floor_bps, settings.line_bps, settings.sweep).limits
    return limit_sweep(limits, settings.repetitions, settings.seed)


def carry_out(system: System, settings: LimitSettings, log: IntervalLog, say: Say) -> Answer:
    """Sets the limits that are asked for, in order, and observes what they do. The caller leaves the system."""
    objective = settings.objective
    looks = [] if settings.sweep else _look(system, settings, log)
    asking = plan(settings, searched(settings, looks))
    asked = next(asking)
    before: Limit | str = None if looks else "nothing was set yet"
    while True:
        if asked.limit != before:
            system.limit(dict.fromkeys(settings.ports, asked.limit))
            if settings.settle_s:
                log.add(_interval(system, settings.settle_s, asked, used=False))
        before = asked.limit
        kept = _interval(system, settings.interval_s, asked, used=True)
        log.add(kept)
        score = objective.score(kept.observation)
        at = kept.observation
        say(
            f"{asked.purpose}: {limit_text(asked.limit)}: {at.bits_per_second / 1e6:,.1f} Mb/s,"
            f" {at.requests_per_second:,.0f} requests/s"
        )
        try:
            asked = asking.send(score)
        except StopIteration as end:
            answer: Answer = end.value
            return answer


def _look(system: System, settings: LimitSettings, log: IntervalLog) -> list[KeptInterval]:
    """What there is without a limit."""
    system.limit({})
    asked = Evaluation(None, LOOK)
    if settings.settle_s:
        log.add(_interval(system, settings.settle_s, asked, used=False))
    shown = [_interval(system, settings.interval_s, asked, used=True) for _ in range(LOOKS)]
    for kept in shown:
        log.add(kept)
    return shown


def again(settings: LimitSettings, intervals: Sequence[KeptInterval]) -> tuple[Answer | None, list[KeptInterval]]:
    """The answer to what was kept (None: it was interrupted before there was one), and its evaluations.

    Raises KeisokuError if the run was not made with these settings by this version.
    """
    objective, asking = settings.objective, plan(settings, searched(settings, intervals))
    used = [kept for kept in intervals if kept.used and kept.purpose != LOOK]
    asked = next(asking)
    for number, kept in enumerate(used):
        if asked.purpose != kept.purpose or not _same(asked.limit, kept.commanded_bps):
            raise KeisokuError(
                f"run: evaluation {number} was of {limit_text(kept.commanded_bps)}, and this version would have asked"
                f" for {limit_text(asked.limit)}; analyse it with the version that measured it"
            )
        try:
            asked = asking.send(objective.score(kept.observation))
        except StopIteration as end:
            return end.value, used
    return None, used


def limit_text(limit: Limit) -> str:
    """For people."""
    if limit is None:
        return "no limit"
    return f"{limit / 1e6:,.0f} Mb/s" if limit >= 1e9 else f"{limit / 1e6:.4g} Mb/s"


def _same(one: Limit, other: Limit) -> bool:
    return one == other or (one is not None and other is not None and abs(one - other) < 1e-6 * one)


def _interval(system: System, seconds: float, asked: Evaluation, used: bool) -> KeptInterval:
    observation = system.observe(seconds)
    return KeptInterval(asked.purpose, "", asked.limit, used, observation, system.truth())
