"""What limits each client and the whole system, inferred with reasons from counters in the network alone.

It learns what is usual (the fastest answers, the most connections and requests that a client ever showed, the most the
server ever did) and compares. It never asks a host, and never sees a simulated system's truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from keisoku.language import join_texts, phrase
from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.state import State, whole

FULL = 0.95
"""Share of its capacity at which a port may be the bound."""
QUEUED = 4.0
"""Connections that must wait at a port for it to be one."""
SLOWED = 9.0
"""Multiple of the fastest answers' time from which a server counts as busy: nine waiting for each one served."""
WAITING = 0.5
"""Connections of a client that must wait for a busy server on average, for it to be the client's bound."""
OWN = 0.95
"""Share of the most that a client was ever seen doing that it must have done while the server was not busy, for that
to be what the client itself can do."""
SURELY = 3.0
"""Standard deviations that are subtracted from a client's count, as the largest of many counts is partly chance."""
LITTLE = 0.1
"""Share of the most that a client was ever seen doing, and of its port, below which it is idle."""
REOPENED = 0.003
"""Share of SYNs that repeat others: the accept queue overflows."""
LESS = 0.952
"""Share of the server's rate with fewer connections below which there is waste."""
RECENT = 0.2
"""Weight of the latest interval in what the server is remembered to do with so many connections."""
ENOUGH = 20
"""Least number of connections in an interval whose mean is remembered."""


@dataclass(frozen=True)
class Inferred:
    """A state and the reason, a sentence with its figures."""

    state: State
    why: str


@dataclass
class _Usual:
    """What a client has shown so far."""

    fastest_s: float = float("inf")
    most_per_s: float = 0.0
    alone_per_s: float = 0.0
    """The most while the server was not busy."""

    def at_client(self, per_s: float) -> float:
        """Connections that the client itself keeps waiting at that rate, if what it can do is known; else none.

        A queue before its processor (M/M/1), infinite where the rate is the client's capacity.
        """
        if self.alone_per_s < OWN * self.most_per_s or not self.most_per_s:
            return 0.0
        busy = per_s / self.most_per_s
        return busy / (1 - busy) if busy < 1 else float("inf")


