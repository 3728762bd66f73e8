"""Latency of every frame at the throughput rate, where differing clocks make it grow, and at a rate just below.

This repeats the published measurements of latency drift (E3). Growth is attributed to a clock only if it stops at the
lower rate.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from statistics import fmean

from pydantic import Field

from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics.line_fit import POINTS_MIN, fit_line
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.uncertainty import combine, expanded, half_width, rectangular
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis.definitions import latencies
from keisoku.subjects.device.analysis.drift import MARGIN_PPM, TOLERANCE_PPM, Drift, cause, difference, drift, is_same
from keisoku.subjects.device.analysis.port_groups import PortPair
from keisoku.subjects.device.analysis.samples import STAMP_NS, Sample, by_count, due_gap_ns, samples_of
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.repetitions import repetition
from keisoku.subjects.device.method.search import NO_LOAD_PASSES, known_throughput, search
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.plan.settings import ThroughputSettings
from keisoku.subjects.device.record.counts import Tracked
from keisoku.subjects.device.record.total import all_tracked
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid


class ClockMismatchSettings(Settings):
    """Latency of every frame at the throughput rate, and at a lower rate without drift (published measurements, E3)."""

    trial_s: float = Field(60.0, gt=0)
    repetitions: int = Field(3, ge=1)
    """Number of trials at each rate, whose results are averaged."""
    rate_fps: Load | None = None
    """The first rate (default: the measured throughput of each size)."""
    lowered_percent: float | None = Field(None, gt=0, lt=100)
    """The second rate as a share of the first, such as 99.4 (default: just below the rate at which latency drifts)."""


LINE_RATE = phrase("line rate")
AT_RATE = phrase("throughput rate")
_FASTER = phrase("no frame waits for a port that is faster than the load, so that its mismatch does not show")
_ROUNDING_PPM = 2 * 1e6 * 2**-53
"""Of a ratio of two rates that is nearly one, and of its difference from one."""
_AT_LINE = 1 - 1e-9
"""Share of the line rate from which on a load is that rate, whatever the arithmetic."""
SAW_TOOTH = 0.02
"""A full queue that is never empty is linear to so much of a frame's time, once lost frames are counted as waiting."""
DIFFERENT_PPM = 0.5
"""A crystal's frequency may change by so much between sizes of one run."""


