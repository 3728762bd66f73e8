"""Latency: RFC 2544 §26.2 (one tagged frame in each trial), and the latency of every frame of the same trials."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from math import inf
from typing import Any

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.report import digits
from keisoku.ground.report.headline import headline
from keisoku.ground.report.sentence import both, ends
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings, not_an_option
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis import repeatability
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import LATENCIES, Procedure
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.deviations import FIFO, searched, short
from keisoku.subjects.device.method.latency_figures import latency_figures
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.repetitions import at_full_speed, device_slowdown, out_of_reach, repetition, slowed
from keisoku.subjects.device.method.rows import rows_by_size
from keisoku.subjects.device.method.search import EVENLY
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.plot.histogram_plot import histogram_plot
from keisoku.subjects.device.plot.size_plots import latency_plot
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import shortfalls, why_invalid

REPEATED_BY_PAIRS = 3
"""So many trials of a size or fewer become one in each run of a comparison."""


class LatencySettings(Settings):
    """RFC 2544 §26.2: a frame tagged after 60 s in a stream of 120 s, 20 times; and the latency of every frame."""

    trial_s: float = Field(120.0, gt=0)
    tag_after_s: float = Field(60.0, ge=0)
    """When the tagged frame is sent, from the start of the trial; halfway through a trial shorter than 120 s."""
    repetitions: int = Field(20, ge=1)
    """Number of trials at each size."""
    rate_fps: Load | None = None
    """Load of the trials (default: the measured throughput of each size; lower where device and tester share a CPU and
    the figure would be lost in its uncertainty)."""
    calms: bool = not_an_option(True)
    """Whether the load may be lower; in pairs both sides have the same."""

    @model_validator(mode="before")
    @classmethod
    def _tag_of_a_short_trial(cls, source: Any) -> Any:
        if isinstance(source, dict) and "tag_after_s" not in source and isinstance(source.get("trial_s"), int | float):
            return source | {"tag_after_s": min(60.0, source["trial_s"] / 2)}
        return source

    @model_validator(mode="after")
    def _tag_within_the_trial(self) -> LatencySettings:
        if self.tag_after_s >= self.trial_s:
            raise PlanError(
                "tag_after_s",
                "the first tagged frame would leave after the end of the trial",
                "choose a time below trial_s",
            )
        return self


LOWERED = 3
"""How often the load of a size is lowered because the tester falls short of it."""
CALMED, CALMER = 3, 4
"""How often it is divided, and by what, because the figure is lost in its uncertainty."""
CALM = phrase("below the throughput, at a load that this host carries calmly")


def latency(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'offered' (frames/s), and 'min', 'mean', 'max', 'p50', 'p99', 'p99.9', 'pdv' and 'tagged', in ns.

    These are FIFO: from transmit timestamp to receive timestamp. Where the link has a rate, the mean is given by all
    four definitions, 'fifo', 'lifo', 'filo' and 'lilo': RFC 8238 §2.3 demands FILO and forbids LIFO, which RFC 1242
    §3.8 asks for where the device is store-and-forward. Means are over all frames of all trials, except 'tagged': the
    average of the tagged frames, which is what RFC 2544 reports.
    """
    remarks = []
    below: list[int] = []
    calmed: list[int] = []
    given = inputs.plan.settings_of(LatencySettings).rate_fps
    calms = given is None and inputs.plan.settings_of(LatencySettings).calms and "cost" in inputs.capabilities.abilities

    def row(size: int, first: float) -> Generator[Trial, TrialRecord, Row]:
        calm = calms and _is_bound(inputs, size)
        start = rate = first / CALMER if calm else first
        records = yield from _trials(inputs, size, rate)
        for _ in range(0 if given else LOWERED):
            if any(record.valid for record in records) or not _fellshort(records[-1]):
                break
            rate = EVENLY * min(rate, records[-1].offered_fps)
            records = yield from _trials(inputs, size, rate)
        if rate != start:
            below.append(size)
        found = _row(inputs, records)
        for _ in range(CALMED if calms else 0):
            if _width(found) <= 1 or _out_of_time(inputs):
                break
            rate /= CALMER
            lower = _row(inputs, (yield from _trials(inputs, size, rate)))
            if _width(lower) < _width(found):
                found, calm = lower, True
        if not calm:
            return found
        calmed.append(size)
        return found.model_copy(update={"remark": join_texts("; ", filter(None, [CALM, found.remark]))})

    rows = yield from rows_by_size(inputs, given, row)
    if below:
        remarks.append(
            phrase(
                "{size} byte: measured below the throughput, because the tester could not offer it again",
                size=", ".join(map(str, below)),
            )
        )
    plan = inputs.plan
    if inputs.capabilities.link_bits_per_second is None:
        remarks.append(
            phrase("The link has no rate, so a frame has no duration: FIFO, LIFO, FILO and LILO latency are equal.")
        )
    return Result(
        measurement="latency",
        rows=rows,
        deviations=deviations_of(plan) + _below(calmed) + deviations.rfc2544(plan, inputs.capabilities.simulated),
        remarks=remarks,
    )


