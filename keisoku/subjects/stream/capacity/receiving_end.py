"""`ReceivingEnd`: accounts for the load of a test and says what it saw in status PDUs. It does no I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from keisoku.subjects.stream.capacity.end import NS, End
from keisoku.subjects.stream.capacity.pdu import (
    NO_DELAY,
    TESTING,
    Activation,
    LoadHeader,
    PduError,
    Status,
    SubInterval,
)
from keisoku.subjects.stream.capacity.seal import sealed

_REMEMBERED = 1024
"""Numbers of datagrams that came last, among which one that came before is a duplicate."""
_MS = 1_000_000
_U32 = 0xFFFFFFFF


class ReceivingEnd(End):
    """`told` is given each status that leaves, and when."""

    def __init__(
        self,
        parameters: Activation,
        now_ns: int,
        wall_ns: int,
        *,
        told: Callable[[int, Status], None] = lambda now_ns, status: None,
    ) -> None:
        super().__init__(parameters, now_ns, wall_ns)
        self._told = told
        self._feedback_ns = parameters.feedback_ms * _MS
        self._next_ns = now_ns + self._feedback_ns
        self._number = 0
        self._recent: deque[int] = deque(maxlen=_REMEMBERED)
        self._held: set[int] = set()
        self._statuses = 0
        self._trial, self._sub = _Seen(now_ns), _Seen(now_ns)
        self._first_ns = now_ns
        """When the first sub-interval began: with the first status."""
        self._saved, self._complete = SubInterval(), 0
        self._clocks_ns: int | None = None
        self._rtt_least_ms = NO_DELAY
        self._status_time = (0, 0)

    @property
    def due_ns(self) -> int:
        """When the next status leaves."""
        return self._next_ns

    def arrived(self, now_ns: int, data: bytes) -> None:
        """A datagram of the load."""
        try:
            load = LoadHeader.parse(data)
        except PduError:
            return
        self._heard(now_ns, load.action)
        if load.action != TESTING or self.action != TESTING:
            return
        seen, number = self._trial, load.number
        seen.datagrams += 1
        seen.payload_bytes += load.payload_bytes
        if number <= self._number:
            if number in self._held:
                seen.duplicated += 1
            else:
                # It was counted as lost when a later one came; if that was told already, it stays so.
                seen.reordered += 1
                seen.lost = max(seen.lost - 1, 0)
                self._remember(number)
            return
        seen.lost += number - self._number - 1
        self._number = number
        self._remember(number)
        self._time(now_ns, load)

    def leave(self, now_ns: int) -> Iterator[memoryview]:
        """A status, once something has come."""
        self._watch(now_ns)
        on_time_ns = self._next_ns + self._feedback_ns
        self._next_ns = on_time_ns if on_time_ns > now_ns else now_ns + self._feedback_ns
        if self.over or (self._number == 0 and self.action == TESTING):
            return
        status = self._made(now_ns)
        yield memoryview(sealed(status.pack(), 0))
        self._told(now_ns, status)
        self.over = self.action != TESTING
        self._statuses += 1
        self._sub.add(self._trial)
        self._trial = _Seen(now_ns)
        if self._statuses == 1:
            self._first_ns, self._sub = now_ns, _Seen(now_ns)
        elif now_ns - self._sub.since_ns > self.parameters.sub_interval_ms * _MS - self._feedback_ns // 2:
            self._complete += 1
            self._saved = self._sub.sub_interval(now_ns, self._first_ns)
            self._sub = _Seen(now_ns)

    def _remember(self, number: int) -> None:
        if len(self._recent) == _REMEMBERED:
            self._held.discard(self._recent[0])
        self._recent.append(number)
        self._held.add(number)

    def _time(self, now_ns: int, load: LoadHeader) -> None:
        """Round trip and one-way delay, of datagrams in order."""
        seen, wall_ns = self._trial, now_ns + self._wall_ns
        if (load.status_s, load.status_ns) != self._status_time and load.status_s:
            self._status_time = (load.status_s, load.status_ns)
            took_ns = wall_ns - load.status_s * NS - load.status_ns
            rtt_ms = max(_rounded_ms(took_ns) - load.held_ms, 0)
            if rtt_ms < self._rtt_least_ms:
                self._rtt_least_ms, seen.least_changed = rtt_ms, 1
            seen.rtt(rtt_ms - self._rtt_least_ms)
        delta_ns = wall_ns - load.sent_s * NS - load.sent_ns
        if self._clocks_ns is None or delta_ns < self._clocks_ns:
            self._clocks_ns, seen.least_changed = delta_ns, 1
        seen.delay(_rounded_ms(delta_ns - self._clocks_ns))

    def _made(self, now_ns: int) -> Status:
        seconds, nanoseconds = self._wall(now_ns)
        clocks_ms = _rounded_ms(self._clocks_ns or 0)
        seen = self._trial
        return Status(
            action=self.action,
            stopped=self.stopped(now_ns),
            number=self._statuses + 1,
            sub_intervals=self._complete,
            sub_interval=self._saved,
            lost=min(seen.lost, _U32),
            reordered=seen.reordered,
            duplicated=seen.duplicated,
            clocks_ms=max(min(clocks_ms, 2**31 - 1), -(2**31)),
            delay_least_ms=seen.delay_least_ms,
            delay_most_ms=seen.delay_most_ms,
            delay_sum_ms=min(seen.delay_sum_ms, _U32),
            delays=seen.delays,
            rtt_least_ms=self._rtt_least_ms,
            rtt_over_ms=seen.rtt_last_ms,
            least_changed=seen.least_changed,
            lasted_us=min((now_ns - seen.since_ns) // 1000, _U32),
            datagrams=seen.datagrams,
            payload_bytes=seen.payload_bytes,
            sent_s=seconds,
            sent_ns=nanoseconds,
        )


class _Seen:
    """What arrived since some moment; delays in ms above the least."""

    def __init__(self, since_ns: int) -> None:
        self.since_ns = since_ns
        self.datagrams = self.payload_bytes = self.lost = self.reordered = self.duplicated = self.least_changed = 0
        self.delay_least_ms, self.delay_most_ms, self.delay_sum_ms, self.delays = NO_DELAY, 0, 0, 0
        self.rtt_least_ms, self.rtt_most_ms, self.rtt_last_ms = NO_DELAY, 0, NO_DELAY

    def delay(self, over_ms: int) -> None:
        """Of one datagram."""
        self.delay_least_ms = min(self.delay_least_ms, over_ms)
        self.delay_most_ms = max(self.delay_most_ms, min(over_ms, NO_DELAY - 1))
        self.delay_sum_ms += over_ms
        self.delays += 1

    def rtt(self, over_ms: int) -> None:
        """Of one status."""
        self.rtt_last_ms = min(over_ms, NO_DELAY - 1)
        self.rtt_least_ms, self.rtt_most_ms = min(self.rtt_least_ms, over_ms), max(self.rtt_most_ms, self.rtt_last_ms)

    def add(self, later: _Seen) -> None:
        """What arrived in a part of the same time."""
        for name in ("datagrams", "payload_bytes", "lost", "reordered", "duplicated", "delay_sum_ms", "delays"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        for name in ("delay_least_ms", "rtt_least_ms"):
            setattr(self, name, min(getattr(self, name), getattr(later, name)))
        for name in ("delay_most_ms", "rtt_most_ms"):
            setattr(self, name, max(getattr(self, name), getattr(later, name)))

    def sub_interval(self, now_ns: int, first_ns: int) -> SubInterval:
        """As it is told; `first_ns`: when the first one began."""
        return SubInterval(
            datagrams=self.datagrams,
            payload_bytes=self.payload_bytes,
            lasted_us=(now_ns - self.since_ns) // 1000,
            lost=min(self.lost, _U32),
            reordered=self.reordered,
            duplicated=self.duplicated,
            delay_least_ms=self.delay_least_ms,
            delay_most_ms=self.delay_most_ms,
            delay_sum_ms=min(self.delay_sum_ms, _U32),
            delays=self.delays,
            rtt_least_ms=self.rtt_least_ms,
            rtt_most_ms=self.rtt_most_ms,
            since_ms=(now_ns - first_ns) // _MS,
        )


def _rounded_ms(ns: int) -> int:
    return (ns + _MS // 2) // _MS
