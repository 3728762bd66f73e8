"""A router's limit on ICMP errors, learnt while probing: burst and interval, and when the next probe is worth sending.

Linux answers a prober six times at once and then once a second (`icmp_ratelimit`, a token bucket for each peer). A
refused error costs no token there, so a probe sent too early is soon repeated. It reads no clock; times are arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

NS_PER_S = 1_000_000_000
RETRY_NS = 50_000_000
"""Between probes that look for the end of an interval: it is known to this, or to a twentieth of itself."""
RETRY_SHARE = 0.05
SLOWEST_RETRY_NS = 2 * NS_PER_S
PATIENCE_NS = 4 * NS_PER_S
"""Without an answer for so long, the next probes come half as often."""
SUSPECT = 2
"""Losses in a row that are taken for a limit; a single loss is not."""
EAGER = 0.005
"""Each answer in a row shortens the interval by so much more: a limit that was none is soon forgotten."""


@dataclass
class IcmpLimit:
    """The estimate of one router's limit. Every probe to it is given to `observe`, in the order of sending."""

    interval_ns: int = 0
    """Time from an answer to the next probe; 0: not limited, or not known yet. It oscillates about the limit."""
    burst: int = 0
    """Answers before the limit first showed; 0: it has not."""
    refused: int = 0
    """Probes without an answer since the limit showed."""
    _answered: int = 0
    _lost_in_row: int = 0
    _streak: int = 0
    _last_sent_ns: int = 0
    _last_answer_ns: int = 0
    _first_limited_ns: int = 0
    _limited_answers: int = 0

    @property
    def limited(self) -> bool:
        """A limit showed and was not disproved since."""
        return self.burst > 0

    @property
    def mean_interval_ns(self) -> float | None:
        """Mean time between answers since the limit showed: what the limit is, as probes come a little too often."""
        if not self.limited or self._limited_answers < 2:
            return None
        return (self._last_answer_ns - self._first_limited_ns) / (self._limited_answers - 1)

    def next_ns(self) -> int:
        """The earliest time at which the next probe should leave; 0: at once."""
        if not self.limited:
            return 0
        if self._lost_in_row:
            return self._last_sent_ns + self._retry_ns()
        return self._last_answer_ns + self.interval_ns

    def observe(self, sent_ns: int, answered: bool) -> None:
        """Takes in what became of a probe that left at `sent_ns`."""
        self._last_sent_ns = sent_ns
        if answered:
            self._answer(sent_ns)
            return
        self._lost_in_row += 1
        self._streak = 0
        if self.limited:
            self.refused += 1
        elif self._lost_in_row >= SUSPECT and self._answered:
            self.burst, self.refused = self._answered, self._lost_in_row

    def _answer(self, sent_ns: int) -> None:
        if self.limited:
            if self._lost_in_row:
                self.interval_ns = sent_ns - self._last_answer_ns
            else:
                self._streak += 1
                self.interval_ns = round(self.interval_ns * max(0.5, 1 - EAGER * self._streak))
            if self._limited_answers == 0:
                self._first_limited_ns = sent_ns
            self._limited_answers += 1
            if self.interval_ns < RETRY_NS:
                self.interval_ns = self.burst = self._limited_answers = 0
        self._answered += 1
        self._lost_in_row = 0
        self._last_answer_ns = sent_ns

    def _retry_ns(self) -> int:
        retry = max(RETRY_NS, round(RETRY_SHARE * self.interval_ns))
        silent = self._last_sent_ns - self._last_answer_ns
        doublings = max(0, silent // max(PATIENCE_NS, 2 * self.interval_ns))
        return int(min(retry * 2 ** min(doublings, 8), max(SLOWEST_RETRY_NS, self.interval_ns)))
