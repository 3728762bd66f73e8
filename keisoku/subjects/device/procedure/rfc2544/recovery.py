"""RFC 2544 §26.5: how long a device still loses frames after an overload has ended.

Both loads are flows of one trial, so that losses after the step down are known by their numbers and their times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass

from pydantic import Field

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import expanded
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.repetitions import repetition
from keisoku.subjects.device.method.rows import row_of_trials, rows_by_size
from keisoku.subjects.device.method.search import RETRIES, TESTER_MARGIN, maximum_rate
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.plan.settings import SearchingSettings
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


class RecoverySettings(SearchingSettings):
    """RFC 2544 §26.5: an overload of 110 % of the throughput, then half of that rate."""

    overload_s: float = Field(60.0, gt=0)
    """Time under overload before the load is reduced."""
    watch_s: float = Field(60.0, gt=0)
    """Observation time after the load is reduced."""
    repetitions: int = Field(5, ge=1)
    """Number of trials, whose results are averaged."""
    rate_fps: Load | None = None
    """The throughput, of which the overload is 110 % (default: it is measured)."""


OVERLOAD, STEP = 1.1, 0.5
STILL_LOSING = 0.9
"""A device that loses a frame in the last tenth of the observation time has not recovered."""
PROBE_S = 2.0


@dataclass(frozen=True)
class _Recovery:
    """The outcome of one trial; `ns` is None if the device did not recover."""

    ns: float | None
    uncertainty_ns: float
    lost_before: int
    record: TrialRecord


def recovery(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'recovery' (mean, ns), 'throughput' and 'offered' (the overload), frames/s, 'tests'."""
    settings = inputs.plan.settings_of(RecoverySettings)
    bounded = {}

    def row(size: int, throughput: float) -> Generator[Trial, TrialRecord, Row]:
        maximum, by_tester = yield from maximum_rate(inputs, size, min(PROBE_S, settings.overload_s))
        # "110% of the recorded throughput rate or the maximum rate for the media, whichever is lower"
        overload = min(OVERLOAD * throughput, maximum)
        if by_tester and overload == maximum:
            bounded[size] = maximum
        found = []
        for number in range(1, settings.repetitions + 1):
            one = yield from _trial(inputs, size, overload, number)
            if one is not None:
                found.append(one)
        return _row(inputs, size, throughput, overload, found)

    rows = yield from rows_by_size(inputs, settings.rate_fps, row)
    remarks = []
    if bounded:
        most = join_texts(
            ", ",
            [phrase("{fps:,.0f} frames/s at {size} byte", fps=fps, size=size) for size, fps in bounded.items()],
        )
        remarks.append(
            phrase("The overload is what the tester can offer, less than 110 % of the throughput: {most}.", most=most)
        )
    plan = inputs.plan
    return Result(
        measurement="recovery",
        rows=rows,
        deviations=deviations_of(plan) + deviations.rfc2544(plan, inputs.capabilities.simulated),
        remarks=remarks,
    )


def _trial(
    inputs: MethodInput, size: int, overload: float, number: int
) -> Generator[Trial, TrialRecord, _Recovery | None]:
    settings = inputs.plan.settings_of(RecoverySettings)
    step_ns, watch_ns = (round(seconds * NS_PER_S) for seconds in (settings.overload_s, settings.watch_s))
    ways = inputs.plan.pairs()
    of_port = Counter(transmit for transmit, _ in ways)
    flows = [
        Flow(
            transmit=transmit,
            receive=receive,
            share=share / of_port[transmit],
            start_ns=start_ns,
            duration_ns=duration_ns,
        )
        for share, start_ns, duration_ns in ((1.0, 0, step_ns), (STEP, step_ns, watch_ns))
        for transmit, receive in ways
    ]
    purpose = phrase(
        "recovery {number} of {repetitions}, {size} byte", number=number, repetitions=settings.repetitions, size=size
    )
    trial = inputs.trial(purpose, size, overload, settings.overload_s + settings.watch_s)
    record = yield from repetition(trial.model_copy(update={"flows": tuple(flows)}), 1 + RETRIES)
    return _recovery(record, len(ways), step_ns, watch_ns) if record.valid else None


