"""RFC 2544 §26.6 as RFC 6201 updates it: how long a device forwards nothing when it is reset.

The engine or the operator resets the device during a trial; the outage is found from the lost frames, by both methods
of RFC 6201 §1.3. This file resets nothing itself.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from statistics import fmean

from pydantic import Field

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import deviation
from keisoku.language import phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.repetitions import repetition
from keisoku.subjects.device.method.rows import row_of_trials, rows_by_size
from keisoku.subjects.device.method.search import RETRIES
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.plan.settings import SearchingSettings
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


class ResetSettings(SearchingSettings):
    """RFC 6201: a load at the throughput while the device is reset."""

    stable_s: float = Field(15.0, gt=0)
    """Time under load before the reset, in which no frame may be lost."""
    watch_s: float = Field(60.0, gt=0)
    """Time under load from the reset on; it must be longer than the device needs to restart."""
    repetitions: int = Field(3, ge=1)
    """Number of resets, whose results are averaged."""
    rate_fps: Load | None = None
    """Load of the trials (default: the measured throughput of each size)."""


_NEAR = 1.01
"""Frames whose distance is at most so many gaps follow each other."""


@dataclass(frozen=True)
class _Outage:
    """Outage in one trial; `stamps_ns` is None if the device did not come back, and both are 0 if nothing was lost."""

    lost_frames: int
    by_loss_ns: float
    stamps_ns: float | None
    gap_ns: float
    """Between two frames of a stream: neither method sees an outage more closely."""
    unsure_ns: float
    """Half of the time in which the host had stopped the sender as the outage began or ended."""
    early: bool
    """True if frames were lost in the time in which the device must be stable."""
    record: TrialRecord


def reset(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size, each figure the mean of the trials: 'reset_by_loss' and 'reset_by_stamps' (ns), 'lost'
    (frames), 'offered' (frames/s), 'tests'."""
    settings = inputs.plan.settings_of(ResetSettings)
    by_hand = inputs.capabilities.resets == "by hand"

    def row(size: int, rate: float) -> Generator[Trial, TrialRecord, Row]:
        found = []
        for number in range(1, settings.repetitions + 1):
            record = yield from _trial(inputs, size, rate, number, by_hand)
            if record is not None:
                found.append(_outage(inputs, record))
        return _row(inputs, size, found)

    rows = yield from rows_by_size(inputs, settings.rate_fps, row)
    plan = inputs.plan
    remarks = [
        phrase(
            "By loss: lost frames / offered rate, and the time in which the host had stopped the sender"
            " meanwhile. By time stamps: from the last frame before the outage to the first one after it, as"
            " they were sent (RFC 6201 §1.3), less the time between two frames, by which this is too long on"
            " average. Frames that were inside the device when it was reset are lost as well. The 15 s of a"
            " power interruption are not subtracted (§4.3.1)."
        )
    ]
    remarks.append(
        phrase("The device was reset by hand.") if by_hand else phrase("The device was reset by the engine.")
    )
    return Result(
        measurement="reset",
        rows=rows,
        deviations=deviations_of(plan) + deviations.rfc2544(plan, inputs.capabilities.simulated),
        remarks=remarks,
    )


def _trial(
    inputs: MethodInput, size: int, rate: float, number: int, by_hand: bool
) -> Generator[Trial, TrialRecord, TrialRecord | None]:
    settings = inputs.plan.settings_of(ResetSettings)
    purpose = phrase(
        "reset {number} of {repetitions}, {size} byte", number=number, repetitions=settings.repetitions, size=size
    )
    if by_hand:
        purpose += phrase(": reset the device after {stable_s:g} s of load", stable_s=settings.stable_s)
    trial = inputs.trial(purpose, size, rate, settings.stable_s + settings.watch_s)
    # A device that is reset takes the links of its ports down.
    trial = trial.model_copy(update={"links_may_fail": True})
    if not by_hand:
        trial = trial.model_copy(update={"reset_after_ns": round(settings.stable_s * NS_PER_S)})
    record = yield from repetition(trial, 1 + RETRIES)
    return record if record.valid else None


def _outage(inputs: MethodInput, record: TrialRecord) -> _Outage:
    sent, tracked = record.facts.sent, record.facts.tracked
    lost = sent.offered_frames - tracked.forwarded_frames
    rate = record.offered_fps * len(record.facts.transmitters)
    gaps = [gap for stream in record.facts.streams for gap in stream.tracked.lost]
    stable_ns = inputs.plan.settings_of(ResetSettings).stable_s * NS_PER_S
    early = any((gap.before_ns or sent.last_sent_ns) < stable_ns for gap in gaps)
    by_loss_ns = lost / rate * NS_PER_S
    gap_ns = len(record.facts.streams) / rate * NS_PER_S
    if not gaps:
        return _Outage(lost, by_loss_ns, 0.0, gap_ns, 0.0, early, record)
    # The longest gap is the outage; single frames lost at other times are not.
    longest = max(gaps, key=lambda gap: _span_ns(gap, sent.last_sent_ns))
    if longest.before_ns is None:
        return _Outage(lost, by_loss_ns, None, gap_ns, 0.0, early, record)
    # The outage begins up to one gap after the last frame that was forwarded was sent, and ends up to one gap before
    # the first one behind it was: from one to the other it is a gap too long on average.
    within_ns, unsure_ns = _stopped_ns(record, longest.after_ns or 0, longest.before_ns, gap_ns)
    by_stamps_ns = _span_ns(longest, sent.last_sent_ns) - gap_ns - unsure_ns
    return _Outage(lost, by_loss_ns + within_ns + unsure_ns, by_stamps_ns, gap_ns, unsure_ns, early, record)


