"""RFC 8219 §7.2: typical and worst-case latency of every frame in the part of the stream that the RFC tags."""

from __future__ import annotations

import math
from collections.abc import Generator

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis import repeatability
from keisoku.subjects.device.analysis.percentile import bucket_shape, narrowed, percentile
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.latency_figures import of_percentile
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.repetitions import (
    corrected_percentile,
    error_of_median,
    repeat,
    spoiled,
    summary,
)
from keisoku.subjects.device.method.rows import rows_by_size
from keisoku.subjects.device.procedure.rfc8219 import deviations as rfc8219_deviations
from keisoku.subjects.device.procedure.rfc8219.settings import DelaySettings
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

_TAGS = 500
"""§7.2: "Identifying tags SHOULD be included in at least 500 frames after 60 seconds"."""
_FIGURES = {"typical": 50.0, "worst_case": 99.9}
"""§7.2: TL = Median(Li), WCL = L99.9thPercentile."""


def delay(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'typical' and 'worst_case' (ns), medians of all trials, each with '_p1' and '_p99' of them."""
    settings = inputs.plan.settings_of(DelaySettings)
    found = _deviations(inputs)

    def row(size: int, rate: float) -> Generator[Trial, TrialRecord, Row]:
        tag = round(rate * settings.tag_after_s)
        records = yield from repeat(inputs, "delay", size, rate, settings.trial_s, settings.repetitions, tag=tag)
        fewest = min((_tagged(record) for record in records if record.valid), default=_TAGS)
        if fewest < _TAGS:
            found.append(
                plural(
                    "RFC 8219 §7.2: only {count} frame of {size} byte was tagged in a trial, not {tags}",
                    "RFC 8219 §7.2: only {count} frames of {size} byte were tagged in a trial, not {tags}",
                    count=fewest,
                    size=size,
                    tags=_TAGS,
                )
            )
        return _row(inputs, records)

    rows = yield from rows_by_size(inputs, settings.rate_fps, row)
    return Result(measurement="delay", rows=rows, deviations=found)


def _row(inputs: MethodInput, records: list[TrialRecord]) -> Row:
    size = records[0].trial.frame_bytes
    usable = [record for record in records if record.valid and _tagged(record) > 0]
    if not usable:
        remark = join_texts("; ", why_invalid(records[0])) or phrase("no frame was forwarded after the tag")
        return Row(frame_bytes=size, figures={}, remark=remark)
    figures = {"offered": Quantity(value=usable[0].offered_fps, unit="frames/s")}
    measured = [record.facts.tracked for record in usable]
    histograms = [one.latency_since_tag for one in measured if one.latency_since_tag is not None]
    latencies = [one.latency for one in measured if one.latency is not None]
    samples = [samples_of(record, record.facts.tracked) for record in usable]
    for name, percent in _FIGURES.items():
        known = [
            narrowed(found, percent, [one], (histogram.negative + sum(histogram.counts)) / one.count)
            for histogram, one in zip(histograms, latencies, strict=True)
            if (found := percentile(histogram, percent, one.min_ns, one.max_ns, bucket_shape([one]))) is not None
        ]
        if not known:
            continue
        # Of all trials together; a single trial repeats less well.
        error = repeatability.of_percentile(percent, histograms, latencies, samples) * math.sqrt(len(known))
        half_width_ns = max(one.half_width_ns for one in known)
        values = summary([one.value_ns for one in known])
        errors = error_of_median(len(known), error), error, error
        for suffix, value_ns, own in zip(("", "_p1", "_p99"), values, errors, strict=True):
            contributions = of_percentile(half_width_ns, own)
            figures[name + suffix] = corrected_percentile(inputs, value_ns, contributions, usable[0].trial, latencies)
    return Row(frame_bytes=size, figures=figures, trial=usable[0].index, remark=spoiled(records))


def _tagged(record: TrialRecord) -> int:
    since = record.facts.tracked.latency_since_tag
    return since.negative + sum(since.counts) if since is not None else 0


def _deviations(inputs: MethodInput) -> list[str]:
    used, standard = inputs.plan.settings_of(DelaySettings), DelaySettings()
    found = [deviations.FIFO]
    found += rfc8219_deviations.delay(inputs, "§7.2", used.trial_s, standard.trial_s, used.repetitions, used.rate_fps)
    if used.tag_after_s < standard.tag_after_s:
        found.append(
            phrase(
                "RFC 8219 §7.2: frames are tagged after {tag_after_s:g} s instead of 60 s", tag_after_s=used.tag_after_s
            )
        )
    return found


PROCEDURE = Procedure(
    name="delay",
    title=phrase("Typical and worst-case latency"),
    standard="RFC 8219 §7.2",
    summary="Typical and worst-case latency: median and 99.9th percentile of every frame after 60 s, over 20 trials.",
    settings=DelaySettings,
    generator=delay,
    figure="typical",
    units={"frames/s": "offered", "ns": "typical typical_p1 typical_p99 worst_case worst_case_p1 worst_case_p99"},
    example="keisoku delay --dut lab:bridge --size 64 --rate 50kpps --repetitions 3 --duration 2s --waits 0.1s",
    sizes="rfc8219",
    searches=True,
    over_two_hosts="latencies",
    is_steady=True,
    bounds_throughput=True,
    lossless="RFC 8219 §7.2",
)
