"""RFC 2544 §26.4 as RFC 9004 updates it: the longest burst at the maximum rate that loses no frame.

A binary search over the length of a burst (ETSI GS NFV-TST 009 clause 12.3). Because the tester knows which frame
of a lossy burst was lost first, it then tries the burst that ends before this frame: all frames up to there have
passed.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from math import ceil

from pydantic import Field

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import COVERAGE_FACTOR, expanded
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.calibration.bias import ARITHMETIC_NS
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.deviations import searched
from keisoku.subjects.device.method.latency_figures import LINK_TOLERANCE, observed
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import (
    NO_LOAD_PASSES,
    RETRIES,
    TESTER_MARGIN,
    known_figure,
    maximum_rate,
    search,
)
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.settings import PhaseSettings, SearchingSettings, ThroughputSettings
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


class BackToBackSettings(SearchingSettings):
    """RFC 9004: the longest burst at the maximum rate without a lost frame, searched for N times."""

    repetitions: int = Field(50, ge=1)
    """Number of searches at each size, N."""
    limit_s: float = Field(30.0, gt=0, le=300)
    """The longest burst tried, as the time to send it (RFC 9004 §6.2: it must be configurable to at least 30 s)."""
    step_frames: int = Field(1, ge=1)
    """The search ends when a burst without loss and one with loss differ by so many frames."""


FIRST_S = 2.0
"""The first burst of a search; RFC 2544 §26.4: "the trial length MUST be at least 2 seconds"."""
SLOWEST = 0.9
"""Share of the maximum rate below which the frames are no burst."""


@dataclass(frozen=True)
class _Rates:
    """Rates of one frame size, in frames/s."""

    maximum: float
    throughput: float
    above: float
    """The lowest load above the throughput that is known to lose frames, or the throughput itself."""
    by_tester: bool


@dataclass(frozen=True)
class _Longest:
    """The outcome of one search; `record` is the longest burst that passed, if any did."""

    frames: int
    at_limit: bool
    record: TrialRecord | None


def back_to_back(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'burst' (average, RFC 9004's benchmark), 'burst_min', 'burst_max', 'burst_deviation' (frames),
    'implied_buffer' and 'corrected_buffer' (ns), 'tests' (N).

    A size whose throughput is the maximum rate has no figures: no burst fills a buffer then (RFC 9004 §6.1).
    """
    settings = inputs.plan.settings_of(BackToBackSettings)
    rows, bounded = [], {}
    for size in inputs.plan.frame_bytes:
        throughput, above = yield from _throughput(inputs, size)
        maximum, by_tester = yield from maximum_rate(inputs, size, min(FIRST_S, settings.limit_s))
        rates = _Rates(maximum, throughput, min(above, maximum), by_tester)
        if by_tester:
            bounded[size] = maximum
        if _reason(inputs, rates):
            rows.append(Row(frame_bytes=size, figures={}, remark=_reason(inputs, rates)))
            continue
        found = []
        for test in range(1, settings.repetitions + 1):
            longest = yield from _search(inputs, size, rates, test)
            if longest is not None:
                found.append(longest)
        rows.append(_row(inputs, size, rates, found))
    step = f"{settings.step_frames} frame{'s' if settings.step_frames > 1 else ''}"
    remarks = [
        plural(
            "RFC 9004 §7: N = {count} test, step {step}, bursts of up to {limit_s:g} s; binary search from {first:g} "
            "s on, doubled until frames are lost, then bursts that end before the first frame lost, or halfway.",
            "RFC 9004 §7: N = {count} tests, step {step}, bursts of up to {limit_s:g} s; binary search from "
            "{first:g} s on, doubled until frames are lost, then bursts that end before the first frame lost, or "
            "halfway.",
            count=settings.repetitions,
            step=step,
            limit_s=settings.limit_s,
            first=min(FIRST_S, settings.limit_s),
        )
    ]
    if bounded:
        most = join_texts(
            ", ",
            [phrase("{fps:,.0f} frames/s at {size} byte", fps=fps, size=size) for size, fps in bounded.items()],
        )
        remarks.append(
            phrase("The maximum rate is what the tester can offer, not that of a medium: {most}.", most=most)
        )
    return Result(
        measurement="back_to_back",
        rows=rows,
        deviations=deviations_of(inputs.plan) + deviations.rfc2544(inputs.plan, inputs.capabilities.simulated),
        remarks=remarks,
    )


def _throughput(inputs: MethodInput, size: int) -> Generator[Trial, TrialRecord, tuple[float, float]]:
    """The throughput of a size, of an earlier method or of a search now, and the upper end of its interval."""
    known = known_figure(inputs, size)
    if known is None:
        found = yield from search(inputs, size)
        return found.fps, found.above_fps if found.above_by == "loss" else found.fps
    return known.value, known.value if known.interval is None else known.interval.upper


