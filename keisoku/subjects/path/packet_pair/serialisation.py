"""How often a packet is stored and forwarded on its way: the growth of its least delay with its size.

Each of n links holds a packet of L bytes for 8·L/C: the delay of a lone packet grows by 8·Σ1/C a byte. Divided by the
narrowest link's 8/C from dispersion it gives the number of such links. It cannot exceed the number of IP hops,
unless there are hidden stages of layer 2 (Prasad, Dovrolis, Mah 2003).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics.seed import DEFAULT
from keisoku.ground.statistics.uncertainty import deviation
from keisoku.subjects.path.train.log import Train
from keisoku.subjects.path.train.skew import skew

INITIAL_TTLS = (64, 128, 255)
MARGIN = 0.25
"""Number of links beyond the IP hops from which on hidden stages are reported."""
LEAST_SIZES = 4
TOGETHER = 0.5
"""Of the time that the narrow link takes for a packet: of two packets that were stamped with less between them, the
second had already arrived when the program, or the card's interrupt, took the first."""
_DRAWS = 200


@dataclass(frozen=True)
class Serialisation:
    """Delay of a lone packet per byte, with its standard uncertainty."""

    ns_per_byte: float
    error_ns_per_byte: float
    sizes: int
    span_bytes: int
    """From the shortest packets to the longest."""

    def links(self, capacity_bps: float) -> float:
        """Number of links of the narrowest one's rate that would delay a packet as long as all links do."""
        return self.ns_per_byte * capacity_bps / 8e9

    def links_error(self, capacity_bps: float, capacity_error_bps: float) -> float:
        """Standard uncertainty of the number of links as far as the packets' scatter shows it."""
        relative = np.hypot(self.error_ns_per_byte / self.ns_per_byte, capacity_error_bps / capacity_bps)
        return float(self.links(capacity_bps) * relative)

    def excess_ns(self, links: int, capacity_bps: float) -> float:
        """By how much more than the shortest the longest packets are delayed than so many links explain, in ns."""
        return (self.ns_per_byte - links * 8e9 / capacity_bps) * self.span_bytes


def taken_alone(trains: Sequence[Train], capacity_bps: float) -> list[Train]:
    """Trains whose first packet was stamped before the second one can have arrived, of sizes of which most were so.

    A receiver that is woken once for a whole train stamps its first packet when the last one is there: the delay then
    grows with the length of the train, and not with that of a packet.
    """
    by_size: dict[int, list[Train]] = {}
    for train in trains:
        by_size.setdefault(train.ip_bytes, []).append(train)
    alone = {size: [train for train in found if _alone(train, capacity_bps)] for size, found in by_size.items()}
    return [train for size, found in alone.items() if 2 * len(found) > len(by_size[size]) for train in found]


def _alone(train: Train, capacity_bps: float) -> bool:
    first_ns, second_ns = train.received_ns[:2]
    return bool(first_ns > 0 and second_ns - first_ns >= TOGETHER * 8e9 * train.ip_bytes / capacity_bps)


def serialisation(trains: Sequence[Train]) -> Serialisation | None:
    """From first packets of trains of several sizes in one direction; None if there are too few sizes or no growth."""
    usable = [train for train in trains if train.sent_ns[0] > 0 and train.received_ns[0] > 0]
    if not usable:
        return None
    sent = np.array([train.sent_ns[0] for train in usable], np.int64)
    delays = np.array([train.received_ns[0] for train in usable], np.int64) - sent
    sizes = np.array([train.ip_bytes for train in usable])
    times = (sent - sent[0]).astype(float)
    # Sizes are mixed in time, so what grows with time at each size is the clocks' difference.
    kept = (delays - delays.min()).astype(float)
    level = {size: np.median(kept[sizes == size]) for size in np.unique(sizes)}
    flat = kept - np.array([level[size] for size in sizes])
    kept = kept - skew(times, flat) * times
    by_size = {int(size): kept[sizes == size] for size in np.unique(sizes)}
    if len(by_size) < LEAST_SIZES:
        return None
    random = np.random.default_rng(DEFAULT)
    slope = _slope({size: float(found.min()) for size, found in by_size.items()})
    drawn = [
        _slope({size: float(random.choice(found, len(found)).min()) for size, found in by_size.items()})
        for _ in range(_DRAWS)
    ]
    return Serialisation(slope, deviation(drawn), len(by_size), max(by_size) - min(by_size)) if slope > 0 else None


def ip_links(trains: Sequence[Train]) -> int | None:
    """IP links on the way, from the TTL of what arrived, whose first value is taken to be the next usual one above."""
    ttls = [train.ttl for train in trains if train.ttl]
    if not ttls:
        return None
    ttl = int(np.median(ttls))
    return next(initial for initial in INITIAL_TTLS if initial >= ttl) - ttl + 1


def _slope(least: Mapping[int, float]) -> float:
    """Median of all pairs' slopes (Theil, Sen): one size that always queued does not move it."""
    sizes, delays = np.array(list(least)), np.array(list(least.values()))
    one, other = np.triu_indices(len(sizes), 1)
    return float(np.median((delays[other] - delays[one]) / (sizes[other] - sizes[one])))
