"""From probes to minima: the samples of each (probe length, reply length), with mixed paths taken out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.path.one_packet.probe import HopProbe

LOWEST = 16
"""One round trip out of this number is taken to have met no queue."""


@dataclass(frozen=True)
class HopSamples:
    """All usable round trips of one hop, by (probe length L, reply length R)."""

    hop: int
    replier: str
    sizes: NDArray[np.float64]
    """L of each cell, IP bytes."""
    replies: NDArray[np.float64]
    """R of each cell, IP bytes."""
    samples: tuple[NDArray[np.float64], ...]
    """Round trips of each cell in ns, ascending."""
    sent: int
    answered: int
    mixed: int
    """Replies left out because they came from another address, or over another return path, than most."""
    others: dict[str, int] = field(default_factory=dict)
    """How many of those came from where: an address, and the TTL of the reply where the address is the same."""
    user_stamps: int = 0
    """Probes of which an end was stamped by the program instead of the kernel."""

    @property
    def minima(self) -> NDArray[np.float64]:
        """Smallest round trips of each cell, ns: queueing only ever adds."""
        return np.array([floor(cell) for cell in self.samples])

    @property
    def repeats(self) -> int:
        """Round trips in the cell that has the fewest."""
        return min((cell.size for cell in self.samples), default=0)


def floor(ascending: NDArray[np.float64]) -> float:
    """The minimum in ns; of many repeats the mean of the smallest sixteenth, as one odd early stamp must not count."""
    return float(ascending[: 1 + ascending.size // LOWEST].mean())


def low(ascending: NDArray[np.float64], level: float) -> float:
    """The quantile `level` of a cell's round trips in ns; at level 0 what `floor` takes for the minimum.

    As one probe is under way at a time, how long it waits does not depend on its own length: every quantile then has
    the slope of the minimum. Where a host is late by tens of µs with nearly every packet, hardly any probe meets the
    minimum, and a low quantile is known far better.
    """
    return float(np.quantile(ascending, level)) if level else floor(ascending)


def hop_samples(probes: Iterable[HopProbe]) -> list[HopSamples]:
    """For every hop that answered single probes, ascending; hops that never did are not in the list.

    One path is kept: of the pairs (replier, TTL of the reply) of a hop the most frequent; the others are counted.
    """
    by_hop: dict[int, list[HopProbe]] = {}
    for probe in probes:
        if probe.train is None:
            by_hop.setdefault(probe.hop, []).append(probe)
    found = [_samples(hop, of_hop) for hop, of_hop in sorted(by_hop.items())]
    return [samples for samples in found if samples is not None]


def _samples(hop: int, probes: list[HopProbe]) -> HopSamples | None:
    answered = [probe for probe in probes if probe.answered]
    if not answered:
        return None
    ways = Counter((probe.replier, probe.reply_ttl) for probe in answered)
    kept_way = ways.most_common(1)[0][0]
    kept = [probe for probe in answered if (probe.replier, probe.reply_ttl) == kept_way]
    cells: dict[tuple[int, int], list[int]] = {}
    for probe in kept:
        if probe.rtt_ns is not None and probe.reply_bytes is not None:
            cells.setdefault((probe.size_bytes, probe.reply_bytes), []).append(probe.rtt_ns)
    keys = sorted(cells)
    return HopSamples(
        hop=hop,
        replier=str(kept_way[0]),
        sizes=np.array([size for size, _ in keys], dtype=np.float64),
        replies=np.array([reply for _, reply in keys], dtype=np.float64),
        samples=tuple(np.sort(np.array(cells[key], dtype=np.float64)) for key in keys),
        sent=len(probes),
        answered=len(answered),
        mixed=len(answered) - len(kept),
        others=dict(_others(ways, kept_way).most_common()),
        user_stamps=sum(probe.stamps == "user" for probe in kept),
    )


def _others(ways: Counter[tuple[str | None, int | None]], kept: tuple[str | None, int | None]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (replier, reply_ttl), count in ways.items():
        if (replier, reply_ttl) != kept:
            found[f"{replier} (reply TTL {reply_ttl})" if replier == kept[0] else str(replier)] += count
    return found