def _stopped_ns(record: TrialRecord, begin_ns: float, end_ns: float, gap_ns: float) -> tuple[float, float]:
    """For how long the host had stopped the senders within an outage, in which no frame could be lost, and half of the
    time for which it had as the outage began or ended, of which nobody knows when. Means over the ports."""
    within, unsure = 0.0, 0.0
    for port in record.facts.transmitters:
        for sent_ns, by_ns in port.sent.shifts:
            stopped_ns = min(sent_ns, end_ns) - max(sent_ns - by_ns, begin_ns)
            if stopped_ns <= 0:
                continue
            if sent_ns - by_ns <= begin_ns + gap_ns * _NEAR or sent_ns >= end_ns - gap_ns * _NEAR:
                unsure += stopped_ns / 2
            else:
                within += stopped_ns
    ports = len(record.facts.transmitters)
    return within / ports, unsure / ports


def _span_ns(gap: Gap, end_ns: int) -> float:
    return (end_ns if gap.before_ns is None else gap.before_ns) - (gap.after_ns or 0)


def _row(inputs: MethodInput, size: int, found: list[_Outage]) -> Row:
    settings = inputs.plan.settings_of(ResetSettings)
    if not found:
        return Row(frame_bytes=size, figures={}, remark=phrase("the tester could not offer the load reliably"))
    back = [one for one in found if one.stamps_ns is not None]
    remarks = []
    if len(back) < len(found):
        remarks.append(
            phrase(
                "in {some} of {count} trials the device did not forward again before the end",
                some=len(found) - len(back),
                count=len(found),
            )
        )
    if any(one.early for one in found):
        remarks.append(
            phrase(
                "frames were lost in the first {stable_s:g} s, when the device must be stable",
                stable_s=settings.stable_s,
            )
        )
    if all(one.lost_frames == 0 for one in found):
        remarks.append(phrase("no loss"))  # RFC 6201 §3: "In this case, only 'no loss' is reported."
    offered = sum(one.record.offered_fps for one in found) / len(found)
    figures = {
        "offered": Quantity(value=offered, unit="frames/s"),
        "tests": Quantity(value=len(back), unit="", uncertainty=0.0),
    }
    if back:
        figures["lost"] = _mean([float(one.lost_frames) for one in back], "frames", 0.0)
        gap_ns = max(one.gap_ns for one in back)
        unsure_ns = math.hypot(*(one.unsure_ns for one in back)) / len(back)
        by_stamps = [one.stamps_ns for one in back if one.stamps_ns is not None]
        figures["reset_by_loss"] = _mean([one.by_loss_ns for one in back], "ns", gap_ns, unsure_ns)
        figures["reset_by_stamps"] = _mean(by_stamps, "ns", gap_ns, unsure_ns)
    return row_of_trials([one.record for one in found], figures, remarks, settings.repetitions)


def _mean(values: list[float], unit: str, gap: float, unsure: float = 0.0) -> Quantity:
    """The mean, with the scatter of the trials, what the gap between frames leaves open, and ± `unsure` for what stops
    of the sender leave open.

    The two ends of an outage are each anywhere in a gap: a triangular distribution of ± `gap`. Trials in which they are
    at the same places do not show this, so what their scatter does not show is the same in all of them.
    """
    grain = budget.triangular(phrase("gap between frames"), gap)
    stops = [budget.rectangular(phrase("the host stopped the sender as the outage began or ended"), unsure)]
    stops = stops if unsure else []
    if len(values) < 2:
        return budget.figure(fmean(values), unit, [grain, *stops])
    hidden = math.sqrt(max(0.0, grain.uncertainty**2 - deviation(values) ** 2))
    common = budget.normal(phrase("gap between frames, alike in all trials"), hidden, kind="B")
    return budget.mean_with(values, unit, phrase("repeatability of the trials"), [common, *stops])


def deviations_of(plan: Plan) -> list[str]:
    """RFC 6201 §4."""
    found = []
    used_s, wanted_s = plan.settings_of(ResetSettings).stable_s, ResetSettings().stable_s
    if used_s < wanted_s:
        found.append(
            phrase(
                "RFC 6201 §4: the device forwards for {used_s:g} s before the reset instead of at least {wanted_s:g} s",
                used_s=used_s,
                wanted_s=wanted_s,
            )
        )
    if plan.settings_of(ResetSettings).rate_fps is not None:
        found.append(phrase("RFC 6201 §4: the load was given, not the throughput"))
    return found


def _check(plan: Plan, capabilities: Capabilities) -> None:
    """Raises PlanError for a device that nothing can reset."""
    if capabilities.resets is None:
        raise PlanError(
            "methods",
            f"{plan.dut} cannot be reset",
            "use lab:bridge, lab:router, ports, or a simulated device with [reset]",
        )


PROCEDURE = Procedure(
    name="reset",
    title=phrase("Reset"),
    standard="RFC 2544 §26.6, RFC 6201",
    summary="How long the device forwards nothing when it is reset, by lost frames and by timestamps.",
    settings=ResetSettings,
    generator=reset,
    figure="reset_by_loss",
    units={"frames/s": "offered", "frames": "lost", "ns": "reset_by_loss reset_by_stamps", "": "tests"},
    example="keisoku reset --dut lab:bridge --rate 50kpps --stable 1s --watch 2s --repetitions 1 --waits 0.1s",
    sizes="64",
    searches=True,
    pace={"watch_s": 10.0},
    check=_check,
)
