"""Unicast negotiation with a PTP master (16.1 of IEEE 1588-2019): what to request, and what was granted.

Times come in as seconds of a clock that is never set. It never asks for more than an exchange needs.
"""

from __future__ import annotations

import math

from keisoku.subjects.clock.reference.ptp.message import Contract, MessageType, Term

DURATION_S = 300
"""As G.8265.1 has it by default."""
LOG_LEAST, LOG_MOST = -7, 4
"""Periods from 1/128 s to 16 s: what telecom masters grant (G.8265.1, table 6-2)."""
_ANNOUNCE_LOG = 0
WANTED = (MessageType.ANNOUNCE, MessageType.SYNC, MessageType.DELAY_RESP)


def log_period(pause_s: float) -> int:
    """The longest period of PTP's, powers of two, that is not longer than a pause, where masters have it."""
    return min(max(math.floor(math.log2(pause_s)), LOG_LEAST), LOG_MOST)


def rest_s(pause_s: float) -> float:
    """How long to rest after a Sync so that the next exchange is a pause later: until shortly before that Sync."""
    period_s = 2.0 ** log_period(pause_s)
    return min(pause_s, (math.ceil(pause_s / period_s) - 0.5) * period_s)


class Contracts:
    """Contracts with one master. `refused` holds the types of message that the master refused to send."""

    def __init__(self, log_sync: int) -> None:
        """Sync and Delay_Resp every 2**`log_sync` s."""
        self.log_sync = log_sync
        self.refused: set[MessageType] = set()
        self._until_s: dict[MessageType, float] = {}
        self._renew_s: dict[MessageType, float] = {}

    def missing(self, now_s: float) -> list[Term]:
        """Requests for what is not granted now."""
        return [self._request(kind) for kind in WANTED if self._until_s.get(kind, now_s) <= now_s]

    def due(self, now_s: float) -> list[Term]:
        """Requests for what is not granted, or only for the lesser half of its time."""
        return [self._request(kind) for kind in WANTED if self._renew_s.get(kind, now_s) <= now_s]

    def answer(self, terms: tuple[Term, ...], now_s: float) -> list[Term]:
        """What the master grants, refuses or cancels; returns what must be answered."""
        answers = []
        for term in terms:
            kind = next((kind for kind in WANTED if kind == term.of), None)
            if kind is None:
                continue
            if term.contract is Contract.GRANT and term.duration_s > 0:
                self._until_s[kind] = now_s + term.duration_s
                self._renew_s[kind] = now_s + term.duration_s / 2
                self.refused.discard(kind)
            elif term.contract is Contract.GRANT:
                self.refused.add(kind)
            elif term.contract is Contract.CANCEL:
                self._until_s.pop(kind, None)
                self._renew_s.pop(kind, None)
                answers.append(Term(Contract.ACKNOWLEDGE, kind))
        return answers

    def forget(self) -> None:
        """The master sends nothing: it may have begun anew, and know of none of them."""
        self._until_s.clear()
        self._renew_s.clear()

    def farewell(self) -> list[Term]:
        """Ends everything that was granted."""
        held = list(self._until_s)
        self.forget()
        return [Term(Contract.CANCEL, kind) for kind in held]

    def _request(self, kind: MessageType) -> Term:
        period = _ANNOUNCE_LOG if kind is MessageType.ANNOUNCE else self.log_sync
        return Term(Contract.REQUEST, kind, period, DURATION_S)
