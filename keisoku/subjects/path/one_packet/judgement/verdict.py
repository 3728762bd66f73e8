"""Conclusions from fits and trains of a path together: hidden stages and token buckets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

import numpy as np

from keisoku.language import phrase
from keisoku.subjects.path.one_packet.fit.segment import BITS, Segment, Span, rate
from keisoku.subjects.path.one_packet.judgement.train import Dispersion

HIDDEN_RATIO = 1.25
"""One link of the one-packet rate would spread a train by this factor more than was seen: n equal stages do by n."""
BUCKET_RATIO = 1.6
"""A bucket spreads a train by this factor more than all links, processors and replies explain."""
COALESCED_NS = 150_000.0
"""What interrupt coalescing may take away from the time of a train: adaptive drivers wait no longer."""
PACKET_NS = 12_000.0
"""What the processor of a host or router may take for a packet, even if small ones passed faster."""
FASTER = 1.1
"""If even the slowest train passes faster than one link of the hop's rate could, by this factor, it is none. What
shortens a train are gathered interrupts and a delayed first packet, which are counted apart, and packets lost in it."""
OPPOSITE = 0.25
"""A hop and the next one differ between out and back by as much, one way and the other, if the sum of both differences
is below this share of the first."""
NOISES = 3.0
"""A difference counts from so many times the delay that one in ten single packets met."""

Kind = Literal["one-stage", "hidden-stages", "slow-router", "token-bucket", "not-serialising", "not-checked"]


@dataclass(frozen=True)
class PathVerdict:
    """How the links up to a hop take a packet."""

    kind: Kind
    stages: int = 1
    """Equal stages that would explain it, at least."""
    stage_rate: float | None = None
    """bit/s of each of those, or what a bucket sustains at most."""
    why: str = ""
    shared_rate: float | None = None
    """bit/s each way if its router takes longer above 512 bytes; None: the way back is not surely the faster one, or a
    train shows that the way out is as slow as that."""


def verdicts(
    found: Sequence[Segment],
    trains: Mapping[int, Dispersion],
    delay_ns: Mapping[int, float],
    kinked: Collection[int],
) -> list[PathVerdict]:
    """One for each segment, in order.

    `delay_ns` is the delay above the minimum that one in ten single packets to a hop met; `kinked` are hops whose
    slope changes with the size.
    """
    result: list[PathVerdict] = []
    explained = _Explained()
    for segment, following in zip_longest(found, found[1:]):
        train = trains.get(segment.last_hop)
        noise = NOISES * delay_ns.get(segment.last_hop, 0.0)
        explained = explained.with_segment(segment)
        verdict = _verdict(segment, train, explained, noise, segment.last_hop in kinked)
        if verdict.kind != "hidden-stages" and segment.last_hop not in kinked:
            bucket = verdict.kind == "token-bucket"  # its train says nothing of the link
            slow = None if bucket else _slow_router(segment, following, train, noise)
            verdict = slow or replace(verdict, shared_rate=_shared_rate(segment, None if bucket else train, noise))
        if verdict.kind == "token-bucket" and result and found[len(result) - 1].last_hop not in trains:
            verdict = replace(verdict, why=phrase("or an earlier hop, to which no train was answered"))
        result.append(verdict)
        if train is not None:
            explained = replace(explained, seen_ns=max(explained.seen_ns, train.shortest_ns))
    return result


@dataclass(frozen=True)
class _Explained:
    """What links up to a hop make of a train."""

    slope: float = 0.0
    """ns/byte of the slowest link, at most."""
    slope_back: float = 0.0
    seen_ns: float = 0.0
    """Time of a train to an earlier hop."""

    def with_segment(self, segment: Segment) -> _Explained:
        out = segment.forward or segment.both
        # Where the reverse direction is not known it is taken to be like the forward one.
        back = segment.reverse or out
        return replace(
            self,
            slope=max(self.slope, np.inf if out is None else out.upper),
            slope_back=max(self.slope_back, np.inf if back is None else back.upper),
        )

    def longest_ns(self, train: Dispersion) -> float:
        """The longest time that a train should take to a hop."""
        packets = train.packets * PACKET_NS
        sent, back = train.passed_bytes * self.slope, train.back_bytes * self.slope_back
        return max(sent, back, train.small_ns, packets, self.seen_ns)


def _verdict(
    segment: Segment, train: Dispersion | None, explained: _Explained, noise_ns: float, kinked: bool
) -> PathVerdict:
    out = segment.forward or segment.both
    if out is None or not np.isfinite(out.half_width):
        return PathVerdict("not-checked", why=phrase("its slope is not known"))
    if train is None:
        return PathVerdict("not-checked", why=phrase("no train to it was answered"))
    if not train.limited_by_sender and train.shortest_ns > BUCKET_RATIO * explained.longest_ns(train) + noise_ns:
        return PathVerdict("token-bucket", stage_rate=train.upper)
    if (one := rate(out)) is None:
        if _sure(segment):
            return PathVerdict("not-serialising", why=phrase("no train showed a limit"))
        return PathVerdict("not-checked", why=phrase("its slope is not significant"))
    if segment.has_silent_hops:
        return PathVerdict("not-checked", why=phrase("it is several hops"))
    if segment.forward is None:
        return PathVerdict("not-checked", why=phrase("only the sum of both directions is known"))
    if kinked:
        return PathVerdict("not-checked", why=phrase("its slope is not that of a link"))
    alone_ns = train.passed_bytes * _shared_slope(segment.forward, segment.reverse)
    if alone_ns > HIDDEN_RATIO * train.span_ns + COALESCED_NS + noise_ns:
        return PathVerdict("hidden-stages", stages=max(2, round(train.rate / one.value)), stage_rate=train.rate)
    if train.limited_by_sender:
        return PathVerdict("not-checked", why=phrase("this host sent its trains no faster than they arrived"))
    own_ns = train.passed_bytes * segment.forward.lower
    if train.span_ns > HIDDEN_RATIO * own_ns:
        return PathVerdict("not-checked", why=phrase("an earlier hop is slower"))
    # Whether two stages, whose train takes half as long, would have been seen.
    two_seen_ns = HIDDEN_RATIO * own_ns / 2 + COALESCED_NS + noise_ns
    if own_ns < two_seen_ns:
        why = phrase("it is too fast for the trains, or this host too late with their replies")
        return PathVerdict("not-checked", why=why)
    if alone_ns < two_seen_ns:
        why = phrase("the way back seems to be faster, or is not known well enough")
        return PathVerdict("not-checked", why=why)
    return PathVerdict("one-stage")


def _shared_slope(forward: Span, reverse: Span | None) -> float:
    """What a byte of a lone packet surely takes on the way out, in ns.

    A router that takes longer above 512 bytes adds as much to the forward slope as it takes from the reverse one,
    because replies grow up to about there: their mean stays as it is. Stages of layer 2 hold packets of both ways.
    """
    if reverse is None:
        return forward.lower
    return min(forward.value, (forward.value + reverse.value) / 2) - (forward.value - forward.lower)


def _slow_router(
    segment: Segment, following: Segment | None, train: Dispersion | None, noise_ns: float
) -> PathVerdict | None:
    """A router that takes longer above 512 bytes, if not only its way out seems to be slower than the way back.

    No train is as slow as the way out seems to be. Or the next hop, whose packets the router only hands on, seems to be
    as much faster on the way out than on the way back: both slopes of this router are taken from its own.
    """
    if not _slower_out(segment) or segment.forward is None:
        return None
    if train is not None and not train.limited_by_sender:
        slowest_ns = train.passed_bytes * BITS / train.lower
        if train.passed_bytes * segment.forward.lower > FASTER * slowest_ns + COALESCED_NS + noise_ns:
            return PathVerdict("slow-router", stage_rate=train.rate, why=phrase("a train passes faster than that"))
    here, there = segment.apart, None if following is None else following.apart
    if here is None or there is None or there.upper >= 0 or abs(here.value + there.value) > OPPOSITE * here.value:
        return None
    why = phrase("the next hop seems to be as much faster on the way out than on the way back")
    return PathVerdict("slow-router", why=why)


def _slower_out(segment: Segment) -> bool:
    """Whether the way out is surely slower than the way back, as behind a router that takes longer above 512 bytes."""
    return segment.apart is not None and segment.apart.lower > 0


def _shared_rate(segment: Segment, train: Dispersion | None, noise_ns: float) -> float | None:
    """As `PathVerdict.shared_rate`."""
    if not _slower_out(segment) or segment.forward is None or segment.reverse is None:
        return None
    both = segment.forward.value + segment.reverse.value
    if train is not None:
        own_ns, shared_ns = train.passed_bytes * segment.forward.value, train.passed_bytes * both / 2
        near_ns = (FASTER - 1) * own_ns + COALESCED_NS + noise_ns
        if abs(train.span_ns - own_ns) < near_ns < own_ns - shared_ns:
            return None
    return 2 * BITS / both if both > 0 else None


def _sure(segment: Segment) -> bool:
    """The slope is known well enough to say that there is none: below what a link of 2 Gb/s would add."""
    span = segment.forward or segment.both
    return span is not None and np.isfinite(span.upper) and span.upper < 4.0
