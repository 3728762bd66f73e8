"""A path of routers in virtual time with known truth: what one-packet estimators and campaigns are tested on."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from keisoku.subjects.path.one_packet.probing.wire import HopPacket, HopReply

NS_PER_S = 1_000_000_000


def rfc1812(size: int) -> int:
    return min(size + 28, 576)


def rfc792(size: int) -> int:
    return 56


def whole(size: int) -> int:
    return size + 28


def rfc4443(size: int) -> int:
    return min(size + 48, 1280)


@dataclass
class Limiter:
    """As in Linux: `burst` tokens, one more each `interval_ns`; a refusal costs nothing."""

    interval_ns: int = NS_PER_S
    burst: int = 6
    tokens_ns: float = field(default=6e9)
    last_ns: int = 0

    def allows(self, now: int) -> bool:
        self.tokens_ns = min(self.tokens_ns + now - self.last_ns, self.burst * self.interval_ns)
        self.last_ns = now
        if self.tokens_ns < self.interval_ns:
            return False
        self.tokens_ns -= self.interval_ns
        return True


@dataclass
class Bucket:
    """A shaper as tbf in Linux: the bytes of a full bucket pass at once, the rest at `rate` bit/s, in order."""

    rate: float
    burst: float
    _tokens: float = math.nan
    _last_ns: float = 0.0

    def leave_ns(self, size: int, arrival_ns: float) -> float:
        start = max(arrival_ns, self._last_ns)
        held = self.burst if math.isnan(self._tokens) else self._tokens
        held = min(self.burst, held + (start - self._last_ns) * self.rate / 8e9)
        wait = max(0.0, (size - held) * 8e9 / self.rate)
        self._tokens, self._last_ns = held + wait * self.rate / 8e9 - size, start + wait
        return self._last_ns


@dataclass
class VirtualHop:
    """The link to a router and the router. Rates in bit/s; `stages` equal store-and-forward stages make the link."""

    forward: float = 100e6
    """Infinite: what does not serialise, such as a veth pair."""
    reverse: float = 0.0
    """0: like forward."""
    stages: int = 1
    propagation_ns: float = 50_000.0
    quote: Callable[[int], int] = rfc1812
    limiter: Limiter | None = None
    silent: bool = False
    busy: float = 0.0
    """Chance that a packet waits on the way out, for up to 1500 bytes."""
    cross: tuple[float, int] = (0.0, 1000)
    """(load, bytes) of Poisson cross traffic on the way out, which each probe finds in its stationary state."""
    bucket: tuple[float, float] | None = None
    """(rate, burst bytes): a shaper behind the link, in both directions."""
    icmp_code: int | None = None
    """Answers what should pass on with this 'destination unreachable'."""
    address: str = ""
    others: Sequence[str] = ()
    """Answers from these addresses at times, over a longer way."""
    extra_above: tuple[int, float] | None = None
    """(bytes, ns/byte): the router takes longer for what is longer than so much."""
    packet_ns: float = 0.0
    """What the router's processor takes for each packet, one after the other."""
    coalesce_ns: float = 0.0
    """The router's interface waits so long after a packet for more, and hands all of them over at once."""
    loss: float = 0.0
    """Chance that a packet is lost on the link, in each direction."""
    outages: Sequence[tuple[float, float]] = ()
    """(from, until) in ns of virtual time: nothing passes the link."""

    def back_ns(self, size: int) -> float:
        return self.stages * 8e9 * size / (self.reverse or self.forward)

    def drops(self, now_ns: float, chance: random.Random) -> bool:
        lost = self.loss > 0 and chance.random() < self.loss
        return lost or any(begin <= now_ns < end for begin, end in self.outages)

    def wait_ns(self, chance: random.Random) -> float:
        """What a packet waits in an M/D/1 queue: a geometric number of residual services (Pollaczek and Khinchine)."""
        load, size = self.cross
        waited = 0.0
        while chance.random() < load:
            waited += chance.random() * 8e9 * size / self.forward
        return waited

    def joined_ns(self, since_ns: float, chance: random.Random) -> float:
        """Service of the cross traffic that came in the time between two packets of a train."""
        load, size = self.cross
        if not load:
            return 0.0
        service = 8e9 * size / self.forward
        came, passed = 0, chance.expovariate(load / service)
        while passed < since_ns:
            came, passed = came + 1, passed + chance.expovariate(load / service)
        return came * service


@dataclass
class _Exchange:
    """What packets that were sent at once leave behind for each other, by place in the path."""

    free: dict[int, float] = field(default_factory=dict)
    came: dict[int, float] = field(default_factory=dict)
    processed: dict[int, float] = field(default_factory=dict)
    woken: dict[int, float] = field(default_factory=dict)
    back_free: dict[int, float] = field(default_factory=dict)


