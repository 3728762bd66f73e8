"""The far end of a look at a NAT: remembers where datagrams came from, and sends there what it is asked to.

It sends only to the host that it serves, and only to whoever knows the token, which that host got over TCP.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.address import address_text, family, socket_address
from keisoku.ground.host.place import Place
from keisoku.subjects.path.nat.message import Action, Address, Answer, Kind, MessageError, Request

MOST_BINDINGS = 1024
_TRIES = 20
_WAKE_S = 0.1
_BUFFER_BYTES = 64
Outgoing = tuple[int, Address, bytes]
"""Number of the socket to send from, destination, datagram."""


@dataclass
class FarEnd:
    """Answers one client; `host` is its address, and `sockets` the number of its own."""

    token: int
    host: str
    sockets: int
    came_from: dict[int, Address] = field(default_factory=dict)
    heard_ns: dict[int, int] = field(default_factory=dict)
    from_elsewhere: int = 0
    """Number of datagrams of this client that came from another address than its TCP, which are not answered."""

    def heard(self, now_ns: int, at: int, source: Address, data: bytes) -> list[Outgoing]:
        """What a datagram that arrived at socket `at` leads to."""
        try:
            asked = Request.parse(data)
        except MessageError:
            return []
        if asked.token != self.token:
            return []
        if source[0] != self.host:
            self.from_elsewhere += 1
            return []
        match asked.action:
            case Action.OPEN | Action.ECHO:
                if asked.binding not in self.came_from and len(self.came_from) >= MOST_BINDINGS:
                    return []
                self.came_from[asked.binding], self.heard_ns[asked.binding] = source, now_ns
                if asked.action == Action.OPEN:
                    return []
                return [(at, source, self._about(asked.binding, asked.number, Kind.ECHO, now_ns))]
            case Action.SEND if asked.target in self.came_from and asked.far < self.sockets:
                to = self.came_from[asked.target]
            case Action.SEND_TO if 0 < asked.target < 1 << 16 and asked.far < self.sockets:
                to = source[0], asked.target
            case _:
                return [(at, source, self._about(asked.target, asked.number, Kind.TWIN, now_ns))]
        # What a full queue has no room for is the second one.
        copy, twin = (self._about(asked.target, asked.number, kind, now_ns) for kind in (Kind.COPY, Kind.TWIN))
        return [(asked.far, to, copy), (at, source, twin)]

    def _about(self, binding: int, number: int, kind: Kind, now_ns: int) -> bytes:
        idle_ns = now_ns - self.heard_ns.get(binding, now_ns)
        return Answer(self.token, binding, number, kind, idle_ns, self.came_from.get(binding)).pack()


class NatResponder:
    """A `FarEnd` on sockets of its own: two ports at `address`, and the same two at the other address if there is one.

    A context manager; it answers from its start to its end. Raises EngineError if the ports cannot be opened.
    """

    def __init__(self, place: Place, address: str, other: str | None, host: str) -> None:
        is_same_family = other is not None and (":" in other) == (":" in address) and other != address
        self._other = other if is_same_family else None
        self._place, self._address, self._host = place, address, host
        self._stopped = threading.Event()
        self._stack = ExitStack()

    def __enter__(self) -> NatResponder:
        addresses = [self._address, *([self._other] if self._other else [])]
        self._sockets = self._stack.enter_context(_at_same_ports(self._place, addresses))
        self._end = FarEnd(secrets.randbits(63), self._host, len(self._sockets))
        thread = threading.Thread(target=self._serve, daemon=True)
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(self._stopped.set)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def at(self) -> dict[str, object]:
        """Where it answers: two ports, the other address or None, and the token."""
        ports = [one.getsockname()[1] for one in self._sockets[:2]]
        return {"ports": ports, "other": self._other, "token": self._end.token}

    def report(self) -> dict[str, int]:
        """What only this end knows."""
        return {"from_elsewhere": self._end.from_elsewhere}

    def _serve(self) -> None:
        while not self._stopped.is_set():
            ready, _, _ = select.select(self._sockets, [], [], _WAKE_S)
            for one in ready:
                with contextlib.suppress(OSError):
                    data, source = one.recvfrom(_BUFFER_BYTES)
                    at, peer = self._sockets.index(one), (address_text(source), source[1])
                    # A copy that this host refuses to send has no twin, which would say that it was sent.
                    for number, to, answer in self._end.heard(time.monotonic_ns(), at, peer, data):
                        self._sockets[number].sendto(answer, socket_address(*to))


def check_other_address(place: Place, address: str) -> None:
    """Raises PlanError if datagrams cannot be sent from it."""
    try:
        place.inside(_opening(address, 0)).close()
    except OSError as error:
        problem = f"{address} cannot be used: {error.strerror}"
        raise PlanError("other-address", problem, "give a second address of this host") from error


@contextmanager
def _at_same_ports(place: Place, addresses: list[str]) -> Iterator[list[socket.socket]]:
    """Two UDP sockets at each address, with the same two ports at each."""
    with ExitStack() as stack:
        for _ in range(_TRIES):
            made: list[socket.socket] = []
            try:
                for _ in range(2):
                    made.append(place.inside(_opening(addresses[0], 0)))
                for address in addresses[1:]:
                    made += [place.inside(_opening(address, one.getsockname()[1])) for one in made[:2]]
            except OSError as error:
                failure = error
                for one in made:
                    one.close()
                continue
            for one in made:
                stack.callback(one.close)
            yield made
            return
    raise EngineError(f"no UDP ports can be opened at {' and '.join(addresses)}: {failure.strerror}; measure again")


def _opening(address: str, port: int) -> Callable[[], socket.socket]:
    def opened() -> socket.socket:
        made = socket.socket(family(address), socket.SOCK_DGRAM)
        try:
            made.bind(socket_address(address, port))
        except OSError:
            made.close()
            raise
        return made

    return opened
