"""Sources of time compared: the same packets by each source, repetition by repetition, and the clock's part in it.

Every packet has all stamps, so all sources see the same packets. σ²_observed = σ²_true + 2·σ²_t: the part
of a source is predicted from its noise on this host's loopback, and observed as the scatter of its dispersions about
those of the best timestamps available (after Kitaguchi et al., 2002).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics import budget, repeated
from keisoku.ground.statistics.line_fit import POINTS_MIN, fit_line
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import student
from keisoku.language import phrase, plural
from keisoku.subjects.path.clocks.settings import SourceComparisonSettings
from keisoku.subjects.path.packet_pair.minimum_sum import link_capacity
from keisoku.subjects.path.packet_pair.serialisation import serialisation
from keisoku.subjects.path.time_source import SOURCES, Source
from keisoku.subjects.path.train.dispersion import dispersions
from keisoku.subjects.path.train.log import Train, TrainLog
from keisoku.subjects.path.unfinished import unfinished

NAME = "path clocks"
PAIR, LONE = "pair", "lone"
"""Stages of a repetition, whose number follows: 'pair 3'."""
PAIRS, ONE_PACKET = phrase("Packet pairs"), phrase("One packet")
_PER_QUARTILE_RANGE = 1.349


def analyse(
    log: TrainLog, settings: SourceComparisonSettings, noise_ns: Mapping[str, float], ended: bool = True
) -> Result:
    """A row for each source of time and method. `ended`: False for a run that was stopped before its end."""
    by_source = {source: _repetitions(log.trains(source)) for source in SOURCES}
    best: Source = "hardware" if _usable(by_source["hardware"]) else "kernel"
    reference, lone_reference = _gaps(by_source[best]), _lone(by_source[best])
    rows = []
    for source, stages in by_source.items():
        if not _usable(stages):
            continue
        rates = [
            found.bps for trains in stages[PAIR].values() if (found := link_capacity(dispersions(trains))) is not None
        ]
        if rates:
            rows.append(_row(PAIRS, source, rates, _clock_figures(_gaps(stages), reference, noise_ns.get(source))))
        lone = [grown for trains in stages[LONE].values() if (grown := serialisation(trains)) is not None]
        if lone:
            errors = _lone_errors(_lone(stages), lone_reference)
            rows.append(_row(ONE_PACKET, source, [8e9 / grown.ns_per_byte for grown in lone], errors))
    return Result(
        measurement=NAME,
        title=phrase("sources of time on the path to {host}", host=settings.host),
        rows=sorted(rows, key=lambda row: row.group, reverse=True),
        flags=[] if ended else [_unfinished(by_source["kernel"], settings)],
        remarks=[
            plural(
                "{count} repetition of {pairs} pairs; capacity by the lowest delay sums of each",
                "{count} repetitions of {pairs} pairs; capacity by the lowest delay sums of each",
                count=settings.repetitions,
                pairs=settings.pairs,
            ),
            phrase(
                "one packet: least one-way delay against size; on a path of several links it is that of all in series"
            ),
            phrase(
                "the clock's part: predicted (at least) from each source's noise on loopback; "
                "observed against {best} stamps",
                best=best,
            ),
            phrase("rates are of IP packets with their headers; variances are of repetitions"),
            phrase("user timestamps are of a receiver that sleeps until a packet comes, as most programs do"),
        ],
    )


_Stages = dict[str, dict[int, list[Train]]]


def _repetitions(trains: Sequence[Train]) -> _Stages:
    stages: _Stages = {PAIR: {}, LONE: {}}
    for train in trains:
        stage, _, number = train.stage.partition(" ")
        if stage in stages:
            stages[stage].setdefault(int(number), []).append(train)
    return stages


def _unfinished(stages: _Stages, settings: SourceComparisonSettings) -> Flag:
    begun = sorted({*stages[PAIR], *stages[LONE]})
    names = [phrase("repetition {number}", number=number + 1) for number in begun]
    left = settings.repetitions - len(begun)
    more = phrase("{left} of {repetitions} repetitions", left=left, repetitions=settings.repetitions)
    return unfinished(names, [more] if left > 0 else [])


def _usable(stages: _Stages) -> bool:
    return any(train.complete for trains in stages[PAIR].values() for train in trains)


def _gaps(stages: _Stages) -> dict[int, float]:
    """Dispersion in ns by number of train."""
    return {
        train.number: float(train.received_ns[-1] - train.received_ns[0])
        for trains in stages[PAIR].values()
        for train in trains
        if train.complete
    }


def _clock_figures(
    gaps: Mapping[int, float], reference: Mapping[int, float], noise_ns: float | None
) -> dict[str, Quantity]:
    """Scatter of single dispersions, and the clock's part of it as standard deviations."""
    both = [number for number in gaps if number in reference]
    if not both:
        return {}
    ours = np.array([gaps[number] for number in both])
    figures = {"scatter_of_gaps": _spread_quantity(ours)}
    if noise_ns is not None:
        figures["of_clock_predicted"] = Quantity(value=float(np.sqrt(2) * noise_ns), unit="ns")
    errors = ours - np.array([reference[number] for number in both])
    if errors.any():
        figures["of_clock_observed"] = _spread_quantity(errors)
        figures["error_of_gaps"] = _median_quantity(errors)
    scatter = figures["scatter_of_gaps"].value
    for name in ("predicted", "observed"):
        part = figures.get(f"of_clock_{name}")
        if part is not None and scatter > 0:
            figures[f"share_{name}"] = Quantity(value=100 * min((part.value / scatter) ** 2, 1.0), unit="%")
    return figures