def clock_mismatch(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """Rows of a size: case 'throughput rate', then the lowered rate ('99.4 %'), each for all ports and for each way.

    'min', 'mean', 'max' of every frame (ns, FIFO; of all ports the extremes), likewise 'lifo_min', 'lifo', 'lifo_max'
    where the link has a rate, averaged over the trials; 'slope' (ns/s) and 'mismatch' (ppm), for all ports those of
    the port that drifts most; 'offered' (frames/s), 'lost' (frames). Remarks name the cause of growing latency.
    """
    rows: list[Row] = []
    remarks: list[str] = []
    found: dict[PortPair, dict[int, Drift]] = {}
    for size in inputs.plan.frame_bytes:
        yield from _size(inputs, size, rows, remarks, found)
    plan, settings = inputs.plan, inputs.plan.settings_of(ClockMismatchSettings)
    remarks += _between_sizes(inputs, found)
    deviations = []
    if settings.trial_s < 60:
        deviations.append(
            phrase("published procedure: frames are sent for {trial_s:g} s instead of 60 s", trial_s=settings.trial_s)
        )
    if settings.repetitions < 3:
        deviations.append(
            plural(
                "published procedure: {count} trial instead of 3",
                "published procedure: {count} trials instead of 3",
                count=settings.repetitions,
            )
        )
    if settings.rate_fps is not None:
        deviations.append(phrase("published procedure: the first rate was given, not the throughput"))
    if len(plan.port_fields()) == 2 and len(plan.pairs()) == 1:
        deviations.append(phrase("published procedure: one direction of one pair of ports was measured, not each port"))
    if inputs.capabilities.simulated:
        deviations.append(phrase("the DUT is simulated: results describe the model"))
    return Result(measurement="clock_mismatch", rows=rows, deviations=deviations, remarks=remarks)


@dataclass(frozen=True)
class _Load:
    """The trials of one load."""

    case: str
    fps: float
    records: list[TrialRecord]
    drifts: dict[PortPair, Drift | None]
    """How fast a queue without end grows on each way, or timestamps drift."""


def _size(
    inputs: MethodInput, size: int, rows: list[Row], remarks: list[str], found: dict[PortPair, dict[int, Drift]]
) -> Generator[Trial, TrialRecord, None]:
    settings = inputs.plan.settings_of(ClockMismatchSettings)
    rate = inputs.fps(settings.rate_fps, size) or known_throughput(inputs, size)
    if rate is None:
        # Clocks differ by less than the margin that other searches keep below the line rate.
        rate = (yield from search(inputs, size, ceiling_percent=100)).fps
    if rate == 0:
        rows.append(Row(frame_bytes=size, figures={}, remark=NO_LOAD_PASSES))
        return
    loads = []
    line = inputs.line_fps(size)
    if line is not None and settings.rate_fps is None and line * _lowest_share(inputs) <= rate < line * _AT_LINE:
        # A small buffer loses frames at the rate of a slower port, so that the throughput lies below both clocks.
        loads.append((yield from _load(inputs, size, line, LINE_RATE)))
    loads.append((yield from _load(inputs, size, rate, AT_RATE)))
    share = settings.lowered_percent
    if share is None:
        share = _proposed_percent(loads[-1].drifts)
    if share is not None:
        loads.append((yield from _load(inputs, size, rate * share / 100, f"{share:.8g} %")))
    lower = loads[1] if len(loads) > 1 else None
    if lower is not None and any(one is not None and one.is_there for one in lower.drifts.values()):
        lower = loads[-1] if loads[-1] is not loads[0] else None
    first = loads[0]
    for load in loads:
        rows += _rows(inputs, load, lower.drifts if lower is not None and lower is not load else {}, load is first)
    for way, at_rate in first.drifts.items():
        if at_rate is None or not at_rate.is_there:
            continue
        after = lower.drifts.get(way) if lower is not None else None
        lost = any(_of(record, way).lost_frames for record in first.records)
        why = cause(at_rate, after, lost, _below_line_ppm(inputs, first, at_rate))
        own = difference(at_rate, after) if after is not None and after.is_there else at_rate
        if after is not None:
            found.setdefault(way, {})[size] = own
        compared = 100 * lower.fps / first.fps if lower is not None else None
        remarks.append(_sentence(inputs, size, way, at_rate, why, compared))
    remarks += _invisible(inputs, first)


def _lowest_share(inputs: MethodInput) -> float:
    """Of the line rate: lower loads are kept from it by something else than a clock, whatever the search's steps."""
    return 1 - max(2 * inputs.plan.settings_of(ThroughputSettings).resolution_percent / 100, 5 * TOLERANCE_PPM * 1e-6)


def _load(inputs: MethodInput, size: int, rate: float, case: str) -> Generator[Trial, TrialRecord, _Load]:
    records = yield from _trials(inputs, size, rate, case)
    return _Load(case, rate, records, _drifts(inputs, records))


def _invisible(inputs: MethodInput, first: _Load) -> list[str]:
    """What a load below the line rate cannot show."""
    line = inputs.line_fps(first.records[0].trial.frame_bytes)
    unseen = any(drift is not None and not drift.is_there for drift in first.drifts.values())
    if line is None or first.fps >= line * _AT_LINE or not unseen:
        return []
    size = first.records[0].trial.frame_bytes
    below_ppm = 1e6 * (1 - first.fps / line)
    return [
        phrase(
            "{size} byte: the load is {below_ppm:.4g} ppm below the line rate: a port that is "
            "slower by less does not show it",
            size=size,
            below_ppm=below_ppm,
        )
    ]


def _trials(inputs: MethodInput, size: int, rate: float, case: str) -> Generator[Trial, TrialRecord, list[TrialRecord]]:
    settings = inputs.plan.settings_of(ClockMismatchSettings)
    records = []
    for number in range(1, settings.repetitions + 1):
        trial = inputs.trial(
            phrase("{case} {number}, {size} byte", case=case, number=number, size=size), size, rate, settings.trial_s
        )
        records.append((yield from repetition(trial)))
    return records


def _ways(records: Sequence[TrialRecord]) -> list[PortPair]:
    streams = [stream for record in records[:1] for stream in record.facts.streams]
    return list(dict.fromkeys((stream.transmit, stream.receive) for stream in streams))


def _of(record: TrialRecord, way: PortPair) -> Tracked:
    own = [stream.tracked for stream in record.facts.streams if (stream.transmit, stream.receive) == way]
    return own[0] if len(own) == 1 else all_tracked(own, 0)


def _drifts(inputs: MethodInput, records: Sequence[TrialRecord]) -> dict[PortPair, Drift | None]:
    step_ns = inputs.capabilities.resolution_ns
    return {
        way: drift([_samples(record, _of(record, way)) for record in records if record.valid], step_ns)
        for way in _ways(records)
    }


def _samples(record: TrialRecord, tracked: Tracked) -> list[Sample]:
    """Of a queue without end, where it is a queue that loses frames: one that has grown by a frame."""
    own = samples_of(record, tracked)
    grown_ns = max((one.max_ns for one in own), default=0) - min((one.min_ns for one in own), default=0)
    return by_count(record, tracked, waiting=grown_ns > due_gap_ns(record) / 2)


def _proposed_percent(drifts: dict[PortPair, Drift | None]) -> float | None:
    """Just below the slowest port; None if latency does not grow anywhere."""
    growing = [one.ppm + 2 * one.ppm_error for one in drifts.values() if one and one.is_there and one.slope > 0]
    return 100 * (1 - (max(growing) + MARGIN_PPM) * 1e-6) if growing and max(growing) < 1e6 - MARGIN_PPM else None


def _offered_fps(load: _Load) -> tuple[float, float]:
    """The offered load of a port, and by how much it may be wrong: by the steps of two stamps over the trials."""
    valid = [record for record in load.records if record.valid]
    fps = fmean(NS_PER_S / due_gap_ns(record) for record in valid)
    if all(NS_PER_S / due_gap_ns(record) == record.trial.frames_per_second for record in valid):
        return fps, 0.0
    return fps, fps * STAMP_NS / sum(record.facts.sent.going_ns for record in valid)


def _below_line_ppm(inputs: MethodInput, load: _Load, at_rate: Drift) -> float | None:
    """How far below the link's rate frames leave while their queue grows."""
    line = inputs.line_fps(load.records[0].trial.frame_bytes)
    if line is None:
        return None
    return _below_ppm(_offered_fps(load)[0], line, at_rate)


def _below_ppm(offered_fps: float, line_fps: float, at_rate: Drift) -> float:
    return (1 - offered_fps / (1 + at_rate.ppm * 1e-6) / line_fps) * 1e6


def _mismatch(inputs: MethodInput, load: _Load, way: PortPair, after: Drift | None) -> Quantity | None:
    """By how much a port is slower than the line by the tester's clock, in ppm.

    A port sends at its own rate only while frames wait for it. Otherwise its rate is at least that at which they left:
    a bound, which is far from the truth if the load is far below the line. Without a rate of the link, or where only
    the timestamps drift, it is how fast latency changes.
    """
    at_rate = load.drifts[way]
    if at_rate is None:
        return None
    line = inputs.line_fps(load.records[0].trial.frame_bytes)
    if after is not None and after.is_there:
        if is_same(at_rate, after):
            line = None
        else:
            at_rate = difference(at_rate, after)
    if line is None:
        return Quantity(value=at_rate.ppm, unit="ppm", uncertainty=expanded(at_rate.ppm_error))
    offered_fps, wrong_fps = _offered_fps(load)
    error_ppm = expanded(
        combine(at_rate.ppm_error, rectangular(1e6 * wrong_fps / offered_fps), rectangular(_ROUNDING_PPM))
    )
    valid = [(record, _of(record, way)) for record in load.records if record.valid]
    idle = [_idle_ns(record, tracked) for record, tracked in valid]
    if at_rate.is_there and all(ns is not None for ns in idle):
        idle_ppm = 1e-3 * fmean(ns or 0.0 for ns in idle) / at_rate.seconds
        error_ppm = math.hypot(error_ppm, expanded(rectangular(idle_ppm)))
        return Quantity(value=_below_ppm(offered_fps, line, at_rate), unit="ppm", uncertainty=error_ppm)
    # Jitter hides a queue that stays shorter than it; frames that are lost may have been those too many.
    latencies = [tracked.latency for _, tracked in valid if tracked.latency is not None]
    hidden_ppm = 1e-3 * max(one.max_ns - one.min_ns for one in latencies) / at_rate.seconds
    lost = max(tracked.lost_frames / (tracked.lost_frames + tracked.forwarded_frames) for _, tracked in valid)
    most_ppm = 1e6 * (1 - offered_fps / line) + hidden_ppm + 1e6 * lost + error_ppm
    return Quantity(value=most_ppm, unit="ppm", bound="at most")


def _idle_ns(record: TrialRecord, tracked: Tracked) -> float | None:
    """For how long at most the port had no frame while its queue was one; None if it is not known to be busy.

    Frames wait all the time while latency grows without loss, and in a full buffer of several frames. One that loses
    each frame just before it is empty may be empty by as much as frames jitter.
    """
    if not tracked.lost_frames:
        return 0.0
    own, gap_ns = samples_of(record, tracked), due_gap_ns(record)
    least_ns = min(one.min_ns for one in own)
    later = own[len(own) // 2 :]
    if min(one.min_ns for one in later) - least_ns > gap_ns / 2:
        return 0.0
    straight = by_count(record, tracked, waiting=True)[len(own) // 2 :]
    if len(straight) < POINTS_MIN:
        return None
    fit = fit_line([one.at_s for one in straight], [one.mean_ns for one in straight])
    if float(abs(fit.residuals).max()) > SAW_TOOTH * gap_ns:
        return None
    empty = [one.min_ns - least_ns for one in own if one.min_ns - least_ns < gap_ns / 4]
    return max(empty) * tracked.lost_frames


def _rows(inputs: MethodInput, load: _Load, after: dict[PortPair, Drift | None], bounds: bool) -> list[Row]:
    """All ports together, with the slope and the offset of the one that drifts most; then each way if there are
    several. Only the highest load's rows have an offset that is merely a bound."""
    mismatches = {way: _mismatch(inputs, load, way, after.get(way)) for way in load.drifts}
    mismatches = {way: one for way, one in mismatches.items() if one is not None and (bounds or not one.bound)}
    known = [(way, one) for way, one in load.drifts.items() if one is not None]
    most = max(known, key=lambda pair: abs(pair[1].slope), default=None)
    whole = [record.facts.tracked for record in load.records]
    of_most = (most[1], mismatches.get(most[0])) if most else (None, None)
    rows = [_row(inputs, load, load.case, whole, *of_most)]
    if len(load.drifts) > 1:
        rows += [
            _row(
                inputs,
                load,
                f"{load.case}, {_name(inputs, way)}",
                [_of(record, way) for record in load.records],
                one,
                mismatches.get(way),
            )
            for way, one in load.drifts.items()
        ]
    return rows


def _row(
    inputs: MethodInput, load: _Load, case: str, tracked: list[Tracked], found: Drift | None, mismatch: Quantity | None
) -> Row:
    records = load.records
    size = records[0].trial.frame_bytes
    good = [one for record, one in zip(records, tracked, strict=True) if record.valid]
    measured = [one.latency for one in good if one.latency is not None]
    if not measured:
        remark = join_texts("; ", why_invalid(records[0])) or phrase("nothing was forwarded")
        return Row(frame_bytes=size, case=case, figures={}, trial=records[0].index, remark=remark)
    fps = fmean(record.offered_fps for record in records if record.valid)
    figures = {
        name: _averaged(inputs, size, fps, [getattr(one, f"{name}_ns") for one in measured], single=name != "mean")
        for name in ("min", "mean", "max")
    }
    speed = inputs.capabilities.link_bits_per_second
    if speed is not None and not inputs.plan.mix:
        for name, lifo in (("min", "lifo_min"), ("mean", "lifo"), ("max", "lifo_max")):
            value_ns = latencies(figures[name].value, speed, size).lifo_ns
            figures[lifo] = figures[name].model_copy(update={"value": value_ns})
    if found is not None:
        error = expanded(found.reach)
        figures["slope"] = Quantity(value=found.slope, unit="ns/s", uncertainty=error)
    if mismatch is not None:
        figures["mismatch"] = mismatch
    figures["offered"] = Quantity(value=fps, unit="frames/s")
    figures["lost"] = Quantity(value=sum(one.lost_frames for one in good), unit="frames", uncertainty=0.0)
    shown = next(record for record in records if record.valid)
    remark = _FASTER if mismatch is not None and mismatch.bound else ""
    return Row(frame_bytes=size, case=case, figures=figures, trial=shown.index, remark=remark)


def _averaged(inputs: MethodInput, size: int, fps: float, values_ns: list[float], single: bool) -> Quantity:
    """The mean over trials; its uncertainty comes from the tester and from the scatter of the trials."""
    found = inputs.bias.corrected(fmean(values_ns), size, fps, single_frame=single)
    if found.uncertainty is None or len(values_ns) < 2:
        return found
    return found.model_copy(update={"uncertainty": math.hypot(found.uncertainty, half_width(values_ns))})


def _name(inputs: MethodInput, way: PortPair) -> str:
    ports = [port for _, port in inputs.plan.port_fields()]
    return phrase("{one} to {other}", one=ports[way[0]], other=ports[way[1]])


def _sentence(inputs: MethodInput, size: int, way: PortPair, at_rate: Drift, why: str, share: float | None) -> str:
    grows = "grows" if at_rate.slope > 0 else "falls"
    said = phrase(
        "{size} byte, {way}: latency {latency} by {grows:.4g} ± {error:.2g} ns/s, {ppm:.4g} "
        "± {ppm_error:.2g} ppm: {why}",
        size=size,
        way=_name(inputs, way),
        latency=grows,
        grows=abs(at_rate.slope),
        error=expanded(at_rate.reach),
        ppm=abs(at_rate.ppm),
        ppm_error=expanded(at_rate.ppm_error),
        why=why,
    )
    if at_rate.wander:
        said = join_texts("; ", [said, phrase("it changes during a trial: the error is the range of its parts")])
    return said + (phrase("; compared with {share:.8g} % of the rate", share=share) if share is not None else "")


def _between_sizes(inputs: MethodInput, found: dict[PortPair, dict[int, Drift]]) -> list[str]:
    """A clock's mismatch is the same for frames of any size."""
    said = []
    for way, drifts in found.items():
        if len(drifts) < 2:
            continue
        low, high = min(drifts, key=lambda size: drifts[size].ppm), max(drifts, key=lambda size: drifts[size].ppm)
        apart = difference(drifts[high], drifts[low])
        if apart.ppm > DIFFERENT_PPM + 3 * apart.ppm_error:
            said.append(
                phrase(
                    "{way}: {ppm:.4g} ppm at {low} byte and {ppm_high:.4g} ppm at {high} byte: a clock "
                    "mismatch does not depend on the size, a processing time of each frame does",
                    way=_name(inputs, way),
                    ppm=drifts[low].ppm,
                    low=low,
                    ppm_high=drifts[high].ppm,
                    high=high,
                )
            )
    return said


PROCEDURE = Procedure(
    name="clock_mismatch",
    title=phrase("Clock mismatch"),
    standard=phrase("every frame at the throughput rate, and at a lower rate"),
    summary="Whether latency grows because clocks differ, by how much, and the rate at which it stops growing.",
    settings=ClockMismatchSettings,
    of_cpu=True,
    generator=clock_mismatch,
    figure="mismatch",
    units={
        "ppm": "mismatch",
        "ns/s": "slope",
        "ns": "min mean max lifo_min lifo lifo_max",
        "frames/s": "offered",
        "frames": "lost",
    },
    example="keisoku clock-mismatch --dut sim:sf4024fl --pattern pairs --ports 1,2,3,4 --size 64 --lowered 99.4",
    searches=True,
    over_time=True,
)
