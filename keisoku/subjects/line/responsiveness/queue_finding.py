"""The queue of one direction over all rounds: how long, how full, of which kind, and where. It does no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import combined
from keisoku.language import phrase
from keisoku.subjects.line.responsiveness.condition import OVERLOADS, Condition, Way
from keisoku.subjects.line.responsiveness.kind import LOSS_BASED, Before, Evidence, QueueKind, before, kind
from keisoku.subjects.line.responsiveness.outcome import FULL_BYTES, Outcome
from keisoku.subjects.line.responsiveness.place import Added, added
from keisoku.subjects.line.responsiveness.queue import Depth, Floor, depth

LONG_WAIT = 0.95
KINDS: dict[QueueKind, str] = {
    "none": phrase("no noticeable queue"),
    "drop-tail": phrase("drop-tail: it drops when it is full"),
    "aqm": phrase("active queue management: it drops long before it is full"),
    "fair-queueing": phrase("fair queueing: each flow waits in a queue of its own"),
    "not told": phrase("its kind is not known"),
}
BEFORE: dict[Before, str] = {
    "line": phrase("a line that sends bit by bit"),
    "shaper": phrase("a shaper, which lets single packets pass at once"),
    "not told": "",
}


@dataclass
class QueueFinding:
    """The queue of one direction."""

    kind: QueueKind
    before: Before
    hop: int | None
    """TTL of the hop that it is in front of; None: not told."""
    figures: dict[str, Quantity]
    added: dict[int, Quantity] = field(default_factory=dict)
    """What the load added at each hop, beyond the hop before."""
    not_offered: bool = False
    not_full: bool = False


def queue_finding(rounds: Mapping[Condition, Sequence[Outcome]], floor: Floor, way: Way) -> QueueFinding | None:
    """None if this direction was never loaded, or nothing came through."""
    loaded = [one for one in rounds.get(way, ()) if one.settled.any()]
    if not loaded:
        return None
    overloads = rounds.get(OVERLOADS[way], ())
    stood = [floor.waits(one, way)[one.settled] for one in loaded]
    reached = [float(np.quantile(floor.waits(one, way), LONG_WAIT)) for one in loaded]
    idle_ns = float(np.median(np.concatenate([one.round_trips_ns for one in rounds["idle"]])))
    carried_bps = float(np.median([one.rates_bps.get(way, 0.0) for one in loaded]))
    depths = [found for one in overloads if (found := depth(floor, one, way, carried_bps)) is not None]
    full = [one for one in depths if one.full]
    rate_bps = float(np.median([one.rate_bps for one in depths] or [carried_bps]))
    packet_ns = 8e9 * FULL_BYTES / rate_bps if rate_bps else 0.0
    # A packet of the load is itself sent, which a short one of the idle path is not.
    own_less_ns = idle_ns + packet_ns
    own = [float(np.median(one.own_ns[way])) - own_less_ns for one in loaded if len(one.own_ns.get(way, ()))]
    figures = {
        "stood": combined([_ns(float(np.median(one))) for one in stood], least=0.0),
        "stood_bytes": combined(
            [_bytes(float(np.median(one)), of, way) for one, of in zip(stood, loaded, strict=True)], least=0.0
        ),
        "reached": combined([_ns(one) for one in reached], least=0.0),
    }
    if own:
        figures["loading_flows"] = combined([_ns(one) for one in own], least=0.0)
    places = _places(rounds, way)
    hop = _hop(places)
    if hop is not None:
        figures["hop"] = Quantity(value=hop, unit="", uncertainty=0.0)
    more = [one.long_more_ns[way] for one in rounds["idle"] if way in one.long_more_ns]
    more_bytes = max((one.long_more_bytes for one in rounds["idle"]), default=0)
    evidence = Evidence(
        stood_ns=float(np.median([np.median(one) for one in stood])),
        reached_ns=float(np.median(reached)),
        depth_ns=float(np.median([one.waits_ns for one in full or depths])) if depths else None,
        full=bool(full),
        own_ns=float(np.median(own)) if own else 0.0,
        packet_ns=packet_ns,
        lost=sum(one.retransmitted.get(way, 0) for one in loaded) > 0,
        loss_based=all(one.congestion in LOSS_BASED for one in loaded),
    )
    verdict = kind(evidence)
    if depths and verdict not in ("none", "fair-queueing"):
        # There, what probes waited is not the length of the queue of the others.
        figures |= _depth_figures(depths)
    return QueueFinding(
        kind=verdict,
        before=before(min(more) if more else None, more_bytes, rate_bps),
        hop=hop,
        figures=figures,
        added=_added_figures(places),
        not_offered=bool(overloads) and not depths,
        not_full=bool(depths) and not full and verdict == "not told",
    )


def _depth_figures(depths: Sequence[Depth]) -> dict[str, Quantity]:
    def figure(one: Depth, unit: str, factor: float) -> Quantity:
        if not one.full:
            return Quantity(value=max(one.least_ns, 0.0) * factor, unit=unit, bound="at least")
        return Quantity(
            value=one.length_ns * factor, unit=unit, uncertainty=one.packet_ns / 2 * factor, covers="resolution"
        )

    return {
        "length": combined([figure(one, "ns", 1.0) for one in depths]),
        "length_bytes": combined([figure(one, "byte", one.rate_bps / 8e9) for one in depths]),
        "drains": combined([Quantity(value=one.rate_bps, unit="bit/s") for one in depths]),
    }


def _places(rounds: Mapping[Condition, Sequence[Outcome]], way: Way) -> list[Added]:
    """By round, under the load that added more."""
    idle = rounds["idle"]
    found = [[added(idle, one) for one in rounds.get(name, ())] for name in (way, OVERLOADS[way])]
    return max(found, key=lambda ones: float(np.median([one.whole_ns for one in ones])) if ones else -np.inf)


def _hop(places: Sequence[Added]) -> int | None:
    """The one that most rounds say."""
    said = [one.hop for one in places]
    known = [hop for hop in said if hop is not None]
    most = max(known, key=known.count, default=None)
    return most if most is not None and 2 * known.count(most) > len(said) else None


def _added_figures(places: Sequence[Added]) -> dict[int, Quantity]:
    hops = sorted({ttl for one in places for ttl in one.by_hop})
    values = {ttl: [one.by_hop[ttl] for one in places if ttl in one.by_hop] for ttl in hops}
    return {ttl: combined([_ns(value) for value in found]) for ttl, found in values.items()}


def _ns(value: float) -> Quantity:
    return Quantity(value=value, unit="ns")


def _bytes(wait_ns: float, of: Outcome, way: Way) -> Quantity:
    return Quantity(value=wait_ns * of.rates_bps.get(way, 0.0) / 8e9, unit="byte")
