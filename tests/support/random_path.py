"""Random paths in virtual time, each with what a detector should find on it: beds to measure flags with.

Even seeds are for choosing thresholds; odd ones are withheld, to show what the choice does.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from keisoku.subjects.path.one_packet.probe import HopProbe
from support.virtual_path import Limiter, VirtualHop, VirtualPath, rfc792, rfc1812, whole

M = 1e6
RATES = (5, 10, 20, 50, 100, 100, 200, 500, 1000)
"""Mb/s of links."""
STEP = 1.35
"""Stages are seen where the links before are faster than one packet's rate by this factor."""
SLOWED = 0.5
"""A bucket is seen where it sustains less than this share of the slowest link."""
FASTEST_BUCKET = 200 * M
SLOWER = 1.1
"""A train shows a router that takes longer above 512 bytes where its slope is larger than any link's by this factor."""
BETWEEN_BYTES = 36
"""Single round trips show it where so many bytes of it take longer than the noise: from 512 to where replies stop."""


@dataclass
class RandomPath:
    """A bed: hops, what else its path has, and the truth about it."""

    seed: int
    hops: list[VirtualHop]
    wire: dict[str, Any]
    traits: set[str] = field(default_factory=set)
    """What is on the path: 'bucket', 'stages', 'kink', 'coalescing', 'loss', 'outage', 'limiter', 'cross traffic' …"""
    bucket: int = 0
    """The hop with a token bucket; 0: none."""
    stages: int = 0
    kink: tuple[int, int] = (0, 0)
    """Hop and bytes of a change of slope."""
    limited: tuple[int, ...] = ()
    outages: int = 0
    """The hop whose link is interrupted."""

    def path(self) -> VirtualPath:
        """The path, at its beginning."""
        return VirtualPath(self.hops, seed=self.seed, **self.wire)

    @property
    def bucket_is_narrow(self) -> bool:
        """No link before the bucket, nor its own, would slow a train nearly as much."""
        if not self.bucket:
            return False
        rate, burst = self.hops[self.bucket - 1].bucket or (math.inf, 0.0)
        slowest = min(hop.forward / hop.stages for hop in self.hops[: self.bucket])
        return rate <= min(SLOWED * slowest, FASTEST_BUCKET) and burst <= 40 * self.wire["mtu"]

    @property
    def stages_are_seen(self) -> bool:
        """No slower link lies before the stages, and no bucket hides the difference."""
        if not self.stages or (self.bucket and self.bucket <= self.stages):
            return False
        here = self.hops[self.stages - 1]
        before = min((hop.forward for hop in self.hops[: self.stages - 1]), default=math.inf)
        return before >= STEP * here.forward / here.stages

    @property
    def kink_is_seen(self) -> bool:
        """Where replies grow up to 548 bytes, a change at 512 looks like another reverse slope (`slowed_is_seen`)."""
        return bool(self.kink[0]) and (self.kink[1] > 548 or self.hops[self.kink[0] - 1].quote is not rfc1812)

    @property
    def kink_is_hidden(self) -> bool:
        """A change at 512 bytes where replies grow up to 548: it looks like a faster way back."""
        return bool(self.kink[0]) and self.kink[1] == 512 and not self.kink_is_seen

    @property
    def slowed_is_seen(self) -> bool:
        """Single round trips are late by less, or trains pass faster than the slope says by a tenth at least, which no
        link before nor a bucket hides."""
        if not self.kink_is_hidden:
            return False
        here = self.hops[self.kink[0] - 1]
        slope, extra = 8e9 / here.forward, (here.extra_above or (0, 0.0))[1]
        if BETWEEN_BYTES * extra >= self.wire["jitter_ns"] + self.wire["wake_ns"]:
            return True
        before = min((hop.forward for hop in self.hops[: self.kink[0] - 1]), default=math.inf)
        hidden = here.stages > 1 or 0 < self.bucket <= self.kink[0]
        return not hidden and SLOWER * max(slope, 8e9 / before) <= slope + extra

    def outages_met(self, probes: Sequence[HopProbe]) -> bool:
        """At least four single probes in a row were sent into an interruption."""
        times = [probe.sent_ns for probe in probes if probe.train is None and probe.hop >= self.outages]
        return any(
            sum(begin <= sent_ns < end for sent_ns in times) >= 4 for begin, end in self.hops[self.outages - 1].outages
        )

    def out_bps(self, hop: int) -> float:
        """What one packet sees of the hop on the way out."""
        here = self.hops[hop - 1]
        return here.forward / here.stages


