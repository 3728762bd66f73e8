"""`AskedLimit`: sets the limit that is asked for and observes under it, but uses no interval in which it was another.

A limit may be lifted without being asked: by the guard, after a stall of this process, or by another program. The ports
themselves say what is set (`ClientView.limit_bps`), and what they say is what an interval counts for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from keisoku.errors import EngineError
from keisoku.language import phrase
from keisoku.subjects.system.interval_log import IntervalLog, KeptInterval
from keisoku.subjects.system.search.candidate import Limit, limit_text
from keisoku.subjects.system.system import System

TRIES = 5
"""Times in a row that a limit is set before it is given up."""


class AskedLimit:
    """Of the ports towards these clients. Every interval is logged; the caller leaves the system."""

    def __init__(
        self, system: System, clients: Sequence[str], log: IntervalLog, warn: Callable[[str], None], settle_s: float
    ) -> None:
        self._system, self._clients, self._log, self._warn = system, clients, log, warn
        self._settle_s = settle_s
        self._now: Limit | str = phrase("nothing was set yet")
        self._lost = 0
        self._began_s = self._seen_s = system.now_s()

    @property
    def passed_s(self) -> float:
        """Time since the first interval could begin, also what a busy host takes between intervals."""
        return self._system.now_s() - self._began_s

    def interval(self, limit: Limit, seconds: float, purpose: str, why: str = "", settles: int = 1) -> KeptInterval:
        """The next interval, under that limit; not `used` if the ports had another one in it.

        Then the limit is set again by the next call. After each change, the settling time is left out `settles` times.
        Raises EngineError if the limit does not stay `TRIES` times in a row.
        """
        if limit != self._now:
            self._system.limit(dict.fromkeys(self._clients, limit))
            self._now = limit
            if left_out_s := settles * self._settle_s:
                self._log.add(self._observe(limit, left_out_s, purpose, why, used=False))
        kept = self._observe(limit, seconds, purpose, why, used=True)
        self._log.add(kept)
        self._lost = 0 if kept.used else self._lost + 1
        if not kept.used:
            self._now = "lost"
            self._warn(
                phrase(
                    "the ports did not keep {limit}: that interval is not used, and it is set again",
                    limit=limit_text(limit),
                )
            )
        if self._lost >= TRIES:
            raise EngineError(
                f"{limit_text(limit)} was set {TRIES} times and did not stay: another program changes the ports, or"
                " this process is stopped again and again"
            )
        return kept

    def until_used(self, limit: Limit, seconds: float, purpose: str, settles: int = 1) -> KeptInterval:
        """The next interval that is used."""
        while not (kept := self.interval(limit, seconds, purpose, settles=settles)).used:
            pass
        return kept

    def _observe(self, limit: Limit, seconds: float, purpose: str, why: str, used: bool) -> KeptInterval:
        observation = self._system.observe(seconds)
        ended_s = self._system.now_s()
        observation = replace(observation, pause_s=max(0.0, ended_s - self._seen_s - observation.seconds))
        self._seen_s = ended_s
        asked = KeptInterval(purpose, why, limit, used, observation, self._system.truth())
        return asked if asked.as_asked(self._clients) else asked.unused()