def _lone(stages: _Stages) -> dict[int, tuple[int, float]]:
    """IP bytes and delay in ns of packets by themselves, by number of train."""
    return {
        train.number: (train.ip_bytes, float(train.received_ns[0] - train.sent_ns[0]))
        for trains in stages[LONE].values()
        for train in trains
        if train.complete
    }


def _lone_errors(
    delays: Mapping[int, tuple[int, float]], reference: Mapping[int, tuple[int, float]]
) -> dict[str, Quantity]:
    """What the source adds to the delay of each byte, by the medians of each size, and its scatter beside that."""
    both = [number for number in delays if number in reference]
    sizes = np.array([delays[number][0] for number in both])
    errors = np.array([delays[number][1] - reference[number][1] for number in both])
    known = np.unique(sizes)
    if known.size < POINTS_MIN or not errors.any():
        return {}
    medians = np.array([np.median(errors[sizes == size]) for size in known])
    line = fit_line(known, medians)
    rest = errors - medians[np.searchsorted(known, sizes)]
    return {
        "of_clock_observed": _spread_quantity(rest),
        "error_per_byte": Quantity(
            value=line.slope, unit="ns/byte", uncertainty=student(known.size - 2) * line.slope_error
        ),
    }


def _median_quantity(values: NDArray[np.float64]) -> Quantity:
    """Median, with the standard error of one of so many normal values."""
    spread = _spread_quantity(values).value
    return Quantity(
        value=float(np.median(values)), unit="ns", uncertainty=2 * 1.2533 * spread / float(np.sqrt(len(values)))
    )


def _spread_quantity(values: NDArray[np.float64]) -> Quantity:
    """Robust standard deviation, with the standard error of one from so many normal values."""
    low, high = np.quantile(values, [0.25, 0.75])
    spread = float(high - low) / _PER_QUARTILE_RANGE
    # The quartile range of n normal values has a relative standard error of about 1.17/√n.
    return Quantity(value=spread, unit="ns", uncertainty=2 * 1.17 * spread / float(np.sqrt(len(values))))


def _row(group: str, source: Source, rates: Sequence[float], more: Mapping[str, Quantity]) -> Row:
    rates_mbps = [rate / 1e6 for rate in rates]
    mean = statistics.fmean(rates_mbps)
    if len(rates_mbps) < 2:
        # What is left of a run that was stopped: one repetition has no variance.
        return Row(case=source, figures={"mean": Quantity(value=mean, unit="Mb/s"), **more}, group=group)
    variance = budget.variance(rates_mbps, "(Mb/s)²")
    figures = {
        "mean": budget.mean(rates_mbps, "Mb/s"),
        # It does not cover single repetitions that a busy host disturbed.
        "median": repeated.combined([Quantity(value=rate, unit="Mb/s") for rate in rates_mbps]),
        "variance": variance,
        "coefficient_of_variation": Quantity(value=math.sqrt(variance.value) / mean if mean else 0.0, unit=""),
        **more,
    }
    return Row(case=source, figures=figures, group=group)
