"""Figures of latency from a histogram of every frame, corrected for the tester, each with its budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from keisoku.ground.frame.rates import frame_time_ns
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.difference import of_difference
from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.ground.statistics.uncertainty import COVERAGE_FACTOR
from keisoku.language import phrase
from keisoku.subjects.device.analysis import repeatability
from keisoku.subjects.device.analysis.definitions import latencies as latencies_of
from keisoku.subjects.device.analysis.histogram import merged
from keisoku.subjects.device.analysis.percentile import bucket_shape, narrowed, percentile
from keisoku.subjects.device.analysis.samples import Sample
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.record.counts import Latency

LINK_TOLERANCE = 1e-4
"""IEEE 802.3 §40.6.1.2.6 and others: a port's clock is accurate to 100 ppm, and so is the duration of a frame."""
SHARED_CORE = 1.6
"""How much longer a core takes while another hardware thread uses it too: 1.4 to 1.8 were measured (docs/guards.md)."""
UNSEEN_SLOWDOWN = 1.015
"""By so much runs differ in what the meter of the core's speed does not see: other guests' use of the memory, a clock
that follows its heat, and whether a run of a second meets a slow spell (docs/guards.md)."""
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9}


def latency_figures(
    bias: Bias,
    latencies: Sequence[Latency],
    frame_bytes: int,
    fps: float,
    link_bits_per_second: float | None = None,
    percents: Mapping[str, float] = PERCENTILES,
    samples: Sequence[Sequence[Sample]] = (),
    slowdown: float = 1.0,
    outputs_ns: Sequence[float] = (),
) -> dict[str, Quantity]:
    """'min', 'mean', 'max', the percentiles named in `percents`, and 'pdv', in ns, over all frames of these trials.

    Each is an estimate of what the device does, so it repeats only within its uncertainty; `samples` are the intervals
    of each trial, from which that is seen as well.

    With a link's rate the mean by all four definitions as well: 'fifo', 'lifo', 'filo' and 'lilo'. 'pdv' is included
    where `percents` has 'p99.9'. `slowdown` is how much longer than at its full speed the core took on which the device
    works. `outputs_ns` are the least latencies of each of several outputs. Raises ValueError for no latencies.
    """

    def single(value_ns: float, own: Sequence[Contribution] = (), steps: float = 1.0) -> Quantity:
        return bias.corrected(value_ns, frame_bytes, fps, single_frame=True, own=own, steps=steps)

    if not latencies:
        raise ValueError("no frame with a latency arrived")
    histograms = [latency.histogram for latency in latencies]
    histogram = merged(histograms)
    minimum = min(latency.min_ns for latency in latencies)
    maximum = max(latency.max_ns for latency in latencies)
    inside = bucket_shape(latencies)
    repeated = len(latencies) > 1 or any(len(trial) > 1 for trial in samples)
    of_mean = repeatability.of_mean([latency.mean_ns for latency in latencies], samples)
    of_mean = math.hypot(of_mean, repeatability.of_tail(latencies))
    scatter = (budget.normal(phrase("repeatability of the mean"), of_mean),) if of_mean or bias.exact else ()
    figures = {
        "min": single(minimum, _of_least(latencies, samples, outputs_ns)),
        "mean": bias.corrected(
            _mean(latencies), frame_bytes, fps, single_frame=False, own=scatter + _of_core(_mean(latencies), slowdown)
        ),
        "max": single(maximum),
    }
    varies = maximum - minimum > bias.resolution_ns
    if varies or not repeated:
        # One observation. No interval would hold how much longer the next one is: of the distribution only this bound
        # is known.
        figures["max"] = observed(figures["max"])
    if not repeated:
        # Nothing shows what the next trial would find.
        known = {name: figures[name] for name in ("min", "mean") if figures[name].covers != "repetitions"}
        figures |= {name: figure.model_copy(update={"covers": "resolution"}) for name, figure in known.items()}
    if link_bits_per_second is not None:
        tolerance = 0.0 if bias.exact else LINK_TOLERANCE
        figures |= _by_definition(figures["mean"], link_bits_per_second, frame_bytes, tolerance)
    for name, percent in percents.items():
        found = percentile(histogram, percent, minimum, maximum, inside)
        if found is not None:
            found = narrowed(found, percent, latencies)
            repeats = repeatability.of_percentile(percent, histograms, latencies, samples)
            own = of_percentile(found.half_width_ns, repeats)
            steps = bias.percentile_share(found.value_ns, fps, latencies)
            figures[name] = single(found.value_ns, own + _of_core(found.value_ns, slowdown, percent), steps)
            if varies and not repeatability.is_reached(percent, latencies, samples):
                figures[name] = observed(figures[name])
    if "p99.9" in figures:
        pdv = _variation(figures["p99.9"], figures["min"], bias)
        figures["pdv"] = pdv.model_copy(update={"covers": of_difference(figures["p99.9"], figures["min"])})
    if varies and not outputs_ns and repeatability.is_of_first_frames(samples, figures["min"].uncertainty):
        figures["min"] = observed(single(minimum))
    return figures


