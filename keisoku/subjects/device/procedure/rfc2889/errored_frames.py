"""RFC 2889 §5.9: whether a device filters errored frames, as IEEE 802.3 requires; it must forward those with dribble
bits.

A NIC can send oversize frames only; all other errors need an engine that can send them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import get_args

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc2889.settings import Error, ErroredFramesSettings
from keisoku.subjects.device.record.trial import Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

LEAST_BYTES = 64


def errored_frames(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row for each error and size: 'offered' (frames/s), 'forwarded' (%), which should be 0, or with dribble bits
    100; the remark says pass or fail (§5.9.5).

    Raises PlanError if the tester's port cannot send a frame above the device's maximum.
    """
    plan, settings = inputs.plan, inputs.plan.settings_of(ErroredFramesSettings)
    rows: list[Row] = []
    found = rfc2889.deviations(plan, inputs.capabilities.simulated, "§5.9", settings.trial_s, sizes=False)
    left_out = [error for error in get_args(Error) if error not in settings.errors]
    if left_out:
        found.append(phrase("RFC 2889 §5.9: {left_out} errors were not tested", left_out=join_texts(", ", left_out)))
    found.append(
        phrase(
            "RFC 2889 §5.9.2: one load, {load_percent:g} %, was tried instead of several",
            load_percent=settings.load_percent,
        )
    )
    for error in settings.errors:
        for size in _sizes(inputs, error):

            def load(fps: float, error: Error = error, size: int = size) -> Trial:
                defect = None if error == "oversize" else error
                trial = inputs.trial(
                    phrase("{error} frames, {size} byte", error=error, size=size), size, fps, settings.trial_s
                )
                return trial.model_copy(update={"flows": (Flow(transmit=0, receive=1, defect=defect),)})

            maximum, record = yield from rfc2889.at_most(inputs, size, settings.maximum_fps, load)
            if settings.load_percent < 100:
                record = yield from rfc2889.attempt(load(maximum * settings.load_percent / 100))
            rows.append(_row(error, record))
    return Result(measurement="errored_frames", rows=rows, deviations=found)


def _sizes(inputs: MethodInput, error: Error) -> tuple[int, ...]:
    if error == "undersize":
        return (LEAST_BYTES - 1,)
    if error != "oversize":
        return inputs.plan.frame_bytes
    size = inputs.plan.settings_of(ErroredFramesSettings).largest_bytes + 1
    most = inputs.capabilities.max_frame_bytes
    if most is not None and size > most:
        raise PlanError(
            "largest_bytes", f"a frame of {size} byte is larger than the port can send ({most})", "raise its MTU"
        )
    return (size,)


def _row(error: Error, record: TrialRecord) -> Row:
    forwarded, offered = record.facts.tracked.forwarded_frames, record.facts.sent.offered_frames
    figures = {"offered": Quantity(value=record.offered_fps, unit="frames/s")}
    remark = join_texts("; ", why_invalid(record))
    if record.valid:
        passed = forwarded + record.facts.tracked.corrupt_arrivals
        figures["forwarded"] = rfc2889.percent(passed, offered)
        remark = phrase("pass: filtered") if passed == 0 else phrase("fail: not filtered")
        if error == "dribble":
            # §5.9.3: "The DUT/SUT MUST correct and forward frames containing dribbling bits."
            remark = (
                phrase("pass: corrected and forwarded")
                if forwarded == offered
                else phrase("fail: not all were forwarded")
            )
    return Row(frame_bytes=record.trial.frame_bytes, case=error, figures=figures, trial=record.index, remark=remark)


PROCEDURE = Procedure(
    name="errored_frames",
    title=phrase("Errored frames filtering"),
    standard="RFC 2889 §5.9",
    summary="Whether a device filters frames that are too long, too short or damaged.",
    settings=ErroredFramesSettings,
    generator=errored_frames,
    figure="forwarded",
    units={"frames/s": "offered", "%": "forwarded"},
    example="keisoku errored-frames --dut sim:gs908e --largest 9887 --duration 1s",
    sizes="64",
    own_flows=True,
    also_needs=lambda settings: [error for error in settings.errors if error != "oversize"],
)
