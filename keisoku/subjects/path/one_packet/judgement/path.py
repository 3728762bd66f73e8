"""Everything that is computed of a path: fits, differences, verdicts. `analysis` makes the result of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.subjects.path.one_packet.fit.minimum import HopSamples, hop_samples
from keisoku.subjects.path.one_packet.fit.segment import HopFit, Segment, fit_hops, segments
from keisoku.subjects.path.one_packet.judgement.kink import Kink, kink_of, straightened, unseen_above
from keisoku.subjects.path.one_packet.judgement.quoting import Quoting, classify
from keisoku.subjects.path.one_packet.judgement.train import Dispersion, dispersions
from keisoku.subjects.path.one_packet.judgement.verdict import PathVerdict, verdicts
from keisoku.subjects.path.one_packet.probe import HopProbe

WORTH = 0.01
"""Share of a slope that is worth a word."""


@dataclass(frozen=True)
class Unseen:
    """By how much a router may take longer above 512 bytes unseen."""

    more: float
    """ns per byte."""
    of_way_back: bool
    """That holds only if the way back is no slower than the way out: it is what the way out seems to be slower."""


@dataclass(frozen=True)
class PathFit:
    """All that was computed of a path, for the answer and for plots."""

    hops: list[HopSamples]
    fits: list[HopFit]
    segments: list[Segment]
    verdicts: list[PathVerdict]
    trains: dict[int, Dispersion]
    quoting: dict[int, Quoting]
    kinks: dict[int, Kink]
    """By hop."""
    slower: set[int]
    """Hops whose router takes longer for longer packets, which is in their slopes: as it takes none of it for packets
    that it hands on, the slopes of the next hop have the opposite of it."""
    unseen: dict[int, Unseen]
    """By hop: by how much its router may take longer above 512 bytes unseen, where that is worth a word."""


def fit_path(probes: Sequence[HopProbe]) -> PathFit:
    """Computes the fits, the differences between hops, and the verdicts from trains.

    A change of slope is its router's own, and in no difference to the next hop: it is taken out.
    """
    hops = hop_samples(probes)
    fits = fit_hops(hops)
    apart = {segment.last_hop: segment.apart for segment in segments(fits)}
    kinks = {hop.samples.hop: kink for hop in fits if (kink := kink_of(hop, apart[hop.samples.hop])) is not None}
    placed = {hop: kink for hop, kink in kinks.items() if kink.placed}
    found = segments([straightened(hop, placed[hop.samples.hop]) if hop.samples.hop in placed else hop for hop in fits])
    trains = dispersions(probes)
    quoting = {
        samples.hop: classify(samples.sizes.astype(int).tolist(), samples.replies.astype(int).tolist())
        for samples in hops
    }
    delays = {hop.samples.hop: _delay_ns(hop.samples) for hop in fits}
    judged = verdicts(found, trains, delays, set(kinks))
    said = {
        one.last_hop
        for one, verdict in zip(found, judged, strict=True)
        if verdict.kind == "slow-router" or verdict.shared_rate is not None
    }
    unseen = _unseen([hop for hop in fits if hop.samples.hop not in said | set(kinks)], found)
    slow = {one.last_hop for one, verdict in zip(found, judged, strict=True) if verdict.kind == "slow-router"}
    slow |= {hop for hop, kink in kinks.items() if not kink.placed and kink.change.value > 0}
    return PathFit(hops, fits, found, judged, trains, quoting, kinks, slow, unseen)


def _unseen(hops: Sequence[HopFit], found: Sequence[Segment]) -> dict[int, Unseen]:
    """As `PathFit.unseen`: more than the interval of the forward slope and `WORTH` of it."""
    segment_to = {segment.last_hop: segment for segment in found}
    unseen = {}
    for hop in hops:
        segment = segment_to.get(hop.samples.hop)
        if segment is None or segment.forward is None:
            continue
        one = Unseen(unseen_above(hop), False)
        # Such a router makes the ways differ by twice what it adds.
        if segment.apart is not None and 0 < segment.apart.upper / 2 < one.more:
            one = Unseen(segment.apart.upper / 2, True)
        if one.more > max(segment.forward.half_width, WORTH * abs(segment.forward.value)):
            unseen[hop.samples.hop] = one
    return unseen


def _delay_ns(samples: HopSamples) -> float:
    """What one in ten single packets was delayed by, above the minimum of its size."""
    return float(np.quantile(np.concatenate([cell - cell[0] for cell in samples.samples]), 0.9))
