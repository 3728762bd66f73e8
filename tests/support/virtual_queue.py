"""A bottleneck with a queue of a known kind in virtual time, loaded by TCP flows or by UDP, and probed meanwhile.

Flows grow by slow start and CUBIC (RFC 9438, without its friendliness to Reno) and halve their window for a lost packet
once in a round trip. Times are seconds.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

Discipline = Literal["drop-tail", "codel", "fq", "fq-codel"]
BYTES, PROBE_BYTES = 1500, 72
PROBE_S = 0.02
PARTS = 10
TARGET_S, INTERVAL_S = 0.005, 0.1
CUBIC_C, CUBIC_BETA = 0.4, 0.7
PROBES, UDP = -1, -2
"""Numbers of the flows that are no TCP."""


@dataclass
class Queue:
    """Of one direction. `limit_bytes` may wait beside the packet that is being sent."""

    rate_bps: float
    limit_bytes: float
    discipline: Discipline = "drop-tail"
    bucket_bytes: float = 0.0
    """Tokens of a shaper, full while the path is idle; 0: a line."""


@dataclass
class Seen:
    """What both ends saw."""

    probes: list[tuple[float, float]] = field(default_factory=list)
    """(sent, waited) of those that arrived; what a probe's own bits take is in it."""
    lost_probes: int = 0
    round_trips: list[tuple[float, float]] = field(default_factory=list)
    """(time, round trip) of acknowledged packets."""
    retransmitted: int = 0
    arrived_bytes: int = 0
    """After the ramp."""
    arrived_parts: list[float] = field(default_factory=lambda: [0.0] * PARTS)
    """The same in equal parts of that time, on a line between packets."""


@dataclass
class _Packet:
    flow: int
    size: int
    sent: float
    came: float = 0.0


@dataclass
class _CoDel:
    """RFC 8289 §5."""

    first_above: float = 0.0
    drop_next: float = 0.0
    count: int = 0
    last_count: int = 0
    dropping: bool = False

    def drops(self, waited: float, empty: bool, now: float) -> bool:
        """Whether the packet that would leave is dropped; it is asked again for the next one."""
        if waited < TARGET_S or empty:
            self.first_above = 0.0
            over = False
        elif self.first_above == 0.0:
            self.first_above = now + INTERVAL_S
            over = False
        else:
            over = now >= self.first_above
        if self.dropping:
            if not over:
                self.dropping = False
                return False
            if now < self.drop_next:
                return False
            self.count += 1
            self.drop_next += INTERVAL_S / math.sqrt(self.count)
            return True
        if not over:
            return False
        self.dropping = True
        delta = self.count - self.last_count
        self.count = delta if delta > 1 and now - self.drop_next < 16 * INTERVAL_S else 1
        self.drop_next = now + INTERVAL_S / math.sqrt(self.count)
        self.last_count = self.count
        return True


@dataclass
class _Flow:
    window: float = 10.0
    threshold: float = math.inf
    flying: int = 0
    recovered: float = 0.0
    epoch: float = 0.0
    most: float = 0.0
    trip: float = 0.1

    def acknowledged(self, now: float) -> None:
        if self.window < self.threshold:
            self.window += 1
            return
        k = (self.most * (1 - CUBIC_BETA) / CUBIC_C) ** (1 / 3)
        wanted = CUBIC_C * (now + self.trip - self.epoch - k) ** 3 + self.most
        self.window += max(0.01, min(wanted - self.window, self.window / 2)) / self.window

    def lost(self, now: float) -> None:
        if now < self.recovered:
            return
        self.most, self.epoch, self.recovered = self.window, now, now + self.trip
        self.window = self.threshold = max(2.0, self.window * CUBIC_BETA)