def _recovery(record: TrialRecord, ways: int, step_ns: int, watch_ns: int) -> _Recovery:
    """From the step down, timestamp A, to the last frame lost, timestamp B: B − A.

    The RFC subtracts B from A, which would be negative.
    """
    streams = record.facts.streams
    before, after = streams[:ways], streams[ways:]
    lost_before = sum(stream.tracked.lost_frames for stream in before)
    gaps = [gap for stream in after for gap in stream.tracked.lost]
    late_ns = record.facts.sent.postponed_ns  # the step itself may have been late by so much
    period_ns = NS_PER_S / (record.trial.frames_per_second * STEP)
    if not gaps:
        return _Recovery(0.0, period_ns + late_ns, lost_before, record)
    latest = max((_last_lost(gap, step_ns, step_ns + watch_ns) for gap in gaps), key=lambda pair: pair[0])
    time_ns, within_ns = latest
    if time_ns > step_ns + STILL_LOSING * watch_ns:
        return _Recovery(None, 0.0, lost_before, record)
    return _Recovery(time_ns - step_ns, within_ns + late_ns, lost_before, record)


def _last_lost(gap: Gap, start_ns: int, end_ns: int) -> tuple[float, float]:
    """When the gap's last frame was sent and how sure that is: shortly before the next one that arrived."""
    if gap.before_ns is None:
        return end_ns, 0.0
    after_ns = start_ns if gap.after_ns is None else gap.after_ns
    step_ns = (gap.before_ns - after_ns) / (gap.last - gap.first + 2)
    return gap.before_ns - step_ns, step_ns


def _row(inputs: MethodInput, size: int, throughput: float, overload: float, found: list[_Recovery]) -> Row:
    figures = {
        "throughput": Quantity(value=throughput, unit="frames/s"),
        "offered": Quantity(value=overload, unit="frames/s"),
    }
    if not found:
        return Row(frame_bytes=size, figures=figures, remark=phrase("the tester could not offer the loads reliably"))
    times = [one.ns for one in found if one.ns is not None]
    remarks = []
    if len(times) < len(found):
        remarks.append(
            phrase(
                "in {some} of {count} trials frames were still lost at the end of observation",
                some=len(found) - len(times),
                count=len(found),
            )
        )
    if any(one.lost_before == 0 for one in found):
        full = overload < OVERLOAD * TESTER_MARGIN * throughput
        why = phrase("no higher rate can be offered") if full else phrase("its buffer held the surplus")
        remarks.append(phrase("the device was not overloaded: it lost nothing at the higher rate ({why})", why=why))
    if times:
        spread = budget.standard_uncertainty(budget.repeatability("repeatability", times))
        uncertainty = expanded(spread) + max(one.uncertainty_ns for one in found)
        figures["recovery"] = Quantity(value=sum(times) / len(times), unit="ns", uncertainty=uncertainty)
        figures["tests"] = Quantity(value=len(times), unit="", uncertainty=0.0)
    repetitions = inputs.plan.settings_of(RecoverySettings).repetitions
    return row_of_trials([one.record for one in found], figures, remarks, repetitions)


def deviations_of(plan: Plan) -> list[str]:
    """RFC 2544 §26.5."""
    found = []
    used_s, wanted_s = plan.settings_of(RecoverySettings).overload_s, RecoverySettings().overload_s
    if used_s < wanted_s:
        found.append(
            phrase(
                "RFC 2544 §26.5: the overload lasts {used_s:g} s instead of at least {wanted_s:g} s",
                used_s=used_s,
                wanted_s=wanted_s,
            )
        )
    if plan.settings_of(RecoverySettings).rate_fps is not None:
        found.append(phrase("RFC 2544 §26.5: the throughput was given, not determined first"))
    return found


PROCEDURE = Procedure(
    name="recovery",
    title=phrase("System recovery"),
    standard="RFC 2544 §26.5",
    summary="How long a device still loses frames after an overload of 110 % of the throughput has ended.",
    settings=RecoverySettings,
    generator=recovery,
    figure="recovery",
    units={"frames/s": "throughput offered", "ns": "recovery", "": "tests"},
    example="keisoku recovery --dut lab:bridge --size 64 --search 2s --overload 2s --watch 2s --waits 0.1s",
    searches=True,
)
