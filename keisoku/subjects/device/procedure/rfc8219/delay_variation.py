"""RFC 8219 §7.3: packet delay variation and inter-packet delay variation of all frames of a stream."""

from __future__ import annotations

import statistics
from collections.abc import Generator

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis import repeatability
from keisoku.subjects.device.analysis.percentile import Percentile, packet_delay_variation, percentile
from keisoku.subjects.device.analysis.rises import error_of_medians
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.latency_figures import of_percentile
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.repetitions import difference, error_of_median, repeat, spoiled, summary
from keisoku.subjects.device.method.rows import rows_by_size
from keisoku.subjects.device.procedure.rfc8219 import deviations as rfc8219_deviations
from keisoku.subjects.device.procedure.rfc8219.settings import DelayVariationSettings
from keisoku.subjects.device.record.counts import Tracked
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid


def delay_variation(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size, in ns, medians of all trials: 'pdv', 'pdv_p1', 'pdv_p99', 'ipdv_min', 'ipdv_median', 'ipdv_max'.

    IPDV keeps its sign: its distribution is in each trial's record.
    """
    used, standard = inputs.plan.settings_of(DelayVariationSettings), DelayVariationSettings()
    found = rfc8219_deviations.delay(inputs, "§7.3", used.trial_s, standard.trial_s, used.repetitions, used.rate_fps)

    def row(size: int, rate: float) -> Generator[Trial, TrialRecord, Row]:
        records = yield from repeat(
            inputs, phrase("delay variation"), size, rate, used.trial_s, used.repetitions, variation=True
        )
        return _row(inputs, records)

    rows = yield from rows_by_size(inputs, used.rate_fps, row)
    return Result(measurement="delay_variation", rows=rows, deviations=found)


def _row(inputs: MethodInput, records: list[TrialRecord]) -> Row:
    size = records[0].trial.frame_bytes
    usable = [record for record in records if record.valid]
    figures: dict[str, Quantity] = {}
    trials = [_variations(record.facts.tracked) for record in usable]
    for name in ("pdv", "ipdv_min", "ipdv_median", "ipdv_max"):
        values = [trial[name] for trial in trials if name in trial]
        if not values:
            continue
        known_ns = [value.value_ns for value in values]
        median, low, high = summary(known_ns)
        error = _error(name, usable, known_ns)
        if error is None:
            figures[name] = Quantity(value=median, unit="ns")
            continue
        half_width_ns = statistics.fmean(value.half_width_ns for value in values)
        figures[name] = difference(inputs, median, of_percentile(half_width_ns, error), usable[0])
        if name == "pdv":
            own = of_percentile(half_width_ns, error / error_of_median(len(known_ns), 1.0))
            figures["pdv_p1"] = difference(inputs, low, own, usable[0])
            figures["pdv_p99"] = difference(inputs, high, own, usable[0])
    if not figures:
        remark = join_texts("; ", why_invalid(records[0])) or phrase("nothing was forwarded")
        return Row(frame_bytes=size, figures={}, remark=remark)
    figures["offered"] = Quantity(value=usable[0].offered_fps, unit="frames/s")
    return Row(frame_bytes=size, figures=figures, trial=usable[0].index, remark=spoiled(records))


def _error(name: str, records: list[TrialRecord], values_ns: list[float]) -> float | None:
    """Standard error of the median of these trials' figures, in ns; None where nothing shows it."""
    tracked = [record.facts.tracked for record in records]
    if name == "ipdv_median":
        return error_of_medians([own.variation for own in tracked if own.variation is not None], values_ns)
    if name == "pdv":
        latencies = [own.latency for own in tracked if own.latency is not None]
        samples = [samples_of(record, record.facts.tracked) for record in records]
        return error_of_median(len(values_ns), repeatability.of_variation(values_ns, latencies, samples))
    # The extreme of another trial: only trials tell.
    return error_of_median(len(values_ns), repeatability.of_trials(values_ns)) if len(values_ns) > 1 else None


def _variations(tracked: Tracked) -> dict[str, Percentile]:
    found: dict[str, Percentile] = {}
    pdv = packet_delay_variation(tracked.latency) if tracked.latency is not None else None
    if pdv is not None:
        found["pdv"] = pdv
    ipdv = tracked.variation
    if ipdv is not None:
        found["ipdv_min"] = Percentile(ipdv.min_ns, 0.0, 0.0)
        found["ipdv_max"] = Percentile(ipdv.max_ns, 0.0, 0.0)
        median = percentile(ipdv.histogram, 50.0, ipdv.min_ns, ipdv.max_ns)
        if median is not None:
            found["ipdv_median"] = median
    return found


PROCEDURE = Procedure(
    name="delay_variation",
    title=phrase("Delay variation"),
    standard="RFC 8219 §7.3",
    summary="Packet delay variation (PDV) and inter-packet delay variation (IPDV) of all frames, medians of 20 trials.",
    settings=DelayVariationSettings,
    generator=delay_variation,
    figure="pdv",
    units={"frames/s": "offered", "ns": "pdv pdv_p1 pdv_p99 ipdv_min ipdv_median ipdv_max"},
    example="keisoku delay-variation --dut lab:bridge --size 64 --rate 50kpps --repetitions 3 --duration 2s",
    sizes="rfc8219",
    searches=True,
    over_two_hosts="latencies",
    is_steady=True,
    bounds_throughput=True,
    lossless="RFC 8219 §7.3",
)