class Inference:
    """States interval by interval; each is told with what was learnt up to then.

    Until a low load was observed once, queueing at the server cannot be separated from its work; `learnt` is false.
    """

    def __init__(self) -> None:
        self.clients: dict[str, Inferred] = {}
        """Of the last interval, by name."""
        self.whole = Inferred(State.IDLE, phrase("nothing was observed yet"))
        """Of the last interval."""
        self._usual: dict[str, _Usual] = {}
        self._did: dict[int, float] = {}
        self._slowest_s = 0.0

    @property
    def learnt(self) -> bool:
        """True once answers were seen that took clearly different times."""
        return self._slowest_s > SLOWED * self._fastest_s

    @property
    def _fastest_s(self) -> float:
        return min((usual.fastest_s for usual in self._usual.values()), default=float("inf"))

    def observe(self, observation: Observation) -> dict[str, Inferred]:
        """The state of every client in this interval, by name; `whole` is that of the system."""
        for client in observation.clients:
            self._learn(client, observation.seconds)
        at_server = sum(_at_server(client) for client in observation.clients)
        self.clients = {c.name: self._state(c, observation, at_server) for c in observation.clients}
        states = [(self.clients[client.name].state, _weight(client, observation)) for client in observation.clients]
        state = whole(states)
        self.whole = Inferred(state, self._why(state, observation))
        if state in (State.SERVER_BOUND, State.OVERLOADED):
            crowd, per_s = _crowd(at_server), observation.requests_per_second
            self._did[crowd] = (1 - RECENT) * self._did.get(crowd, per_s) + RECENT * per_s
        return self.clients

    def _why(self, state: State, observation: Observation) -> str:
        """The reason of the client that does most of those in that state, and who is like it."""
        alike = [client for client in observation.clients if self.clients[client.name].state is state]
        if not alike:
            return phrase("no clients")
        most = max(alike, key=lambda client: _weight(client, observation)).name
        others = ", ".join(client.name for client in alike if client.name != most)
        likewise = phrase("; likewise {others}", others=others) if others else ""
        return join_texts("", [most, ": ", self.clients[most].why, likewise])

    def _learn(self, client: ClientView, seconds: float) -> None:
        usual = self._usual.setdefault(client.name, _Usual())
        if client.completed >= ENOUGH:
            usual.fastest_s = min(usual.fastest_s, client.answering_s / client.completed)
            self._slowest_s = max(self._slowest_s, client.answering_s / client.completed)
        usual.most_per_s = max(usual.most_per_s, _surely(client, seconds))

    def _state(self, client: ClientView, observation: Observation, at_server: float) -> Inferred:
        if not client.completed and client.sent_bytes:
            return _by_bytes(client, observation.seconds)
        usual = self._usual[client.name]
        per_s = client.completed / observation.seconds
        full = 8 * client.sent_bytes / observation.seconds / client.capacity_bps
        queued = _queued(client)
        waiting = _at_server(client)
        answering_s = client.answering_s / client.completed if client.completed else 0.0
        slowed = answering_s / self._fastest_s if client.completed else 0.0
        reopened = client.reopened / max(1, client.opened + client.reopened)
        if full > FULL and queued >= max(QUEUED, waiting):
            return Inferred(
                State.NETWORK_BOUND,
                phrase(
                    "its port carries {full:.0%} of {rate:,.0f} Mb/s and {queued:,.0f} connections wait "
                    "there, {waiting:,.0f} at the server",
                    full=full,
                    rate=client.capacity_bps / 1e6,
                    queued=queued,
                    waiting=waiting,
                ),
            )
        if (line := observation.server_line_bps) and observation.bits_per_second > FULL * line:
            return Inferred(
                State.NETWORK_BOUND,
                phrase(
                    "the server's link carries {full:.0%} of {line:,.0f} Mb/s, which all clients share",
                    full=observation.bits_per_second / line,
                    line=line / 1e6,
                ),
            )
        if slowed <= SLOWED:
            usual.alone_per_s = max(usual.alone_per_s, _surely(client, observation.seconds))
        elif waiting >= max(WAITING, usual.at_client(per_s)):
            reason = phrase(
                "{waiting:,.0f} connections wait for answers, {slowed:,.0f} times as long as for the fastest",
                waiting=waiting,
                slowed=slowed,
            )
            return self._waste(reason, reopened, at_server, observation.requests_per_second)
        if per_s < LITTLE * usual.most_per_s and full < LITTLE:
            return Inferred(
                State.IDLE,
                phrase(
                    "{rate:,.0f} requests/s are {share:.0%} of its highest observed rate",
                    rate=per_s,
                    share=per_s / usual.most_per_s,
                ),
            )
        if not client.opened and not client.open_connections:
            return Inferred(State.IDLE, phrase("it sends no requests"))
        return Inferred(
            State.CLIENT_BOUND,
            phrase(
                "its port carries {full:.0%} of what it could and answers take {slowed:.1f} times as "
                "long as the fastest: it sends no more than {per_s:,.0f} requests/s",
                full=full,
                slowed=slowed,
                per_s=per_s,
            ),
        )

    def _waste(self, reason: str, reopened: float, at_server: float, per_s: float) -> Inferred:
        """Decides whether a busy server does less than it could."""
        if reopened > REOPENED:
            return Inferred(
                State.OVERLOADED,
                phrase("{reason}; {reopened:.1%} of SYNs are retransmissions", reason=reason, reopened=reopened),
            )
        best = max((did for crowd, did in self._did.items() if crowd < _crowd(at_server)), default=0.0)
        if per_s < LESS * best:
            return Inferred(
                State.OVERLOADED,
                phrase(
                    "{reason}; the server does {per_s:,.0f} requests/s and did {best:,.0f} with fewer connections",
                    reason=reason,
                    per_s=per_s,
                    best=best,
                ),
            )
        return Inferred(
            State.SERVER_BOUND, phrase("{reason}; no higher rate was observed with fewer connections", reason=reason)
        )


def _by_bytes(client: ClientView, seconds: float) -> Inferred:
    """State of a client without completed requests: datagrams, or persistent connections."""
    bps = 8 * client.sent_bytes / seconds
    if bps > FULL * client.capacity_bps:
        return Inferred(
            State.NETWORK_BOUND,
            phrase(
                "its port carries {full:.0%} of {rate:,.0f} Mb/s",
                full=bps / client.capacity_bps,
                rate=client.capacity_bps / 1e6,
            ),
        )
    line_bps = client.passed_line_bps
    if line_bps and client.passed_bytes and 8 * client.passed_bytes / seconds > FULL * line_bps:
        return Inferred(
            State.NETWORK_BOUND,
            phrase(
                "the port before its own carries {full:.0%} of {rate:,.0f} Mb/s",
                full=8 * client.passed_bytes / seconds / line_bps,
                rate=line_bps / 1e6,
            ),
        )
    state = State.IDLE if bps < LITTLE * client.capacity_bps else State.CLIENT_BOUND
    return Inferred(state, phrase("it takes {rate:,.1f} Mb/s, and no line before it is full", rate=bps / 1e6))


def _weight(client: ClientView, observation: Observation) -> float:
    """How much of the whole a client is: requests, or bytes where no request is seen to end."""
    return client.completed if observation.requests_per_second else client.sent_bytes


def _surely(client: ClientView, seconds: float) -> float:
    """Requests/s of a client after chance in its count is subtracted."""
    return max(0.0, client.completed - SURELY * math.sqrt(client.completed)) / seconds


def _queued(client: ClientView) -> float:
    """Connections whose answer waits at the port, from bytes."""
    return client.queued_bytes * client.completed / client.sent_bytes if client.sent_bytes else 0.0


def _at_server(client: ClientView) -> float:
    """Connections that wait for the server, those whose SYN was dropped included."""
    return max(0.0, client.open_connections - _queued(client))


def _crowd(connections: float) -> int:
    """Connections at the server by powers of two: enough alike to be averaged."""
    return round(math.log2(max(connections, 1.0)))
