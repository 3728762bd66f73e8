"""Kinds of trains (size and length): what each says of the capacity, which kind says most, and how long trains may be.

A longer train shows a clock's noise less, and other traffic more: all of its packets must meet no queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution
from keisoku.language import phrase
from keisoku.subjects.path.packet_pair.minimum_sum import CHECK, LOWEST, LinkCapacity, link_capacity
from keisoku.subjects.path.train.dispersion import Dispersions, dispersions
from keisoku.subjects.path.train.log import Train

NOISE_SHARE = 0.005
"""Relative standard deviation of a rate that timestamps may cause; above it packets or trains get longer."""
MOST_BULK = 17
FREE_TRAINS = 4 * LOWEST
"""Trains that must be expected to meet no queue, of all that may be sent."""
STAMPS_SCATTER = 1.5
"""Trains that scatter by more than this multiple of what stamps explain were mixed with other packets."""
OF_STAMPS = 7.0
"""Standard deviations of a stamp that a delay may exceed the least of many by and have met no queue: the least is
about 4.5 below the mean."""
USEFUL, USELESS = 0.05, 0.3
"""Relative uncertainty (k = 2) of a capacity: trains are sent until it is below the first; one above the second is not
given."""


@dataclass(frozen=True)
class TrainGroup:
    """All trains of one size and length, and what they say."""

    kind: tuple[int, int]
    """IP bytes of a packet, and packets."""
    spread: Dispersions
    capacity: LinkCapacity
    clock_share: float | None
    """Relative standard deviation that timestamp noise adds to a single train's rate; None: not known."""

    @property
    def uncertainty(self) -> float:
        """Of the capacity, relative (k = 2)."""
        parts = contributions(self.capacity, self.clock_share)
        return 2 * budget.standard_uncertainty(parts) / self.capacity.bps


def of_kind(trains: Sequence[Train], noise_ns: float | None) -> TrainGroup | None:
    """Of trains of one kind; None if too few came whole."""
    spread = dispersions(trains)
    found = link_capacity(spread)
    if found is None:
        return None
    share = None if noise_ns is None else clock_share(found.bps, spread.bits, noise_ns)
    return TrainGroup((trains[0].ip_bytes, trains[0].count), spread, found, share)


def best_kind(trains: Sequence[Train], noise_ns: float | None) -> TrainGroup | None:
    """The kind whose capacity is known best; one that was slowed by its sender only where all were."""
    kinds = dict.fromkeys((train.ip_bytes, train.count) for train in trains)
    found = [
        one
        for kind in kinds
        if (one := of_kind([train for train in trains if (train.ip_bytes, train.count) == kind], noise_ns)) is not None
    ]
    return min(found, key=lambda one: (one.capacity.limited_by_sender, one.uncertainty), default=None)


def contributions(found: LinkCapacity, clock: float | None) -> list[Contribution]:
    """Of a capacity's uncertainty, in bit/s. The stamps' part counts once: the median is of few trains."""
    parts = [budget.normal(phrase("scatter of the trains with the lowest delay sum"), found.error_bps)]
    if clock is not None:
        parts.append(budget.normal(phrase("stamps (√2·σ_t of the dispersion)"), clock * found.bps, "B"))
    # What was still queued in the best train widens or narrows its dispersion by as much at most.
    parts.append(
        budget.rectangular(phrase("queueing that delayed every train"), max(found.check_excess, 0.0) * found.bps)
    )
    # Where some trains passed undisturbed those of low sum are alike but for their stamps; else none did.
    if found.low_scatter > STAMPS_SCATTER * (clock or 0.0):
        between = found.low_shift + found.low_scatter
        parts.append(budget.normal(phrase("other packets between those of a train"), between * found.bps))
    return parts


def clock_share(bps: float, bits: float, noise_ns: float) -> float:
    """Relative standard deviation of a rate from its stamps: √2·σ_t·C/bits."""
    return float(np.sqrt(2) * noise_ns * 1e-9 * bps / bits)


def best_length(found: LinkCapacity, ip_bytes: int, noise_ns: float) -> int:
    """Packets of a train that keeps the stamps' share of a rate small enough."""
    needed = np.sqrt(2) * noise_ns * 1e-9 * found.bps / (8 * ip_bytes * NOISE_SHARE)
    return int(np.clip(np.ceil(needed), 1, MOST_BULK - 1)) + 1


def free_length(pairs: TrainGroup, ip_bytes: int, trains: int) -> int:
    """Packets of the longest train of which enough, of so many, can be expected to meet no queue; at least 2.

    Other packets that come at random leave a stretch of time free with a chance that falls exponentially with its
    length; pairs show how much of it is left after one dispersion of theirs.
    """
    spread, gap_ns = pairs.spread, pairs.spread.bits / pairs.capacity.bps * 1e9
    noise_ns = (pairs.clock_share or 0.0) * gap_ns / np.sqrt(2)
    # A delay that stamps alone could make is no queue.
    small = max(CHECK * gap_ns, OF_STAMPS * noise_ns)
    first, last = spread.first_ns, spread.last_ns
    first_free = float((first <= first.min() + small).mean())
    whole_free = float((first + last <= first.min() + last.min() + 2 * small).mean())
    if whole_free == 0:
        return 2
    each = min(whole_free / first_free, 1.0) ** (8 * ip_bytes / spread.bits)
    expected = trains * first_free * each ** np.arange(1, MOST_BULK)
    return 2 + int((expected[1:] >= FREE_TRAINS).sum())
