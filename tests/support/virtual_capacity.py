"""A test of UDPSTP in virtual time: client and server, and between them a path whose truth is known.

The way of the load is a line with a drop-tail queue, behind a token bucket if there is one; the way back only delays.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from keisoku.subjects.stream.capacity.end import NS, End
from keisoku.subjects.stream.capacity.pdu import STOPPING, TESTING, Activation, Status
from keisoku.subjects.stream.capacity.receiving_end import ReceivingEnd
from keisoku.subjects.stream.capacity.sending_end import SendingEnd
from keisoku.subjects.stream.capacity.sending_rate import IP_BYTES, SendingRate
from support.udpstp_search import PACKET_BYTES, RateSearch, table

Rate = Callable[[float], float]


@dataclass
class VirtualPath:
    """`rate_bps`: of IP packets, by the time in s. A bucket passes at `peak_bps` until it is empty."""

    rate_bps: Rate
    queue_bytes: int = 100_000
    delay_ns: int = 5_000_000
    peak_bps: float = 0.0
    _bucket_bytes: int = 0
    _tokens: float = 0.0
    _filled_ns: int = 0
    _free_ns: int = 0

    def fill(self, bucket_bytes: int) -> None:
        """A bucket of that size, full."""
        self._tokens = self._bucket_bytes = bucket_bytes

    def arrives(self, now_ns: int, payload_bytes: int) -> int | None:
        """When the datagram arrives; None: it is dropped."""
        packet = payload_bytes + IP_BYTES
        rate_bps = self.rate_bps(now_ns / NS)
        if self._bucket_bytes:
            filled = self._tokens + rate_bps * (now_ns - self._filled_ns) / (8 * NS)
            self._tokens, self._filled_ns = min(filled, self._bucket_bytes), now_ns
            if self._tokens < packet:
                return None
            self._tokens -= packet
            rate_bps = self.peak_bps
        waits_ns = max(self._free_ns - now_ns, 0)
        if waits_ns * rate_bps / (8 * NS) + packet > self.queue_bytes:
            return None
        self._free_ns = now_ns + waits_ns + round(8 * NS * packet / rate_bps)
        return self._free_ns + self.delay_ns


class _Server(End):
    """What a server does otherwise than a client: it ends the test when its time is over, until the client confirms."""

    def _begin(self, parameters: Activation, now_ns: int) -> None:
        # So the last sub-interval is complete.
        self._stop_ns = now_ns + parameters.duration_s * NS + NS // 2
        self._confirmed = False
        self._table = table(PACKET_BYTES)
        self._search = RateSearch(parameters, len(self._table))

    def leave(self, now_ns: int) -> Iterator[memoryview]:
        yield from super().leave(now_ns)  # type: ignore[safe-super]
        self.over = self.silent or self._confirmed

    def _heard(self, now_ns: int, action: int) -> None:
        self._heard_ns = now_ns
        self._confirmed = self.over = action != TESTING and self.action == STOPPING

    def _watch(self, now_ns: int) -> None:
        super()._watch(now_ns)
        if not self.over and now_ns >= self._stop_ns:
            self.action = STOPPING


class SendingServer(_Server, SendingEnd):
    """Sends the load, at the rate that its search finds."""

    def __init__(self, parameters: Activation, now_ns: int, wall_ns: int) -> None:
        SendingEnd.__init__(self, parameters, now_ns, wall_ns, told=self._learn)
        self._begin(parameters, now_ns)
        self.rate = self._table[0]

    def _learn(self, now_ns: int, status: Status) -> None:
        self._latest = status

    def _take(self, rate: SendingRate, now_ns: int) -> None:
        super()._take(self._table[self._search.told(self._latest)], now_ns)


class ReceivingServer(_Server, ReceivingEnd):
    """Tells its client the rate that its search finds."""

    def __init__(self, parameters: Activation, now_ns: int, wall_ns: int) -> None:
        ReceivingEnd.__init__(self, parameters, now_ns, wall_ns)
        self._begin(parameters, now_ns)

    def _made(self, now_ns: int) -> Status:
        status = super()._made(now_ns)
        return replace(status, rate=self._table[self._search.told(status)])


def carried_out(
    path: VirtualPath, parameters: Activation, up: bool, noise: Sequence[bytes] = ()
) -> list[tuple[int, Status]]:
    """The statuses of a test, as the client learns them, and when. `noise` comes to both ends as well."""
    told: list[tuple[int, Status]] = []

    def learn(now_ns: int, status: Status) -> None:
        told.append((now_ns, status))

    parameters = replace(parameters, rate=table()[0]) if up else parameters
    wall_ns = 1_800_000_000 * NS
    sender = SendingEnd(parameters, 0, wall_ns, told=learn) if up else SendingServer(parameters, 0, wall_ns)
    receiver = ReceivingServer(parameters, 0, wall_ns) if up else ReceivingEnd(parameters, 0, wall_ns, told=learn)
    numbers, underway = count(), list[tuple[int, int, End, bytes]]()
    end: End
    for place, data in enumerate(noise):
        for end in (sender, receiver):
            heapq.heappush(underway, (place * 10_000_000, next(numbers), end, data))
    while not (sender.over and receiver.over):
        due = [(one.due_ns, one) for one in (sender, receiver) if not one.over]
        now_ns, end = min(due, key=lambda one: one[0])
        if underway and underway[0][0] <= now_ns:
            now_ns, _, end, data = heapq.heappop(underway)
            end.arrived(now_ns, data)
            continue
        for data in map(bytes, end.leave(now_ns)):
            arrival_ns = path.arrives(now_ns, len(data)) if end is sender else now_ns + path.delay_ns
            if arrival_ns is not None:
                heapq.heappush(underway, (arrival_ns, next(numbers), receiver if end is sender else sender, data))
    return told