def _trials(inputs: MethodInput, size: int, rate: float) -> Generator[Trial, TrialRecord, list[TrialRecord]]:
    settings = inputs.plan.settings_of(LatencySettings)
    tag = round(rate * settings.tag_after_s)
    records = []
    for number in range(1, settings.repetitions + 1):
        purpose = phrase(
            "latency {number} of {repetitions}, {size} byte", number=number, repetitions=settings.repetitions, size=size
        )
        record = yield from repetition(inputs.latency_trial(purpose, size, rate, settings.trial_s, tag=tag))
        records.append(record)
        if out_of_reach(record) or (settings.rate_fps is None and _fellshort(record)):
            break
    return records


def _width(row: Row) -> float:
    """That of the mean's interval, as a share of the mean: above 1 it is lost in its uncertainty; 0 where that is not
    known."""
    mean = row.figures.get("mean")
    if mean is None or mean.value <= 0:
        return inf
    return 0.0 if mean.bounds is None else (mean.bounds[1] - mean.bounds[0]) / mean.value


def _is_bound(inputs: MethodInput, size: int) -> bool:
    """Whether the throughput that was found is only what the tester could send, and so no load of the device's own."""
    result = inputs.earlier.get("throughput")
    known = [row.figures.get("throughput") for row in result.rows if row.frame_bytes == size] if result else []
    return any(figure is not None and figure.bound for figure in known)


def _out_of_time(inputs: MethodInput) -> bool:
    """Whether the trials of another load do not fit the plan's time."""
    settings, within_s = inputs.plan.settings_of(LatencySettings), inputs.plan.within_s
    return within_s is not None and within_s - inputs.spent.seconds < 2 * settings.trial_s * settings.repetitions


def _below(sizes: Sequence[int]) -> list[str]:
    """What was measured at a lower load than the standard's."""
    if not sizes:
        return []
    return [
        phrase(
            "RFC 2544 §26.2: latency at {sizes} byte was measured below the throughput, where device and tester fill"
            " the CPU that they share, so that the figure would be lost in its uncertainty",
            sizes=", ".join(map(str, sizes)),
        )
    ]


def _fellshort(record: TrialRecord) -> bool:
    return bool(shortfalls(record.trial, record.facts))


