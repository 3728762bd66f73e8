"""Latency: RFC 2544 §26.2 (one tagged frame a trial) and of every frame of the same trials (E3)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict

from keisoku.analysis import budget
from keisoku.analysis.definitions import latencies as latencies_of
from keisoku.analysis.histogram import merged
from keisoku.analysis.percentile import percentile
from keisoku.analysis.rates import frame_time_ns
from keisoku.analysis.uncertainty import COVERAGE_FACTOR
from keisoku.method import deviations
from keisoku.method.search import RETRIES, throughput_of
from keisoku.method.setting import Setting
from keisoku.record.counts import Latency
from keisoku.record.result import Quantity, Result, Row
from keisoku.record.trial import Trial, TrialRecord

LINK_TOLERANCE = 1e-4
"""IEEE 802.3 §40.6.1.2.6 and others: a port's clock is right within 100 ppm, and so is the time of a frame."""
PERCENTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9}


def latency(setting: Setting) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'offered' (frames/s), and 'min', 'mean', 'max', 'p50', 'p99', 'p99.9', 'pdv' and 'tagged', in ns.

    These are FIFO: stamp on transmit to stamp on receive. Where the link has a rate, the mean is given by all four
    definitions, 'fifo', 'lifo', 'filo' and 'lilo': RFC 8238 §2.3 demands FILO and forbids LIFO, which RFC 1242 §3.8
    asks for where the device stores frames first.
    Means are over all frames of all trials, except 'tagged': the average of the tagged frames, which is what
    RFC 2544 reports.
    """
    rows, remarks = [], []
    for size in setting.plan.frame_bytes:
        rate = setting.plan.latency.rate_fps or (yield from throughput_of(setting, size))
        if rate == 0:
            rows.append(Row(frame_bytes=size, figures={}, remark="no load passes without loss: latency not measured"))
            continue
        records = yield from _trials(setting, size, rate)
        rows.append(_row(setting, records))
        lost = sum(record.facts.tracked.lost_frames for record in records)
        if lost:
            remarks.append(f"{size} byte: {lost} frames were lost in the latency trials")
    plan = setting.plan
    if setting.capabilities.link_bits_per_second is None:
        remarks.append("The link has no rate and a frame no length in time: FIFO, LIFO, FILO and LILO latency are one.")
    return Result(
        method="latency",
        rows=rows,
        deviations=deviations.latency(plan) + deviations.rfc2544(plan, setting.capabilities.simulated),
        remarks=remarks,
    )


def _trials(setting: Setting, size: int, rate: float) -> Generator[Trial, TrialRecord, list[TrialRecord]]:
    settings = setting.plan.latency
    tag = round(rate * settings.tag_after_s)
    records = []
    for number in range(1, settings.trials + 1):
        for _ in range(RETRIES):
            record = yield setting.trial(
                f"latency {number} of {settings.trials}, {size} byte", size, rate, settings.trial_s, tag=tag
            )
            if record.valid:
                break
        records.append(record)
    return records


def _row(setting: Setting, records: list[TrialRecord]) -> Row:
    trial = records[0].trial
    size, rate = trial.frame_bytes, trial.frames_per_second
    usable = [record for record in records if record.valid]
    measured = [record.facts.tracked.latency for record in usable]
    latencies = [latency for latency in measured if latency is not None]
    if not latencies:
        return Row(
            frame_bytes=size,
            figures={},
            remark="; ".join(records[0].invalid_because) or "nothing was forwarded",
        )

    def single(value_ns: float) -> Quantity:
        return setting.bias.corrected(value_ns, size, rate, single_frame=True)

    histogram = merged([latency.histogram for latency in latencies])
    minimum = min(latency.min_ns for latency in latencies)
    maximum = max(latency.max_ns for latency in latencies)
    figures = {
        # "columns for the frame size, the rate at which the latency test was run for that frame size, […]"
        "offered": Quantity(value=sum(record.offered_fps for record in usable) / len(usable), unit="frames/s"),
        "min": single(minimum),
        "mean": setting.bias.corrected(
            _mean(latencies),
            size,
            rate,
            single_frame=False,
            repeatability=budget.repeatability(
                "repeatability of the trials' means", [latency.mean_ns for latency in latencies]
            ),
        ),
        "max": single(maximum),
    }
    speed = setting.capabilities.link_bits_per_second
    if speed is not None and not setting.plan.mix:
        figures |= _by_definition(figures["mean"], speed, size, 0.0 if setting.bias.exact else LINK_TOLERANCE)
    for name, percent in PERCENTILES.items():
        found = percentile(histogram, percent, minimum, maximum)
        if found is not None:
            figures[name] = single(found.value_ns)
    if "p99.9" in figures:
        # D99.9 − Dmin (RFC 5481 §4.2, RFC 8219 §7.3.1): the bias cancels, two frames' spreads do not.
        high, low = figures["p99.9"], figures["min"]
        pdv_ns = high.value - low.value
        figures["pdv"] = Quantity(value=pdv_ns, unit="ns")
        if high.uncertainty is not None and low.uncertainty is not None:
            parts = [
                budget.normal("99.9th percentile", high.uncertainty / COVERAGE_FACTOR),
                budget.normal("minimum", low.uncertainty / COVERAGE_FACTOR, sensitivity=-1.0),
            ]
            figures["pdv"] = budget.figure(pdv_ns, "ns", [*parts, *setting.bias.rate.contributions(pdv_ns)])
    tagged = [record.facts.tracked.tagged_latency_ns for record in usable]
    arrived = [value for value in tagged if value is not None]
    if arrived:
        figures["tagged"] = single(sum(arrived) / len(arrived))
    remark = "" if len(arrived) == len(records) else f"{len(arrived)} of {len(records)} tagged frames can be used"
    return Row(frame_bytes=size, figures=figures, trial=usable[0].index, remark=remark)


def _by_definition(mean: Quantity, link_bits_per_second: float, size: int, tolerance: float) -> dict[str, Quantity]:
    """The mean by all four definitions; LIFO and FILO are as much less sure as the time of a frame."""
    found = {}
    for name, value_ns in asdict(latencies_of(mean.value, link_bits_per_second, size)).items():
        added = {"lifo_ns": -1.0, "filo_ns": 1.0}.get(name)
        figure = mean.model_copy(update={"value": value_ns})
        if added is not None and mean.uncertainty is not None:
            half_width_ns = tolerance * frame_time_ns(link_bits_per_second, size)
            frame_time = budget.rectangular("frame time: rate of the link", half_width_ns, sensitivity=added)
            figure = budget.figure(value_ns, "ns", (*mean.budget, frame_time))
        found[name.removesuffix("_ns")] = figure
    return found


def _mean(latencies: list[Latency]) -> float:
    return sum(latency.mean_ns * latency.count for latency in latencies) / sum(latency.count for latency in latencies)