def _reason(inputs: MethodInput, rates: _Rates) -> str:
    """Why no burst can exercise a buffer; empty if one can."""
    if rates.throughput == 0:
        return NO_LOAD_PASSES
    # RFC 9004 §6.1: only sizes "whose Measured Throughput [...] was less than the Max Theoretical Frame Rate".
    resolution = inputs.plan.settings_of(ThroughputSettings).resolution_percent / 100
    if rates.throughput >= rates.maximum * (TESTER_MARGIN if rates.by_tester else 1 - resolution):
        return phrase("buffer not exercised: the throughput is the maximum rate")
    return ""


def _search(inputs: MethodInput, size: int, rates: _Rates, test: int) -> Generator[Trial, TrialRecord, _Longest | None]:
    """The longest clean burst; None if the tester disturbed every repetition of a trial."""
    settings = inputs.plan.settings_of(BackToBackSettings)
    limit = max(1, int(settings.limit_s * rates.maximum))
    passed, failed = 0, limit + settings.step_frames + 1  # nothing has failed yet
    frames = min(limit, ceil(FIRST_S * rates.maximum))
    best: TrialRecord | None = None
    while failed - passed > settings.step_frames:
        record = yield from _burst(inputs, size, frames, rates, test)
        if record is None:
            return None
        first = _first_lost(record)
        if record.facts.tracked.forwarded_frames == record.facts.sent.offered_frames:
            passed, best = frames, record
            if frames == limit:
                return _Longest(limit, True, best)
            # RFC 9004 §6.2: "If all frames have been received, the tester increases the length of the burst".
            frames = min(2 * frames, limit) if failed > limit else (passed + failed) // 2
        elif first is not None and passed <= first < frames:
            failed, frames = first + 1, first
        else:
            failed = frames
            frames = (passed + failed) // 2
    return _Longest(passed, False, best)


def _burst(
    inputs: MethodInput, size: int, frames: int, rates: _Rates, test: int
) -> Generator[Trial, TrialRecord, TrialRecord | None]:
    settings = inputs.plan.settings_of(BackToBackSettings)
    seconds = frames / rates.maximum
    trial = inputs.trial(
        phrase(
            "burst {frames}, test {test} of {repetitions}, {size} byte",
            frames=frames,
            test=test,
            repetitions=settings.repetitions,
            size=size,
        ),
        size,
        rates.maximum,
        seconds,
    )
    # RFC 9004 §6.2: "The time to receive the transferred burst", then "At least 2 seconds not overlapping" it.
    behind_s = min(settings.limit_s, frames / rates.throughput - seconds)
    drain_ns = trial.phases.drain_ns + round(max(0.0, behind_s) * NS_PER_S)
    trial = trial.model_copy(update={"phases": trial.phases.model_copy(update={"drain_ns": drain_ns})})
    for _ in range(1 + RETRIES):
        record = yield trial
        if record.valid and record.offered_fps >= SLOWEST * rates.maximum:
            return record
    return None


def _first_lost(record: TrialRecord) -> int | None:
    """How many frames of the burst arrived before the first that did not; None if several streams share the burst."""
    if len(record.facts.streams) != 1:
        return None
    tracked = record.facts.streams[0].tracked
    missing = [gap.first for gap in tracked.lost[:1]] + [first for first, _ in tracked.corrupt.ranges[:1]]
    return min(missing, default=None)


def _row(inputs: MethodInput, size: int, rates: _Rates, found: list[_Longest]) -> Row:
    if not found:
        return Row(
            frame_bytes=size,
            figures={},
            remark=phrase("the tester could not send a burst at the maximum rate reliably"),
        )
    lengths = [longest.frames for longest in found]
    settings = inputs.plan.settings_of(BackToBackSettings)
    average = sum(lengths) / len(lengths)
    scattered = len(lengths) > 1
    scatter = expanded(budget.standard_uncertainty(budget.repeatability("repeatability", lengths)))
    uncertainty = None if not scattered else scatter + settings.step_frames - 1
    figures = {
        "burst": Quantity(value=average, unit="frames", uncertainty=uncertainty),
        "burst_min": observed(Quantity(value=min(lengths), unit="frames", uncertainty=settings.step_frames - 1)),
        "burst_max": observed(Quantity(value=max(lengths), unit="frames", uncertainty=settings.step_frames - 1)),
        "implied_buffer": _implied(average, uncertainty, rates, inputs.bias.exact),
        "corrected_buffer": _corrected(
            average, uncertainty, rates, inputs.bias.exact, inputs.plan.settings_of(ThroughputSettings).trial_s
        ),
        "tests": Quantity(value=len(found), unit="", uncertainty=0.0),
    }
    if scattered:
        figures["burst_deviation"] = budget.spread(lengths, "frames")
    remarks = []
    if any(longest.at_limit for longest in found):
        # RFC 9004 §6.2: results "at or near the configured upper limit are likely invalid".
        remarks.append(
            phrase("the longest burst tried, {limit_s:g} s, was forwarded: raise the limit", limit_s=settings.limit_s)
        )
    if len(found) < settings.repetitions:
        remarks.append(
            phrase(
                "the tester disturbed {disturbed} of {every} tests",
                disturbed=settings.repetitions - len(found),
                every=settings.repetitions,
            )
        )
    shown = max(found, key=lambda longest: longest.frames).record
    return Row(
        frame_bytes=size, figures=figures, trial=shown.index if shown else None, remark=join_texts("; ", remarks)
    )