class VirtualPath:
    """One condition: `streams` TCP flows, or UDP of `udp_bps`, or nothing, for `whole_s`."""

    def __init__(self, queue: Queue, round_trip_s: float, seed: int, streams: int = 0, udp_bps: float = 0.0) -> None:
        self._queue, self._trip, self._chance = queue, round_trip_s, random.Random(seed)
        self._flows = [_Flow() for _ in range(streams)]
        self._udp_bps = udp_bps
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._waiting: dict[int, deque[_Packet]] = {}
        self._turns: deque[int] = deque()
        self._codel: dict[int, _CoDel] = {}
        self._credit: dict[int, int] = {}
        self._held = 0
        self._busy = False
        self._tokens, self._filled = queue.bucket_bytes, 0.0
        self._now = self._ramp_s = 0.0
        self._order = 0
        self.seen = Seen()

    def run(self, whole_s: float, ramp_s: float) -> Seen:
        """Everything that was sent for so long; counts of bytes begin after the ramp."""
        self._ramp_s, self._end_s = ramp_s, whole_s
        self._at(0.0, lambda: self._probe())
        for number in range(len(self._flows)):
            self._at(self._chance.random() * 0.01, partial(self._send, number))
        if self._udp_bps:
            self._at(0.0, self._send_udp)
        while self._events and self._events[0][0] < whole_s + 3.0:
            self._now, _, event = heapq.heappop(self._events)
            event()
        return self.seen

    def _at(self, when: float, event: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._events, (when, self._order, event))

    def _probe(self) -> None:
        self._enter(_Packet(PROBES, PROBE_BYTES, self._now))
        if self._now + PROBE_S < self._end_s:
            self._at(self._now + PROBE_S, self._probe)

    def _send_udp(self) -> None:
        self._enter(_Packet(UDP, BYTES, self._now))
        if self._now < self._end_s:
            self._at(self._now + 8 * BYTES / self._udp_bps, self._send_udp)

    def _send(self, number: int) -> None:
        flow = self._flows[number]
        while flow.flying < int(flow.window) and self._now < self._end_s:
            flow.flying += 1
            self._enter(_Packet(number, BYTES, self._now))

    @property
    def _fair(self) -> bool:
        return self._queue.discipline in ("fq", "fq-codel")

    def _enter(self, packet: _Packet) -> None:
        packet.came = self._now
        if self._held + packet.size > self._queue.limit_bytes:
            if not self._fair:
                return self._dropped(packet)
            # As fq_codel does: of the flow that has most.
            fattest = max(self._waiting, key=lambda one: sum(held.size for held in self._waiting[one]))
            gone = self._waiting[fattest].popleft()
            self._held -= gone.size
            self._dropped(gone)
        key = packet.flow if self._fair else 0
        held = self._waiting.setdefault(key, deque())
        if not held and key not in self._turns:
            # A flow that had nothing waiting comes first.
            if self._fair:
                self._turns.appendleft(key)
            else:
                self._turns.append(key)
        held.append(packet)
        self._held += packet.size
        if not self._busy:
            self._leave()
        return None

    def _leave(self) -> None:
        packet = self._next()
        if packet is None:
            self._busy = False
            return
        self._busy = True
        took = self._takes(packet.size)
        self._at(self._now + took, lambda: self._left(packet, took))

    def _takes(self, size: int) -> float:
        if not self._queue.bucket_bytes:
            return 8 * size / self._queue.rate_bps
        filled = (self._now - self._filled) * self._queue.rate_bps / 8
        self._tokens, self._filled = min(self._queue.bucket_bytes, self._tokens + filled), self._now
        missing = max(0.0, size - self._tokens)
        took = 8 * missing / self._queue.rate_bps
        self._tokens, self._filled = self._tokens + missing - size, self._now + took
        return took

    def _next(self) -> _Packet | None:
        while self._turns:
            key = self._turns[0]
            held = self._waiting[key]
            if not held:
                self._turns.popleft()
                continue
            packet = held.popleft()
            self._held -= packet.size
            if self._fair:
                # Deficit round robin: 1500 bytes of each flow in turn.
                self._credit[key] = self._credit.get(key, BYTES) - packet.size
                if self._credit[key] <= 0:
                    self._credit[key] += BYTES
                    self._turns.rotate(-1)
            if self._queue.discipline in ("codel", "fq-codel"):
                codel = self._codel.setdefault(key, _CoDel())
                if codel.drops(self._now - packet.came, not held, self._now):
                    self._dropped(packet)
                    continue
            return packet
        return None

    def _left(self, packet: _Packet, took: float) -> None:
        if self._now >= self._ramp_s and self._now < self._end_s and packet.flow != PROBES:
            self.seen.arrived_bytes += packet.size
            self._count_parts(packet.size, took)
        if packet.flow == PROBES:
            self.seen.probes.append((packet.sent, self._now - packet.sent))
        elif packet.flow >= 0:
            self._at(self._now + self._trip, lambda: self._answered(packet))
        self._leave()

    def _count_parts(self, size: int, took: float) -> None:
        span = (self._end_s - self._ramp_s) / PARTS
        until = (self._now - self._ramp_s) / span
        begun = max(until - took / span, 0.0)
        for part in range(int(begun), min(int(until), PARTS - 1) + 1):
            share = (min(until, part + 1) - max(begun, part)) / (until - begun) if until > begun else 1.0
            self.seen.arrived_parts[part] += share * size

    def _answered(self, packet: _Packet) -> None:
        flow = self._flows[packet.flow]
        flow.flying -= 1
        flow.trip += (self._now - packet.sent - flow.trip) / 8
        self.seen.round_trips.append((self._now, flow.trip))
        flow.acknowledged(self._now)
        self._send(packet.flow)

    def _dropped(self, packet: _Packet) -> None:
        if packet.flow == PROBES:
            self.seen.lost_probes += 1
        elif packet.flow >= 0:
            self.seen.retransmitted += 1
            self._at(self._now + self._trip + 8 * self._held / self._queue.rate_bps, lambda: self._missed(packet))

    def _missed(self, packet: _Packet) -> None:
        flow = self._flows[packet.flow]
        flow.flying -= 1
        flow.lost(self._now)
        self._send(packet.flow)


def arrived_bps(seen: Seen, seconds: float) -> float:
    """Of the load."""
    return 8 * seen.arrived_bytes / seconds
