"""Single trials: one load at each size, once, with the outcome of every frame. No search, no repetition."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from pydantic import Field

from keisoku.errors import PlanError
from keisoku.ground.report import digits
from keisoku.ground.report.sentence import both
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.late_load import late_load
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import LATENCIES, Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.stream_figures import stream_figures
from keisoku.subjects.device.plan.rate import NO_RATE, Load
from keisoku.subjects.device.plot.histogram_plot import histogram_plot
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid


class TrialSettings(Settings):
    """One load at each size, one trial each."""

    trial_s: float = Field(1.0, gt=0)
    rate_fps: Load | None = None
    """Load of each sending port (default: 99.98 % of the link's maximum, or that of the gaps of the pacing)."""


_CEILING = 0.9998
"""Share of the link's maximum: clocks differ by up to ±100 ppm (RFC 8239 §2)."""


def trial(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size, and where several streams were sent one more for each of them.

    'offered' (frames/s), counts of frames 'forwarded', 'lost', 'reordered', 'duplicated' and 'corrupt', 'loss' (%),
    and latency of every frame in ns, as in `latency`. Only the row of all streams names the trial. A trial that the
    tester disturbed has no figures, but a remark with the reason. Raises PlanError for a link without a rate if no load
    is given.
    """
    settings = inputs.plan.settings_of(TrialSettings)
    rows = []
    for size in inputs.plan.frame_bytes:
        line_fps = inputs.line_fps(size)
        usual = inputs.plan.paced_fps or (line_fps and line_fps * _CEILING)
        rate = inputs.fps(settings.rate_fps, size) or usual
        if not rate:
            raise PlanError("trial.rate_fps", NO_RATE, "give one, such as --rate 50kpps")
        record = yield inputs.latency_trial(f"{size} byte", size, rate, settings.trial_s)
        rows += _rows(inputs, record)
    return Result(measurement="trial", rows=rows)


def _rows(inputs: MethodInput, record: TrialRecord) -> list[Row]:
    size, remark = record.trial.frame_bytes, join_texts("; ", why_invalid(record))
    if remark:
        return [Row(frame_bytes=size, figures={}, trial=record.index, remark=remark)]
    speed = None if inputs.plan.mix else inputs.capabilities.link_bits_per_second
    bias, facts, fps = inputs.bias, record.facts, record.trial.frames_per_second
    offered = {"offered": Quantity(value=record.offered_fps, unit="frames/s")}
    figures = stream_figures(
        bias,
        facts.tracked,
        facts.sent.offered_frames,
        size,
        fps,
        speed,
        samples=samples_of(record, facts.tracked),
        late=late_load(record, facts.streams),
    )
    whole = Row(
        frame_bytes=size,
        figures=offered | figures,
        trial=record.index,
        case=phrase("all streams") if len(facts.streams) > 1 else "",
    )
    if len(facts.streams) == 1:
        return [whole]
    ports = [name for _, name in inputs.plan.port_fields()]
    return [whole] + [
        Row(
            frame_bytes=size,
            case=phrase(
                "stream {place}: {transmit} to {receive}",
                place=place,
                transmit=ports[one.transmit],
                receive=ports[one.receive],
            ),
            figures=stream_figures(
                bias,
                one.tracked,
                one.offered_frames,
                size,
                fps,
                speed,
                samples=samples_of(record, one.tracked),
                late=late_load(record, [one]),
            ),
        )
        for place, one in enumerate(facts.streams)
    ]


def _sentence(result: Result) -> str:
    rows = [row for row in result.rows if row.trial is not None and row.figures]
    parts = [
        phrase(
            "{lost} were lost of {size}-byte frames at {rate}",
            lost=digits.value_text(row.figures["lost"]),
            size=row.frame_bytes,
            rate=digits.value_text(row.figures["offered"]),
        )
        for row in rows[:1] + rows[1:][-1:]
    ]
    return phrase("Of single loads, {losses}.", losses=both(parts)) if parts else ""


PROCEDURE = Procedure(
    name="trial",
    title=phrase("Single trials"),
    standard=phrase("one load at each size, one trial each"),
    summary="Counts, loss and latency of every frame at one given load for each size.",
    settings=TrialSettings,
    generator=trial,
    figure="loss",
    units={
        "frames/s": "offered",
        "frames": "forwarded lost reordered duplicated corrupt",
        "%": "loss",
        "ns": LATENCIES,
    },
    example="keisoku trial --dut lab:bridge --size 64 --rate 50kpps --duration 1s --waits 0.1s",
    over_two_hosts="counts",
    plots=(partial(histogram_plot, method="trial"),),
    sentence=_sentence,
    over_time=True,
    bounds_throughput=True,
)
