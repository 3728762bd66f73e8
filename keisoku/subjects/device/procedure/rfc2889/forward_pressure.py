"""RFC 2889 §5.6.3.2: whether a device that receives frames with gaps of 88 bits sends with gaps below 96 bits.

IEEE 802.3 requires 96 bits. It needs a tester that can send such gaps; the maximum forwarding rate of the same clause
is in `forwarding`.
"""

from __future__ import annotations

from collections.abc import Generator

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.loss_ratio import loss_of
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc2889.settings import ForwardPressureSettings
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

PREAMBLE_BITS, SHORT_GAP_BITS = 64, 88


def forward_pressure(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size: 'offered' (frames/s), 'forwarding_rate', 'line_share' (%) of what gaps of 96 bits allow, 'loss'.

    Raises PlanError for a link of no known rate, which has no inter-frame gap.
    """
    plan, settings = inputs.plan, inputs.plan.settings_of(ForwardPressureSettings)
    speed = inputs.capabilities.link_bits_per_second
    if speed is None:
        raise PlanError("ports", "a link without a rate has no inter-frame gap", "use ports of a known rate")
    rows = []
    for size in plan.frame_bytes:
        fps = speed / (8 * size + PREAMBLE_BITS + SHORT_GAP_BITS)
        record = yield from rfc2889.attempt(
            inputs.trial(phrase("gaps of 88 bits, {size} byte", size=size), size, fps, settings.trial_s)
        )
        rows.append(_row(inputs, record))
    found = rfc2889.deviations(plan, inputs.capabilities.simulated, "§5.6", settings.trial_s)
    return Result(measurement="forward_pressure", rows=rows, deviations=found)


def _row(inputs: MethodInput, record: TrialRecord) -> Row:
    size = record.trial.frame_bytes
    figures = {"offered": Quantity(value=record.offered_fps, unit="frames/s")}
    remark = join_texts("; ", why_invalid(record))
    line = inputs.line_fps(size)
    if record.valid and line is not None:
        rate = rfc2889.forwarding_rate(record)
        error = rate.uncertainty or 0.0
        figures["forwarding_rate"] = rate
        figures["line_share"] = Quantity(value=100 * rate.value / line, unit="%", uncertainty=100 * error / line)
        figures["loss"] = loss_of(record)
        # Half of the rate that the shorter gap adds; clocks differ by 100 ppm at most, which is far less.
        pressed = rate.value - error > (line + record.trial.frames_per_second) / 2
        # §5.6.5 gives this text: a rate above the MOL "MUST be highlighted with" it.
        pressing = phrase("Forward Pressure detected: the device sends with gaps below 96 bits")
        remark = pressing if pressed else phrase("the device keeps gaps of 96 bits")
    return Row(frame_bytes=size, figures=figures, trial=record.index, remark=remark)


PROCEDURE = Procedure(
    name="forward_pressure",
    title=phrase("Forward pressure"),
    standard="RFC 2889 §5.6",
    summary="Whether a device sends with too small a gap when it receives frames 88 bits apart; needs the FPGA engine.",
    settings=ForwardPressureSettings,
    generator=forward_pressure,
    figure="forwarding_rate",
    units={"frames/s": "offered forwarding_rate", "%": "line_share loss"},
    of_line=("line_share",),
    needs=("short_gap",),
)