def _of_core(value_ns: float, slowdown: float, percent: float = 0.0) -> tuple[Contribution, ...]:
    """A device of the lab is software: its latency is longer by up to the share by which its core is slower.

    Slow spells decide a percentile as soon as they last for the part of the time that is above it: then it may be that
    of a slow core, or of a fast one. A run that met none says nothing of the next one.
    """
    if slowdown <= 1:
        return ()
    slowdown = max(slowdown, UNSEEN_SLOWDOWN)
    spells = (slowdown - 1) / (SHARED_CORE - 1)
    above = min(1.0, spells / (1 - percent / 100))
    share = max(slowdown - 1, above * (1 - 1 / SHARED_CORE) / 2)
    return (budget.rectangular(phrase("speed of the device's core"), value_ns * share),)


def of_percentile(half_width_ns: float, repeats: float) -> tuple[Contribution, ...]:
    """What the buckets leave uncertain, and how the percentile repeats (a standard uncertainty), in ns."""
    return (
        budget.rectangular(phrase("histogram: place within the bucket"), half_width_ns),
        budget.normal(phrase("repeatability of the percentile"), repeats),
    )


def _of_least(
    latencies: Sequence[Latency], samples: Sequence[Sequence[Sample]], outputs_ns: Sequence[float]
) -> tuple[Contribution, ...]:
    standard = repeatability.of_least(latencies, samples, outputs_ns)
    return (budget.normal(phrase("a longer measurement would find another extreme"), standard),) if standard else ()


def observed(figure: Quantity) -> Quantity:
    """A figure that is what one run happened to show, such as the longest latency of all frames; without an uncertainty
    where the tester's part in it is not known."""
    unknown = {"uncertainty": None, "interval": None, "budget": ()} if figure.covers == "repetitions" else {}
    return figure.model_copy(update={"covers": "observed", **unknown})


def _variation(high: Quantity, low: Quantity, bias: Bias) -> Quantity:
    """D99.9 − Dmin (RFC 5481 §4.2, RFC 8219 §7.3.1): the bias cancels, the scatter of two single frames does not."""
    pdv_ns = high.value - low.value
    if high.uncertainty is None or low.uncertainty is None:
        return Quantity(value=pdv_ns, unit="ns")
    parts = [
        budget.normal(phrase("99.9th percentile"), high.uncertainty / COVERAGE_FACTOR),
        budget.normal("minimum", low.uncertainty / COVERAGE_FACTOR, sensitivity=-1.0),
    ]
    return budget.figure(pdv_ns, "ns", [*parts, *bias.rate.contributions(pdv_ns)])


def _by_definition(mean: Quantity, link_bits_per_second: float, size: int, tolerance: float) -> dict[str, Quantity]:
    """The mean by all four definitions; the frame's duration adds to the uncertainty of LIFO and FILO."""
    found = {}
    for name, value_ns in asdict(latencies_of(mean.value, link_bits_per_second, size)).items():
        added = {"lifo_ns": -1.0, "filo_ns": 1.0}.get(name)
        figure = mean.model_copy(update={"value": value_ns})
        if added is not None and mean.uncertainty is not None:
            half_width_ns = tolerance * frame_time_ns(link_bits_per_second, size)
            frame_time = budget.rectangular(phrase("frame time: rate of the link"), half_width_ns, sensitivity=added)
            figure = budget.figure(value_ns, "ns", (*mean.budget, frame_time))
            figure = figure.model_copy(update={"covers": mean.covers})
        found[name.removesuffix("_ns")] = figure
    return found


def _mean(latencies: Sequence[Latency]) -> float:
    return sum(latency.mean_ns * latency.count for latency in latencies) / sum(latency.count for latency in latencies)