def _row(inputs: MethodInput, records: list[TrialRecord]) -> Row:
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
            remark=join_texts("; ", why_invalid(records[0])) or phrase("nothing was forwarded"),
        )

    speed = inputs.capabilities.link_bits_per_second
    figures = {
        # "columns for the frame size, the rate at which the latency test was run for that frame size, […]"
        "offered": Quantity(value=sum(record.offered_fps for record in usable) / len(usable), unit="frames/s"),
        **latency_figures(
            inputs.bias,
            latencies,
            size,
            rate,
            None if inputs.plan.mix else speed,
            samples=samples,
            slowdown=device_slowdown(usable),
        ),
    }
    arrived = [one.tagged_latency_ns for one in tracked if one.tagged_latency_ns is not None]
    if arrived:
        value_ns = sum(arrived) / len(arrived)
        scatter = budget.normal(phrase("scatter of single frames"), repeatability.of_single(latencies, len(arrived)))
        figures["tagged"] = inputs.bias.corrected(value_ns, size, rate, single_frame=True, own=(scatter,))
    unused = (
        ""
        if len(arrived) == len(records)
        else phrase("{used} of {every} tagged frames can be used", used=len(arrived), every=len(records))
    )
    remark = join_texts("; ", filter(None, [unused, slowed(usable)]))
    return Row(frame_bytes=size, figures=figures, trial=usable[0].index, remark=remark)


def deviations_of(plan: Plan) -> list[str]:
    """RFC 2544 §26.2: at least 120 s, tag after 60 s, at least 20 repetitions."""
    used, standard = plan.settings_of(LatencySettings), LatencySettings()
    found = [FIFO]
    found += short("§26.2", phrase("the stream"), used.trial_s, standard.trial_s)
    if used.tag_after_s < standard.tag_after_s:
        found.append(
            phrase(
                "RFC 2544 §26.2: the tagged frame leaves after {tag_after_s:g} s instead of 60 s",
                tag_after_s=used.tag_after_s,
            )
        )
    if used.repetitions < standard.repetitions:
        found.append(
            plural(
                "RFC 2544 §26.2: {count} repetition instead of at least {wanted}",
                "RFC 2544 §26.2: {count} repetitions instead of at least {wanted}",
                count=used.repetitions,
                wanted=standard.repetitions,
            )
        )
    if used.rate_fps is not None:
        found.append(phrase("RFC 2544 §26.2: latency was measured at a given load, not at the throughput"))
    else:
        found += searched(plan)
    return found


def _sentence(result: Result) -> str:
    known = ends(result.rows, "mean")
    if not known:
        return ""
    high = dict(ends(result.rows, "p99.9"))
    parts = []
    for size, mean in known:
        text = digits.value_text(headline(mean))
        parts.append(
            phrase("{time} at {size} byte (99.9 % within {most})", time=text, size=size, most=_within(high[size]))
            if size in high
            else phrase("{time} at {size} byte", time=text, size=size)
        )
    return phrase("A frame takes {times} on average.", times=both(parts))


def _within(figure: Quantity) -> str:
    """A time that is not exceeded; where its own digits would say nothing, the upper end of its interval."""
    return digits.value_text(headline(figure).model_copy(update={"bound": ""}))


def _in_pairs(settings: LatencySettings) -> LatencySettings:
    """With the same load on both sides, and with one trial where a short profile has three: pairs repeat it."""
    once = {"repetitions": 1} if settings.repetitions <= REPEATED_BY_PAIRS else {}
    return settings.model_copy(update={"calms": False, **once})


PROCEDURE = Procedure(
    name="latency",
    title=phrase("Latency"),
    standard="RFC 2544 §26.2",
    summary="Latency of every frame, and of one tagged frame in each trial.",
    settings=LatencySettings,
    generator=latency,
    figure="mean",
    units={"frames/s": "offered", "ns": f"{LATENCIES} tagged constant", "ns/byte": "slope"},
    example="keisoku latency --dut lab:router --size 64 --rate 50kpps --repetitions 3 --duration 2s --waits 0.1s",
    searches=True,
    over_two_hosts="latencies",
    plots=(partial(latency_plot, method="latency"), partial(histogram_plot, method="latency")),
    columns={phrase("Mean latency"): "mean", phrase("99.9 % within"): "p99.9"},
    sentence=_sentence,
    in_pairs=_in_pairs,
    is_steady=True,
    over_time=True,
    bounds_throughput=True,
    lossless="RFC 2544 §26.2",
)
