"""What a client of UDPSTP does in either direction: `End`, which says when it is due, and is told what arrived.

It does no I/O and reads no clock: times are ns since any moment, and `wall_ns` turns them into time of day.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from keisoku.subjects.stream.capacity.pdu import STOPPING, TESTING, Activation

SILENT_NS = 3_000_000_000
"""Without anything from the far end, after which the test is over (RFC 9946)."""
STOPPED_NS = 1_000_000_000
"""The same after which the far end is told."""
NS = 1_000_000_000


class End(ABC):
    """`parameters` are those of the activation's response. The server searches for the rate, and ends the test."""

    def __init__(self, parameters: Activation, now_ns: int, wall_ns: int) -> None:
        self.parameters = parameters
        self._wall_ns = wall_ns
        self.action = TESTING
        self.over = False
        self.silent = False
        """It is over because nothing came from the far end any more."""
        self._heard_ns = now_ns

    @property
    @abstractmethod
    def due_ns(self) -> int:
        """When `leave` is to be called next."""

    @abstractmethod
    def leave(self, now_ns: int) -> Iterator[memoryview]:
        """Datagrams that are to be sent now, each valid until the next one is asked for."""

    @abstractmethod
    def arrived(self, now_ns: int, data: bytes) -> None:
        """A datagram from the far end; what is no PDU of this test is ignored."""

    def stopped(self, now_ns: int) -> int:
        """1 if nothing has come for so long that the far end must know."""
        return int(now_ns - self._heard_ns > STOPPED_NS)

    def _heard(self, now_ns: int, action: int) -> None:
        """The far end is there, and wants to go on or to stop."""
        self._heard_ns = now_ns
        if action != TESTING:
            self.action = STOPPING

    def _watch(self, now_ns: int) -> None:
        """Ends the test when the far end is gone."""
        if now_ns - self._heard_ns >= SILENT_NS:
            self.over = self.silent = True

    def _wall(self, now_ns: int) -> tuple[int, int]:
        return divmod(now_ns + self._wall_ns, NS)