class VirtualPath:
    """A HopWire: the last hop is the host, which answers 'port unreachable'."""

    def __init__(
        self,
        hops: Sequence[VirtualHop],
        mtu: int = 1500,
        jitter_ns: float = 200.0,
        loss: float = 0.0,
        stall: float = 0.0,
        seed: int = 1,
        tight_mtu: int | None = None,
        wake_ns: float = 0.0,
        loop_to: int = 0,
        send_gap_ns: int = 2_000,
    ) -> None:
        """`wake_ns`: mean by which a busy host is late with each reply; hardly ever by nothing, as one measured was.

        `loop_to`: the last router hands packets to the host back to this one (1: the first), so none arrives.
        """
        self.hops, self.mtu_bytes, self.jitter_ns, self.loss, self.stall = list(hops), mtu, jitter_ns, loss, stall
        for number, hop in enumerate(self.hops, 1):
            hop.address = hop.address or f"10.0.{number}.1"
        self.destination = "10.0.99.1" if loop_to else self.hops[-1].address
        self.host = 0 if loop_to else len(self.hops)
        if loop_to:
            self.hops += 256 // (len(self.hops) - loop_to + 1) * self.hops[loop_to - 1 :]
        self.buckets = {
            (number, way): Bucket(*hop.bucket)
            for number, hop in enumerate(self.hops)
            if hop.bucket is not None
            for way in ("out", "back")
        }
        self.tight_mtu, self.wake_ns, self.send_gap_ns = tight_mtu, wake_ns, send_gap_ns
        self.random = random.Random(seed)
        self.now = 0
        self.sent_bytes = 0

    def now_ns(self) -> int:
        return self.now

    def rest(self, until_ns: int) -> None:
        self.now = max(self.now, until_ns)

    def exchange(self, packets: Sequence[HopPacket], timeout_ns: int) -> list[HopReply]:
        assert len({packet.size_bytes for packet in packets}) == len(packets)
        replies, slowest = [], 0.0
        state = _Exchange()
        for place, packet in enumerate(packets):
            self.sent_bytes += packet.size_bytes
            sent = self.now + self.send_gap_ns * place
            reply = self._carry(packet, sent, state)
            if reply.rtt_ns is None or reply.rtt_ns > timeout_ns:
                reply, slowest = HopReply(sent_ns=sent), max(slowest, float(timeout_ns))
            else:
                slowest = max(slowest, sent + reply.rtt_ns - self.now)
            replies.append(reply)
        self.now += round(slowest)
        return replies

    def _carry(self, packet: HopPacket, sent: int, state: _Exchange) -> HopReply:
        size, when = packet.size_bytes, float(sent)
        if self.random.random() < self.loss:
            return HopReply(sent)
        for number, hop in enumerate(self.hops, 1):
            if hop.drops(when, self.random):
                return HopReply(sent)
            when = self._pass(number, hop, size, when, state)
            last = number == self.host
            code: tuple[int, int, int] | None = None
            if not last and self.tight_mtu and size > self.tight_mtu and number == 1:
                code = (3, 4, self.tight_mtu)
            elif not last and packet.ttl > number and hop.icmp_code is not None:
                code = (3, hop.icmp_code, 0)
            elif last:
                code = (3, 3, 0)
            elif packet.ttl == number:
                code = (11, 0, 0)
            if code is not None:
                return self._answer(number, size, sent, when, code, state)
        raise AssertionError("the last hop answers")

    def _pass(self, number: int, hop: VirtualHop, size: int, when: float, state: _Exchange) -> float:
        """When the packet is through the link and handed to the router."""
        for stage in range(hop.stages):
            key = number * 100 + stage
            busy = state.free.get(key, 0.0)
            if key in state.came:
                busy += hop.joined_ns(when - state.came[key], self.random) if stage == 0 else 0.0
            elif stage == 0:
                when += hop.wait_ns(self.random)
            state.came[key] = when
            when = max(when, busy) + 8e9 * size / hop.forward
            state.free[key] = when
        if (bucket := self.buckets.get((number - 1, "out"))) is not None:
            when = bucket.leave_ns(size, when)
        when += hop.propagation_ns
        if self.random.random() < hop.busy:
            when += self.random.random() * 12_000e9 / hop.forward
        if hop.coalesce_ns:
            woken = state.woken.get(number, 0.0)
            if when > woken:
                woken = state.woken[number] = when + hop.coalesce_ns
            when = woken
        when = max(when, state.processed.get(number, 0.0)) + hop.packet_ns
        state.processed[number] = when
        return when

    def _answer(
        self, number: int, size: int, sent: int, when: float, code: tuple[int, int, int], state: _Exchange
    ) -> HopReply:
        hop = self.hops[number - 1]
        if hop.silent or (hop.limiter is not None and not hop.limiter.allows(round(when))):
            return HopReply(sent)
        reply = hop.quote(size)
        address, ttl = hop.address, 64 - number
        if hop.others and self.random.random() < 0.3:
            address, when = self.random.choice(list(hop.others)), when + 700_000
        if hop.extra_above is not None:
            when += max(0, size - hop.extra_above[0]) * hop.extra_above[1]
        for place in reversed(range(number)):
            back = self.hops[place]
            if back.drops(when, self.random):
                return HopReply(sent)
            if (bucket := self.buckets.get((place, "back"))) is not None:
                when = bucket.leave_ns(reply, when)
            when += back.back_ns(reply) + back.propagation_ns
        # Replies of one router queue behind each other at the slowest link of the way back.
        slowest = max(back.back_ns(reply) for back in self.hops[:number])
        when = max(when, state.back_free.get(number, 0.0) + slowest)
        state.back_free[number] = when
        when += self.random.expovariate(1 / self.jitter_ns) if self.jitter_ns else 0.0
        if self.wake_ns:
            # As measured on two loaded cores: 4 % under a third of the median, one in ten above 1.7 of it.
            when += max(0.0, self.random.gauss(0.75, 0.25) * self.wake_ns) + self.random.expovariate(4 / self.wake_ns)
        if self.random.random() < self.stall:
            when += self.random.uniform(2e6, 5e7)
        return HopReply(sent, round(when - sent), reply, address, ttl, *code)
