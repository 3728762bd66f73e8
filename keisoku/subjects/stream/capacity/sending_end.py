"""`SendingEnd`: sends the load of a test at the rate that it is told. It does no I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from keisoku.ground.statistics.seed import DEFAULT
from keisoku.subjects.stream.capacity.end import NS, End
from keisoku.subjects.stream.capacity.pdu import LOAD_BYTES, TESTING, Activation, LoadHeader, PduError, Status
from keisoku.subjects.stream.capacity.seal import Tail
from keisoku.subjects.stream.capacity.sending_rate import IPV4_BYTES, IPV6_BYTES, LONGEST, SendingRate, length

_BEHIND_NS = 1_000_000
"""By which it may be late and still send everything; what is later is left out and counted."""
_STOPPING_NS = 10_000_000
_REORDERED = 0xFFFF
"""In place of a number of lost status PDUs: they came in another order."""


class SendingEnd(End):
    """`told` is given each status and when it came."""

    def __init__(
        self,
        parameters: Activation,
        now_ns: int,
        wall_ns: int,
        *,
        ipv6: bool = False,
        told: Callable[[int, Status], None] = lambda now_ns, status: None,
        seed: int = DEFAULT,
    ) -> None:
        super().__init__(parameters, now_ns, wall_ns)
        self.rate = parameters.rate
        self._shorter = IPV6_BYTES - IPV4_BYTES if ipv6 else 0
        self._told, self._chance = told, random.Random(seed)
        self._buffer = bytearray(LONGEST)
        self._next_ns = [now_ns, now_ns]
        self._number, self._statuses, self._status_errors = 0, 0, 0
        self._status_at_ns, self._status_time = now_ns, (0, 0)
        self.missed_ns = 0
        """Sum of times for which nothing was sent because this end was late."""

    @property
    def sent(self) -> int:
        """Number of datagrams."""
        return self._number

    @property
    def due_ns(self) -> int:
        """When the next burst leaves."""
        return min(self._next_ns[which] for which in self._used()) if self.action == TESTING else self._next_ns[0]

    def refused(self) -> None:
        """The last datagram of `leave` was not sent, so the next one has its number."""
        self._number -= 1

    def leave(self, now_ns: int) -> Iterator[memoryview]:
        """One burst: the next is stamped when it leaves, even if this end is late."""
        self._watch(now_ns)
        if self.over:
            return
        if self.action != TESTING:
            self._next_ns[0] = now_ns + _STOPPING_NS
            yield self._datagram(now_ns, LOAD_BYTES)
            self.over = True
            return
        which = min(self._used(), key=self._next_ns.__getitem__)
        if self._next_ns[which] > now_ns:
            return
        interval_ns, payload, burst, addon = self._transmitter(which)
        late_ns = max(now_ns - self._next_ns[which] - _BEHIND_NS, 0)
        self._next_ns[which] += late_ns + interval_ns
        self.missed_ns += late_ns
        for wanted in [payload] * burst + [addon] * (addon > 0):
            yield self._datagram(now_ns, length(wanted, LOAD_BYTES, self._shorter, self._chance))

    def arrived(self, now_ns: int, data: bytes) -> None:
        """A status, from which the rate follows."""
        try:
            status = Status.parse(data)
            Tail.parse(data)
        except PduError:
            return
        lost = status.number - self._statuses - 1
        self._status_errors = lost if lost >= 0 else _REORDERED
        if lost < 0:
            return
        self._statuses = status.number
        self._status_at_ns, self._status_time = now_ns, (status.sent_s, status.sent_ns)
        self._heard(now_ns, status.action)
        self._told(now_ns, status)
        if status.action != TESTING:
            self._next_ns[0] = now_ns
            return
        if status.rate.possible:
            self._take(status.rate, now_ns)

    def _take(self, rate: SendingRate, now_ns: int) -> None:
        """Transmitters that begin do so now."""
        before = self._used()
        self.rate = rate
        for which in self._used():
            interval_ns, *_ = self._transmitter(which)
            began = which not in before
            self._next_ns[which] = now_ns if began else min(self._next_ns[which], now_ns + interval_ns)

    def _used(self) -> list[int]:
        """Transmitters of the rate; the second, which then does nothing, if there is none."""
        used = [which for which, one in enumerate((self.rate.interval1_us, self.rate.interval2_us)) if one]
        return used or [1]

    def _transmitter(self, which: int) -> tuple[int, int, int, int]:
        """Interval in ns, payload, burst and addon."""
        rate = self.rate
        if which == 0:
            return rate.interval1_us * 1000, rate.payload1, rate.burst1, 0
        return (rate.interval2_us or 50_000) * 1000, rate.payload2, rate.burst2, rate.addon2

    def _datagram(self, now_ns: int, bytes_: int) -> memoryview:
        self._number += 1
        seconds, nanoseconds = self._wall(now_ns)
        LoadHeader(
            action=self.action,
            stopped=self.stopped(now_ns),
            number=self._number,
            payload_bytes=bytes_,
            status_errors=self._status_errors,
            status_s=self._status_time[0],
            status_ns=self._status_time[1],
            sent_s=seconds,
            sent_ns=nanoseconds,
            held_ms=round(1000 * (now_ns - self._status_at_ns) / NS),
        ).pack_into(self._buffer)
        return memoryview(self._buffer)[:bytes_]
