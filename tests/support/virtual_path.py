"""A path of routers in virtual time with known truth: what one-packet estimators and campaigns are tested on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from keisoku.path.one_packet.wire import HopPacket, HopReply

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
class VirtualHop:
    """The link to a router and the router. Rates in bit/s; `stages` equal store-and-forward stages make the link."""

    forward: float = 100e6
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
    """(rate, burst bytes): a shaper instead of a link."""
    icmp_code: int | None = None
    """Answers what should pass on with this 'destination unreachable'."""
    address: str = ""
    others: Sequence[str] = ()
    """Answers from these addresses at times, over a longer way."""
    extra_above: tuple[int, float] | None = None
    """(bytes, ns/byte): the router takes longer for what is longer than so much."""

    def out_ns(self, size: int) -> float:
        return 0.0 if self.bucket else self.stages * 8e9 * size / self.forward

    def back_ns(self, size: int) -> float:
        return 0.0 if self.bucket else self.stages * 8e9 * size / (self.reverse or self.forward)

    def wait_ns(self, chance: random.Random) -> float:
        """What a packet waits in an M/D/1 queue: a geometric number of residual services (Pollaczek and Khinchine)."""
        load, size = self.cross
        waited = 0.0
        while chance.random() < load:
            waited += chance.random() * 8e9 * size / self.forward
        return waited


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
    ) -> None:
        """`wake_ns`: mean by which a busy host is late with each reply; hardly ever by nothing, as one measured was."""
        self.hops, self.mtu_bytes, self.jitter_ns, self.loss, self.stall = list(hops), mtu, jitter_ns, loss, stall
        for number, hop in enumerate(self.hops, 1):
            hop.address = hop.address or f"10.0.{number}.1"
        self.destination = self.hops[-1].address
        self.tight_mtu, self.wake_ns = tight_mtu, wake_ns
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
        free: dict[int, float] = {}
        spent: dict[int, float] = {}
        back_free: dict[int, float] = {}
        for place, packet in enumerate(packets):
            self.sent_bytes += packet.size_bytes
            sent = self.now + 2_000 * place
            reply = self._carry(packet, sent, free, spent, back_free)
            if reply.rtt_ns is None or reply.rtt_ns > timeout_ns:
                reply, slowest = HopReply(sent_ns=sent), float(timeout_ns)
            else:
                slowest = max(slowest, sent + reply.rtt_ns - self.now)
            replies.append(reply)
        self.now += round(slowest)
        return replies

    def _carry(
        self,
        packet: HopPacket,
        sent: int,
        free: dict[int, float],
        spent: dict[int, float],
        back_free: dict[int, float],
    ) -> HopReply:
        size, when = packet.size_bytes, float(sent)
        if self.random.random() < self.loss:
            return HopReply(sent)
        for number, hop in enumerate(self.hops, 1):
            if hop.bucket is not None:
                spent[number] = spent.get(number, 0.0) + size
                over = max(0.0, spent[number] - hop.bucket[1])
                when = max(when, sent + 8e9 * over / hop.bucket[0])
            for stage in range(hop.stages):
                key = number * 100 + stage
                when = max(when, free.get(key, 0.0)) + 8e9 * size / hop.forward * (hop.bucket is None)
                free[key] = when
            when += hop.propagation_ns + hop.wait_ns(self.random)
            if self.random.random() < hop.busy:
                when += self.random.random() * 12_000e9 / hop.forward
            last = number == len(self.hops)
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
                return self._answer(number, size, sent, when, code, back_free)
        raise AssertionError("the last hop answers")

    def _answer(
        self, number: int, size: int, sent: int, when: float, code: tuple[int, int, int], back_free: dict[int, float]
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
        for back in reversed(self.hops[:number]):
            when += back.back_ns(reply) + back.propagation_ns
        # Replies of one router queue behind each other at the slowest link of the way back.
        slowest = max(back.back_ns(reply) for back in self.hops[:number])
        when = max(when, back_free.get(number, 0.0) + slowest)
        back_free[number] = when
        when += self.random.expovariate(1 / self.jitter_ns) if self.jitter_ns else 0.0
        if self.wake_ns:
            # As measured on two loaded cores: 4 % under a third of the median, one in ten above 1.7 of it.
            when += max(0.0, self.random.gauss(0.75, 0.25) * self.wake_ns) + self.random.expovariate(4 / self.wake_ns)
        if self.random.random() < self.stall:
            when += self.random.uniform(2e6, 5e7)
        return HopReply(sent, round(when - sent), reply, address, ttl, *code)
