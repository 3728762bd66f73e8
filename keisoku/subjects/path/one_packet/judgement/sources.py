"""Sources of time compared for the one-packet method: the same probes by each source, repetition by repetition.

Every probe has all timestamps, so all sources see the same packets. A repetition is some of the repeats of every size;
the result is the variance of its rate, as Kitaguchi et al. (2002) tabulate it. The clock's part is predicted from each
source's noise on loopback.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from keisoku.ground.run.result import Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase, plural
from keisoku.subjects.path.one_packet.fit.segment import BITS, SLOWEST_COPY
from keisoku.subjects.path.one_packet.judgement.path import fit_path
from keisoku.subjects.path.one_packet.probe import HopProbe, by_source
from keisoku.subjects.path.time_source import SOURCES

GROUP = phrase("Source of time")
REPETITIONS, LEAST_REPETITIONS = 10, 5
REPEATS = 4
"""Of every size in a repetition, at least."""


def repetitions(probes: Sequence[HopProbe]) -> list[list[HopProbe]]:
    """Single probes dealt out to up to ten repetitions, each size as often in each; none if there are too few."""
    answered: Counter[tuple[int, int]] = Counter()
    numbered: list[tuple[int, HopProbe]] = []
    for probe in probes:
        if probe.train is None and probe.answered:
            numbered.append((answered[probe.hop, probe.size_bytes], probe))
            answered[probe.hop, probe.size_bytes] += 1
    count = min(REPETITIONS, min(answered.values(), default=0) // REPEATS)
    if count < LEAST_REPETITIONS:
        return []
    dealt: list[list[HopProbe]] = [[] for _ in range(count)]
    for number, probe in numbered:
        if number // REPEATS < count:
            dealt[number // REPEATS].append(probe)
    return dealt


def source_rows(probes: Sequence[HopProbe], noise_ns: Mapping[str, float]) -> list[Row]:
    """A row for each source and segment: mean and variance of the forward rate over the repetitions.

    `noise_ns` is the standard deviation of one stamp by source.
    """
    dealt = repetitions(probes)
    rows = []
    for source in SOURCES if dealt else ():
        rates: dict[int, list[float]] = {}
        gains: dict[int, float] = {}
        for one in dealt:
            for segment in fit_path(by_source(one, source)).segments:
                if segment.forward is not None and segment.forward.value >= SLOWEST_COPY:
                    rates.setdefault(segment.last_hop, []).append(BITS / segment.forward.value / 1e6)
                    gains[segment.last_hop] = segment.forward_gain
        for hop, found in sorted(rates.items()):
            if len(found) >= LEAST_REPETITIONS:
                rows.append(
                    _row(
                        phrase("hop {hop}, {source}", hop=hop, source=source),
                        np.array(found),
                        gains[hop],
                        noise_ns.get(source),
                    )
                )
    return sorted(rows, key=lambda row: row.case.partition(",")[0])


def _row(name: str, rates: np.ndarray[tuple[int, ...], np.dtype[np.float64]], gain: float, noise: float | None) -> Row:
    figures = {
        "mean": budget.mean(rates.tolist(), "Mb/s"),
        "variance": budget.variance(rates.tolist(), "(Mb/s)²"),
    }
    if noise is not None:
        # A round trip has two stamps; d(8/s) = 8/s² ds, with s = 8000/mean in ns per byte.
        mean, variance = figures["mean"].value, figures["variance"].value
        spread = mean**2 / 8000 * gain * noise * float(np.sqrt(2))
        figures["clock_predicted"] = Quantity(value=spread**2, unit="(Mb/s)²")
        if variance > 0:
            figures["clock_share"] = Quantity(value=100 * min(spread**2 / variance, 1.0), unit="%")
    return Row(
        case=name,
        figures=figures,
        group=GROUP,
        remark=plural("{count} repetition", "{count} repetitions", count=rates.size),
    )
