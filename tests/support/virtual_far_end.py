"""The far end of a look at a NAT in virtual time, as `keisoku-far` behaves (far/src/stream/nat.rs)."""

from __future__ import annotations

from dataclasses import dataclass, field

from keisoku.subjects.path.nat.message import Action, Address, BindingReport, DatagramType, MessageError, Request

MOST_BINDINGS = 1024
Outgoing = tuple[int, Address, bytes]
"""Number of the socket to send from, destination, datagram."""


@dataclass
class VirtualFarEnd:
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
                return [(at, source, self._about(asked.binding, asked.number, DatagramType.ECHO, now_ns))]
            case Action.SEND if asked.target in self.came_from and asked.far < self.sockets:
                to = self.came_from[asked.target]
            case Action.SEND_TO if 0 < asked.target < 1 << 16 and asked.far < self.sockets:
                to = source[0], asked.target
            case _:
                return [(at, source, self._about(asked.target, asked.number, DatagramType.TWIN, now_ns))]
        # What a full queue has no room for is the second one.
        copy, twin = (
            self._about(asked.target, asked.number, kind, now_ns) for kind in (DatagramType.COPY, DatagramType.TWIN)
        )
        return [(asked.far, to, copy), (at, source, twin)]

    def _about(self, binding: int, number: int, kind: DatagramType, now_ns: int) -> bytes:
        idle_ns = now_ns - self.heard_ns.get(binding, now_ns)
        return BindingReport(self.token, binding, number, kind, idle_ns, self.came_from.get(binding)).pack()
