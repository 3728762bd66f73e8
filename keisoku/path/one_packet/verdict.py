"""Conclusions from fits and trains of a path together: hidden stages and token buckets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from keisoku.language import phrase
from keisoku.path.one_packet.segment import Segment, Span, rate
from keisoku.path.one_packet.train import Dispersion

HIDDEN_RATIO = 1.25
"""One link of the one-packet rate would spread a train by this factor more than was seen: n equal stages do by n."""
BUCKET_RATIO = 1.6
"""A bucket spreads a train by this factor more than all links, processors and replies explain."""
COALESCED_NS = 150_000.0
"""What interrupt coalescing may take away from the time of a train: adaptive drivers wait no longer."""
PACKET_NS = 12_000.0
"""What the processor of a host or router may take for a packet, even if small ones passed faster."""
NOISES = 3.0
"""A difference counts from so many times the delay that one in ten single packets met."""

Kind = Literal["one-stage", "hidden-stages", "token-bucket", "not-serialising", "not-checked"]


@dataclass(frozen=True)
class PathVerdict:
    """How the links up to a hop take a packet."""

    kind: Kind
    stages: int = 1
    """Equal stages that would explain it, at least."""
    stage_rate: float | None = None
    """bit/s of each of those, or what a bucket sustains at most."""
    why: str = ""


def verdicts(
    found: Sequence[Segment], trains: Mapping[int, Dispersion], delay_ns: Mapping[int, float], kinked: Collection[int]
) -> list[PathVerdict]:
    """One for each segment, in order.

    `delay_ns` is the delay above the minimum that one in ten single packets to a hop met; `kinked` are hops whose slope
    is not that of a link.
    """
    result: list[PathVerdict] = []
    explained = _Explained()
    for segment in found:
        train = trains.get(segment.last_hop)
        noise = NOISES * delay_ns.get(segment.last_hop, 0.0)
        explained = explained.with_segment(segment)
        result.append(_verdict(segment, train, explained, noise, segment.last_hop in kinked))
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
    if segment.joined:
        return PathVerdict("not-checked", why=phrase("it is several hops"))
    if segment.forward is None:
        return PathVerdict("not-checked", why=phrase("only the sum of both directions is known"))
    if kinked:
        return PathVerdict("not-checked", why=phrase("its slope is not that of a link"))
    alone_ns = train.passed_bytes * _shared_slope(segment.forward, segment.reverse)
    if alone_ns > HIDDEN_RATIO * train.span_ns + COALESCED_NS + noise_ns:
        return PathVerdict("hidden-stages", stages=max(2, round(train.rate / one.value)), stage_rate=train.rate)
    if train.span_ns > HIDDEN_RATIO * alone_ns:
        return PathVerdict("not-checked", why=phrase("an earlier hop is slower"))
    if alone_ns < 2 * (COALESCED_NS + noise_ns):
        return PathVerdict("not-checked", why=phrase("it is too fast for the trains"))
    return PathVerdict("one-stage")


def _shared_slope(forward: Span, reverse: Span | None) -> float:
    """What a byte of a lone packet surely takes on the way out, in ns.

    A router that takes longer above 512 bytes adds as much to the forward slope as it takes from the reverse one,
    because replies grow up to about there: their mean stays as it is. Stages of layer 2 hold packets of both ways.
    """
    if reverse is None:
        return forward.lower
    return min(forward.value, (forward.value + reverse.value) / 2) - (forward.value - forward.lower)


def _sure(segment: Segment) -> bool:
    """The slope is known well enough to say that there is none: below what a link of 2 Gb/s would add."""
    span = segment.forward or segment.both
    return span is not None and np.isfinite(span.upper) and span.upper < 4.0
