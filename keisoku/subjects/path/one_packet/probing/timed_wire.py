"""A HopWire whose time is limited: nothing leaves after its end, and nothing is waited for beyond it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from keisoku.subjects.path.one_packet.probing.wire import HopPacket, HopReply, HopWire

TELL_NS = 250_000_000
"""From one word about the time to the next, at least."""


class BudgetOverError(Exception):
    """The time is over; the one who set it ends what it does."""


class TimedWire:
    """`wire` until `budget_ns` after now. `tell` hears now and then how many ns of it are over.

    Every method but `now_ns` raises BudgetOverError once the end has come, and `exchange` also where it has come before
    the replies have: packets whose reply was not waited for long enough are neither lost nor answered.
    """

    def __init__(self, wire: HopWire, budget_ns: int, tell: Callable[[int], None] = lambda ns: None) -> None:
        self._wire, self._tell = wire, tell
        self.destination, self.mtu_bytes = wire.destination, wire.mtu_bytes
        self.began = self._told_ns = wire.now_ns()
        self.latest = self.end = self.began + budget_ns
        """When everything has to be over, and when the last packet leaves."""

    def leave(self, ns: int) -> None:
        """Ends so much before the budget is over, for what comes after."""
        self.end = self.latest - ns

    @property
    def left_ns(self) -> int:
        """Time to the end; 0 if it is over."""
        return max(0, self.end - self._wire.now_ns())

    def now_ns(self) -> int:
        """As the wire says."""
        return self._wire.now_ns()

    def rest(self, until_ns: int) -> None:
        """As `HopWire.rest`, up to the end."""
        self._wire.rest(min(until_ns, self.end))
        self._check()

    def exchange(self, packets: Sequence[HopPacket], timeout_ns: int) -> list[HopReply]:
        """As `HopWire.exchange`."""
        self._check()
        left_ns = self.left_ns
        replies = self._wire.exchange(packets, min(timeout_ns, left_ns))
        if left_ns < timeout_ns and any(reply.rtt_ns is None for reply in replies):
            raise BudgetOverError
        return replies

    def _check(self) -> None:
        now = self._wire.now_ns()
        if now >= self.end:
            raise BudgetOverError
        if now >= self._told_ns + TELL_NS:
            self._told_ns = now
            self._tell(now - self.began)
