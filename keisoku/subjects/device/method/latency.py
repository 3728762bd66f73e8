"""Latency: RFC 2544 §26.2 (one tagged frame in each trial), and the latency of every frame of the same trials."""

from __future__ import annotations

from collections.abc import Generator

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import joined, phrase
from keisoku.subjects.device.analysis import repeatability
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.latency_figures import latency_figures
from keisoku.subjects.device.method.repetitions import at_full_speed, device_slowdown, out_of_reach, repetition, slowed
from keisoku.subjects.device.method.search import EVENLY, NO_LOAD_PASSES, throughput_of
from keisoku.subjects.device.method.setting import Setting
from keisoku.subjects.device.plan.settings import LatencySettings
from keisoku.subjects.device.record.trial import Trial, TrialRecord
from keisoku.subjects.device.record.validity import shortfalls, why_invalid

LOWERED = 3
"""How often the load of a size is lowered because the tester falls short of it."""


def latency(setting: Setting) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'offered' (frames/s), and 'min', 'mean', 'max', 'p50', 'p99', 'p99.9', 'pdv' and 'tagged', in ns.

    These are FIFO: from transmit timestamp to receive timestamp. Where the link has a rate, the mean is given by all
    four definitions, 'fifo', 'lifo', 'filo' and 'lilo': RFC 8238 §2.3 demands FILO and forbids LIFO, which RFC 1242
    §3.8 asks for where the device is store-and-forward. Means are over all frames of all trials, except 'tagged': the
    average of the tagged frames, which is what RFC 2544 reports.
    """
    rows, remarks = [], []
    below: list[int] = []
    for size in setting.plan.frame_bytes:
        given = setting.fps(setting.plan.of(LatencySettings).rate_fps, size)
        rate = given or (yield from throughput_of(setting, size))
        if rate == 0:
            rows.append(Row(frame_bytes=size, figures={}, remark=NO_LOAD_PASSES))
            continue
        first = rate
        records = yield from _trials(setting, size, rate)
        for _ in range(0 if given else LOWERED):
            if any(record.valid for record in records) or not _fell_short(records[-1]):
                break
            rate = EVENLY * min(rate, records[-1].offered_fps)
            records = yield from _trials(setting, size, rate)
        if rate != first:
            below.append(size)
        rows.append(_row(setting, records))
    if below:
        remarks.append(
            phrase(
                "{size} byte: measured below the throughput, because the tester could not offer it again",
                size=", ".join(map(str, below)),
            )
        )
    plan = setting.plan
    if setting.capabilities.link_bits_per_second is None:
        remarks.append(
            phrase("The link has no rate, so a frame has no duration: FIFO, LIFO, FILO and LILO latency are equal.")
        )
    return Result(
        measurement="latency",
        rows=rows,
        deviations=deviations.latency(plan) + deviations.rfc2544(plan, setting.capabilities.simulated),
        remarks=remarks,
    )


def _trials(setting: Setting, size: int, rate: float) -> Generator[Trial, TrialRecord, list[TrialRecord]]:
    settings = setting.plan.of(LatencySettings)
    tag = round(rate * settings.tag_after_s)
    records = []
    for number in range(1, settings.repetitions + 1):
        purpose = phrase(
            "latency {number} of {repetitions}, {size} byte", number=number, repetitions=settings.repetitions, size=size
        )
        record = yield from repetition(setting.latency_trial(purpose, size, rate, settings.trial_s, tag=tag))
        records.append(record)
        if out_of_reach(record) or (settings.rate_fps is None and _fell_short(record)):
            break
    return records


def _fell_short(record: TrialRecord) -> bool:
    return bool(shortfalls(record.trial, record.facts))


def _row(setting: Setting, records: list[TrialRecord]) -> Row:
    trial = records[0].trial
    size, rate = trial.frame_bytes, trial.frames_per_second
    usable = at_full_speed([record for record in records if record.valid])
    tracked = [record.facts.tracked for record in usable]
    latencies = [one.latency for one in tracked if one.latency is not None]
    samples = [samples_of(record, record.facts.tracked) for record in usable]
    if not latencies:
        return Row(
            frame_bytes=size,
            figures={},
            remark=joined("; ", why_invalid(records[0])) or phrase("nothing was forwarded"),
        )

    speed = setting.capabilities.link_bits_per_second
    figures = {
        # "columns for the frame size, the rate at which the latency test was run for that frame size, […]"
        "offered": Quantity(value=sum(record.offered_fps for record in usable) / len(usable), unit="frames/s"),
        **latency_figures(
            setting.bias,
            latencies,
            size,
            rate,
            None if setting.plan.mix else speed,
            samples=samples,
            slowdown=device_slowdown(usable),
        ),
    }
    arrived = [one.tagged_latency_ns for one in tracked if one.tagged_latency_ns is not None]
    if arrived:
        value_ns = sum(arrived) / len(arrived)
        scatter = budget.normal(phrase("scatter of single frames"), repeatability.of_single(latencies, len(arrived)))
        figures["tagged"] = setting.bias.corrected(value_ns, size, rate, single_frame=True, own=(scatter,))
    unused = (
        ""
        if len(arrived) == len(records)
        else phrase("{used} of {every} tagged frames can be used", used=len(arrived), every=len(records))
    )
    remark = joined("; ", filter(None, [unused, slowed(usable)]))
    return Row(frame_bytes=size, figures=figures, trial=usable[0].index, remark=remark)