def random_path(seed: int, slow: bool = False) -> RandomPath:
    """A function of the seed; `slow`: of those paths a router takes longer above 512 bytes, whatever else they have."""
    chance = random.Random(f"path {seed}")
    count = chance.randint(1, 5)
    quote = chance.choices((rfc1812, rfc792, whole), (7, 2, 1))[0]
    hops = [
        VirtualHop(
            forward=chance.choice(RATES) * M,
            propagation_ns=10 ** chance.uniform(4, 6.7),
            quote=quote,
            packet_ns=10 ** chance.uniform(2.5, 4),
        )
        for _ in range(count)
    ]
    for hop in hops:
        if chance.random() < 0.2:
            hop.reverse = hop.forward * chance.choice((0.1, 0.3, 3))
    wire = {
        "mtu": chance.choices((1500, 576, 1400, 9000), (7, 1, 1, 1))[0],
        "jitter_ns": 10 ** chance.uniform(2, 4.3),
        "wake_ns": 10 ** chance.uniform(4, 4.8) if chance.random() < 0.2 else 0.0,
        "stall": 0.02 if chance.random() < 0.3 else 0.0,
    }
    bed = RandomPath(seed, hops, wire)
    _shape(bed, chance)
    _disturb(bed, chance)
    if slow:
        _slow(bed, random.Random(f"slow {seed}"))
    return bed


def _shape(bed: RandomPath, chance: random.Random) -> None:
    """Buckets, stages and changes of slope."""
    place = chance.randrange(len(bed.hops))
    if chance.random() < 0.35:
        hop = bed.hops[place]
        if chance.random() < 0.5:
            hop.forward, hop.reverse = math.inf, 0.0
        burst = max(1.1 * bed.wire["mtu"], 10 ** chance.uniform(3.5, 4.7))
        hop.bucket = (chance.choice((1, 2, 5, 10, 20, 50, 100)) * M, burst)
        bed.bucket = place + 1
        bed.traits.add("bucket")
    elif chance.random() < 0.4:
        bed.hops[place].stages = chance.choice((2, 2, 3))
        bed.stages = place + 1
        bed.traits.add("stages")
    if chance.random() < 0.25:
        place = chance.randrange(len(bed.hops))
        edge = chance.choice((512, 1024))
        if edge < bed.wire["mtu"] - 300:
            bed.hops[place].extra_above = (edge, 10 ** chance.uniform(0.5, 2.2))
            bed.kink = (place + 1, edge)
            bed.traits.add("kink")
    if chance.random() < 0.2:
        bed.hops[chance.randrange(len(bed.hops))].coalesce_ns = chance.uniform(20e3, 125e3)
        bed.traits.add("coalescing")
    if chance.random() < 0.2:
        links = [hop for hop in bed.hops if math.isfinite(hop.forward)]
        if links:
            chance.choice(links).cross = (chance.uniform(0.1, 0.6), chance.choice((200, 800, 1500)))
            bed.traits.add("cross traffic")


def _slow(bed: RandomPath, chance: random.Random) -> None:
    """A router that takes longer above 512 bytes, and quotes up to 548, in place of any other change of slope."""
    for hop in bed.hops:
        hop.extra_above, hop.quote = None, rfc1812
    bed.wire["mtu"] = 1500
    place = chance.randrange(len(bed.hops))
    bed.hops[place].extra_above = (512, 10 ** chance.uniform(0.5, 2.2))
    bed.kink = (place + 1, 512)
    bed.traits.add("kink")


def _disturb(bed: RandomPath, chance: random.Random) -> None:
    """Losses by chance, interruptions and limits on replies."""
    if chance.random() < 0.3:
        chance.choice(bed.hops).loss = 10 ** chance.uniform(-3, -1)
        bed.traits.add("loss")
    if chance.random() < 0.2:
        place = chance.randrange(len(bed.hops))
        begins, outages = 0.0, []
        for _ in range(chance.randint(1, 3)):
            begins += chance.uniform(1e9, 8e9)
            outages.append((begins, begins + 10 ** chance.uniform(8.6, 9.6)))
            begins = outages[-1][1]
        bed.hops[place].outages = outages
        bed.outages = place + 1
        bed.traits.add("outage")
    if chance.random() < 0.2:
        interval, burst = round(10 ** chance.uniform(8, 9.3)), chance.choice((1, 3, 6, 10))
        which = [chance.randrange(len(bed.hops))] if chance.random() < 0.5 else range(len(bed.hops))
        for place in which:
            bed.hops[place].limiter = Limiter(interval, burst, tokens_ns=float(burst * interval))
        bed.limited = tuple(place + 1 for place in which)
        bed.traits.add("limiter")
