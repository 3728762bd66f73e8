"""RFC 2544 §26.3: frame loss rate at 100 %, 90 %, … of the maximum, until two successive trials lose no frame."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress

from pydantic import Field

from keisoku.ground.report import digits
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.loss_ratio import loss_and_lateness
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.deviations import short
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import (
    CEILING_WITHOUT_LINK_FPS,
    RETRIES,
    beyond_tester,
    maximum_rate,
    reached_fps,
)
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import BitRate, LinePercent, Load
from keisoku.subjects.device.procedure.rfc2544.loss_plot import loss_plot
from keisoku.subjects.device.record.trial import NoMoreTrials, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid


class LossSettings(Settings):
    """RFC 2544 §26.3: 100 %, 90 %, … until two successive trials without loss."""

    trial_s: float = Field(60.0, gt=0)
    step_percent: float = Field(10.0, gt=0, le=10)
    """Step between loads, at most 10 %."""
    maximum_fps: Load | None = None
    """Rate of 100 % (default: the theoretical maximum of the link)."""


STOPPED = phrase("the range is wide because the host interrupted the tester, which can hide loss")
"""Remark of a loss ratio whose load was late at times."""
STOPPED_WITHOUT_LOSS = phrase(
    "no loss was seen, but the host interrupted the tester, which can hide a loss of up to the end of the range"
)
"""The same where nothing was lost."""


def loss(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size and load: 'offered' (frames/s), 'load' (% of the maximum), 'loss' (%)."""
    rows: list[Row] = []
    lowered: dict[int, float] = {}
    plan = inputs.plan
    with suppress(NoMoreTrials):
        for size in plan.frame_bytes:
            given = inputs.fps(plan.settings_of(LossSettings).maximum_fps, size)
            maximum = given or inputs.line_fps(size) or CEILING_WITHOUT_LINK_FPS
            reached, first = yield from _reachable(inputs, size, maximum)
            if reached < maximum:
                lowered[size] = reached
            yield from _steps(inputs, size, reached, first, rows)
    found = deviations_of(plan) + deviations.rfc2544(plan, inputs.capabilities.simulated)
    if lowered:
        most = join_texts(
            ", ",
            [phrase("{fps:,.0f} frames/s at {size} byte", fps=fps, size=size) for size, fps in lowered.items()],
        )
        found.append(
            phrase(
                "RFC 2544 §26.3: 100 % is not the maximum of the link but the most the tester could offer: {most}",
                most=most,
            )
        )
    return Result(measurement="loss", rows=rows, deviations=found)


def _reachable(
    inputs: MethodInput, size: int, maximum: float
) -> Generator[Trial, TrialRecord, tuple[float, TrialRecord | None]]:
    """The most the tester can offer up to `maximum`, and the trial at 100 % if that is `maximum` itself."""
    if maximum >= CEILING_WITHOUT_LINK_FPS:
        return (yield from maximum_rate(inputs, size, inputs.plan.settings_of(LossSettings).trial_s))[0], None
    record = yield _step(inputs, size, maximum, 100)
    if record.valid:
        return maximum, record
    while beyond_tester(record):
        maximum = reached_fps(record)
        record = yield inputs.trial(
            phrase("maximum {size} byte", size=size), size, maximum, inputs.plan.settings_of(LossSettings).trial_s
        )
    return maximum, None


def _steps(
    inputs: MethodInput, size: int, maximum: float, first: TrialRecord | None, rows: list[Row]
) -> Generator[Trial, TrialRecord, None]:
    """Appends a row for each load to `rows`."""
    clean = 0
    percent = 100.0
    # "until there are two successive trials in which no frames are lost"
    while percent > 0 and clean < 2:
        record = first or (yield _step(inputs, size, maximum, percent))
        first = None
        for _ in range(RETRIES):
            if record.valid:
                break
            record = yield _step(inputs, size, maximum, percent)
        rows.append(_row(record, percent))
        clean = clean + 1 if record.valid and record.loss_ratio == 0 else 0
        percent = round(percent - inputs.plan.settings_of(LossSettings).step_percent, 9)


def _step(inputs: MethodInput, size: int, maximum: float, percent: float) -> Trial:
    return inputs.trial(
        phrase("{percent:g} % {size} byte", percent=percent, size=size),
        size,
        maximum * percent / 100,
        inputs.plan.settings_of(LossSettings).trial_s,
    )


def _row(record: TrialRecord, percent: float) -> Row:
    figures = {
        "offered": Quantity(value=record.offered_fps, unit="frames/s"),
        "load": Quantity(value=percent, unit="%", uncertainty=0.0),
    }
    remark = join_texts("; ", why_invalid(record))
    if record.valid:
        figures["loss"], is_wider = loss_and_lateness(record)
        if is_wider:
            remark = STOPPED if record.loss_ratio else STOPPED_WITHOUT_LOSS
    return Row(frame_bytes=record.trial.frame_bytes, figures=figures, trial=record.index, remark=remark)


def deviations_of(plan: Plan) -> list[str]:
    """RFC 2544 §24 and §26.3."""
    found = short("§24", phrase("each trial"), plan.settings_of(LossSettings).trial_s, LossSettings().trial_s)
    maximum_fps = plan.settings_of(LossSettings).maximum_fps
    if maximum_fps is not None:
        if isinstance(maximum_fps, LinePercent):
            asked: str = phrase("{maximum_fps} of the line", maximum_fps=maximum_fps)
        elif isinstance(maximum_fps, BitRate):
            asked = str(maximum_fps)
        else:
            asked = phrase("{maximum_fps:g} frames/s", maximum_fps=maximum_fps)
        found.append(phrase("RFC 2544 §26.3: 100 % is {asked} as asked, not the maximum of the link", asked=asked))
    return found


def _sentence(result: Result) -> str:
    rows = [row for row in result.rows if {"load", "loss"} <= row.figures.keys()]
    if not rows:
        return ""
    worst = max(rows, key=lambda row: row.figures["loss"].value)
    if worst.figures["loss"].value == 0:
        # What a procedure remarks on a row without losses is why they may not have shown.
        most = max((bounds[1] for row in rows if row.remark and (bounds := row.figures["loss"].bounds)), default=None)
        if most is None:
            return phrase("It lost no frame at any load that was tried.")
        return phrase(
            "It lost no frame at any load that was tried, but the host disturbed the tester: a loss of up to {most} "
            "may have gone unnoticed.",
            most=digits.value_text(Quantity(value=most, unit="%", uncertainty=most)),
        )
    load, loss = worst.figures["load"], worst.figures["loss"]
    return phrase(
        "At {load} load it loses up to {loss} of {size}-byte frames.",
        load=digits.value_text(load),
        loss=digits.value_text(loss),
        size=worst.frame_bytes,
    )


PROCEDURE = Procedure(
    name="loss",
    title=phrase("Frame loss rate"),
    standard="RFC 2544 §26.3",
    summary="Frame loss at 100 %, 90 %, … of the maximum load, until two successive trials lose no frame.",
    settings=LossSettings,
    generator=loss,
    figure="loss",
    units={"frames/s": "offered", "%": "load loss"},
    over_two_hosts="counts",
    plots=(loss_plot,),
    columns={phrase("Loss, highest load"): "loss"},
    sentence=_sentence,
    over_time=True,
    several_loads=True,
    bounds_throughput=True,
)