def _implied(burst: float, uncertainty: float | None, rates: _Rates, exact: bool) -> Quantity:
    """RFC 9004 §6.4: how long a burst lasts that the buffer just holds."""
    value_ns = burst / rates.maximum * NS_PER_S
    if uncertainty is None:
        return Quantity(value=value_ns, unit="ns")
    parts = [
        budget.normal(phrase("longest burst"), uncertainty / COVERAGE_FACTOR, sensitivity=NS_PER_S / rates.maximum),
        budget.rectangular(phrase("maximum rate"), ARITHMETIC_NS if exact else LINK_TOLERANCE * value_ns),
    ]
    return budget.figure(value_ns, "ns", parts)


def _corrected(burst: float, uncertainty: float | None, rates: _Rates, exact: bool, trial_s: float) -> Quantity:
    """RFC 9004 §6.4: frames forwarded while the burst arrived were never in the buffer.

    The rate at which it empties may be as high as the load above the throughput, which lost frames. It may also be
    lower than the throughput, whose trial of `trial_s` the buffer itself has helped to pass.
    """
    implied = _implied(burst, uncertainty, rates, exact)
    share, least = (1 - rate / rates.maximum for rate in (rates.throughput, rates.above))
    value_ns = implied.value * share
    if implied.uncertainty is None:
        return Quantity(value=value_ns, unit="ns")
    side, helped = implied.uncertainty * share, burst * share / trial_s / rates.maximum
    lower = value_ns - math.hypot(side, implied.value * (share - least))
    upper = value_ns + math.hypot(side, implied.value * helped)
    return Quantity(value=value_ns, unit="ns", interval=Interval(lower=lower, upper=upper))


def deviations_of(plan: Plan) -> list[str]:
    """RFC 2544 §26.4 and RFC 9004 §6.2, which asks for waits longer than 2 s after bursts longer than 2 s."""
    used = plan.settings_of(BackToBackSettings)
    found = searched(plan)
    if used.repetitions < BackToBackSettings().repetitions:
        found.append(
            plural(
                "RFC 2544 §26.4: {count} test instead of at least 50 (RFC 9004 §6.3: a number to report)",
                "RFC 2544 §26.4: {count} tests instead of at least 50 (RFC 9004 §6.3: a number to report)",
                count=used.repetitions,
            )
        )
    if plan.phases.drain_s < PhaseSettings().drain_s:
        found.append(
            phrase(
                "RFC 9004 §6.2: the wait after the last frame is {drain_s:g} s instead of at least 2 s",
                drain_s=plan.phases.drain_s,
            )
        )
    if used.limit_s > max(PhaseSettings().drain_s, plan.phases.drain_s):
        found.append(
            phrase(
                "RFC 9004 §6.2: the wait after the last expected frame of any burst is {drain_s:g} s, not"
                " longer after a burst of more than 2 s",
                drain_s=plan.phases.drain_s,
            )
        )
    return found


PROCEDURE = Procedure(
    name="back_to_back",
    title=phrase("Back-to-back frames"),
    standard="RFC 2544 §26.4, RFC 9004",
    summary="The longest burst at the maximum rate without a lost frame, and the buffer size that follows from it.",
    settings=BackToBackSettings,
    of_cpu=True,
    generator=back_to_back,
    figure="burst",
    units={"frames": "burst burst_min burst_max burst_deviation", "ns": "implied_buffer corrected_buffer", "": "tests"},
    example="keisoku back-to-back --dut lab:bridge --size 64 --search 2s --limit 2s --repetitions 3 --waits 0.1s",
    searches=True,
    over_two_hosts="counts",
)
