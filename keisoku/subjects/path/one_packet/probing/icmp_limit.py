"""A router's limit on ICMP errors, learnt while probing: burst and interval, and when the next probe is worth sending.

Linux answers a prober six times at once and then once a second (`icmp_ratelimit`, a token bucket for each peer). A
refused error costs no token there, so a probe sent too early is soon repeated. It reads no clock; times are arguments.

Losses by chance and interruptions of the path are silences too, but only a limit makes silences that follow each other
after one or two answers and are all of one length. So a silence is a cycle of its own: as long as the cycles agree in
an interval, each makes a limit more likely by how improbable it is by chance; a cycle that disagrees begins anew.

Once a limit is known, probes leave a little later than it asks for: one that is lost then was lost by chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

NS_PER_S = 1_000_000_000
RETRY_NS = 50_000_000
"""Between probes that look for the end of an interval: it is known to this, or to a share of itself."""
RETRY_SHARE, UNKNOWN_SHARE = 0.05, 0.1
"""Where the limit is known: of its interval; where it is not: of the silence so far."""
SLOWEST_RETRY_NS = 2 * NS_PER_S
PATIENCE_NS = 4 * NS_PER_S
"""Without an answer for so long, the next probes come half as often."""
SILENCE = 3
"""Losses in a row from which the next probe waits a little."""
CHANCE = 0.25
"""The highest loss ratio that a limit is told from."""
SURE = math.log(1e6)
"""Cycles less probable by chance than this are taken for a limit."""
TOGETHER = 2
"""A limit's answers come one by one; two, where a token came while other hops were probed."""
SLACK = 0.1
"""Intervals of one limit may differ by so much."""
NARROW, CYCLES = 0.03, 4
"""The interval is learnt until it is known to this share of itself, or for so many silences."""
DOUBT = 16
"""One probe in so many leaves early, to see whether there is a limit (any more)."""
DISPROVED = 0.5
"""Answers that are more by this than the interval allows show that there is none."""
LATE = 3
"""So many probes in a row lost that were not early: the limit has become slower."""

Fate = Literal["answered", "lost", "refused", "early"]
"""'refused' and 'early' (answered though it was not yet time) say nothing about losses by chance."""


@dataclass
class IcmpLimit:
    """The estimate of one router's limit. Every probe to it is given to `observe`, in the order of sending."""

    burst: int = 0
    """Answers before the limit first showed; 0: it has not."""
    since_ns: int = 0
    """When the first of the silences began that showed the limit."""
    shortest_ns: float = 0.0
    """The interval is at least this, and at most the next, by all silences that agree."""
    longest_ns: float = math.inf
    _together: int = 0
    """Answers since the last silence."""
    _lost_in_row: int = 0
    _late: int = 0
    _last_sent_ns: int = 0
    _last_answer_ns: int = 0
    _answers: int = 0
    _token_ns: int = 0
    """When the last token is known to have been used, at the latest."""
    _evidence: float = 0.0
    _before: tuple[int, int, int] = (0, 0, 0)
    """Answers before the first of the silences that agree, when it began, and how many they are."""
    _paced: int = 0
    _left_ns: float = 0.0
    _credit: float = 0.0
    """Tokens that may be left, at most."""

    @property
    def limited(self) -> bool:
        """A limit showed and was not disproved since."""
        return self.burst > 0

    @property
    def interval_ns(self) -> float | None:
        """The time between two answers; None where there is no limit."""
        return (self.shortest_ns + self.longest_ns) / 2 if self.limited else None

    def next_ns(self) -> int:
        """The earliest time at which the next probe should leave; 0: at once."""
        if self.limited and self._last_sent_ns < self._last_answer_ns + self._usual_ns():
            early = self._paced % DOUBT == DOUBT - 1 and not self._lost_in_row
            return self._last_answer_ns + round(DISPROVED * self.shortest_ns if early else self._usual_ns())
        if self._lost_in_row and (self.limited or self._lost_in_row >= SILENCE):
            return self._last_sent_ns + self._retry_ns()
        return 0

    def observe(self, sent_ns: int, answered: bool) -> Fate:
        """Takes in what became of a probe that left at `sent_ns`, and says what that tells."""
        fair = not self.limited or sent_ns - self._token_ns >= self.longest_ns
        if answered:
            since = sent_ns - self._last_answer_ns
            if self.limited:
                self._answer(since, fair)
            if self._lost_in_row and self._answers:
                self._silence(self._last_sent_ns - self._last_answer_ns, since)
            self._answers += 1
            self._together += 1
            self._paced += 1
            self._lost_in_row = 0
            self._last_answer_ns = self._token_ns = sent_ns
        else:
            if self.limited and fair:
                self._late += 1
                self._token_ns = sent_ns  # its answer may have been lost on the way back
            self._lost_in_row += 1
        self._last_sent_ns = sent_ns
        if fair:
            return "answered" if answered else "lost"
        return "early" if answered else "refused"

    @property
    def _learning(self) -> bool:
        return self._before[2] < CYCLES and self.longest_ns - self.shortest_ns > NARROW * self.longest_ns

    def _answer(self, since_ns: int, fair: bool) -> None:
        if fair and not self._lost_in_row:
            self._late = 0
        self._credit += since_ns / self.shortest_ns - 1
        if self._credit < -DISPROVED:
            self.burst, self._evidence = 0, 0.0

    def _silence(self, least_ns: int, most_ns: int) -> None:
        """One is over that lasted, from answer to answer, more than `least_ns` and at most `most_ns`."""
        if self._late >= LATE:
            self.longest_ns, self._late = max(self.longest_ns, most_ns), 0
        if self.limited and not self._learning:
            return
        chance = self._lost_in_row * -math.log(CHANCE)
        # Part of a token may have been left when the silence began: as much as the last one was known to, at most.
        least, most = max(self.shortest_ns, least_ns), min(self.longest_ns, most_ns + self._left_ns)
        agrees = self._evidence > 0 and self._together <= TOGETHER and least <= (1 + SLACK) * most
        answers, since, cycles = self._before
        if agrees:
            self.shortest_ns, self.longest_ns = min(least, most), max(least, most)
            self._evidence += chance - self._together * math.log(1 - CHANCE)
        elif not self.limited:
            answers, since, cycles = self._together, self._last_answer_ns, 0
            self.shortest_ns, self.longest_ns, self._evidence = least_ns, math.inf, chance
        self._left_ns = most_ns - least_ns
        self._before = (answers, since, cycles + 1)
        self._together = 0
        # One long silence is no limit, however improbable: it takes a second of the same length.
        if not self.limited and self._evidence > SURE and cycles:
            self.burst, self.since_ns, self._paced, self._late, self._credit = max(1, answers), since, 0, 0, 0.0

    def _usual_ns(self) -> int:
        """From an answer to the next probe."""
        return round(self.shortest_ns if self._learning else self.longest_ns)

    def _retry_ns(self) -> int:
        silent = self._last_sent_ns - self._last_answer_ns
        known = self.longest_ns if self.limited else 0.0
        retry = max(RETRY_NS, round(RETRY_SHARE * known if self.limited else UNKNOWN_SHARE * silent))
        doublings = max(0, silent // max(PATIENCE_NS, round(2 * known)))
        return int(min(retry * 2 ** min(doublings, 8), max(SLOWEST_RETRY_NS, known)))
