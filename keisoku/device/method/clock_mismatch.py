"""Latency of every frame at the throughput rate, where differing clocks make it grow, and at a rate just below.

This repeats the published measurements of latency drift (E3). Growth is attributed to a clock only if it stops at the
lower rate.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from statistics import fmean, stdev

from keisoku.analysis.quantity import Quantity
from keisoku.analysis.uncertainty import combine, expanded
from keisoku.device.analysis.definitions import latencies
from keisoku.device.analysis.drift import MARGIN_PPM, Drift, cause, difference, drift
from keisoku.device.analysis.port_groups import PortPair
from keisoku.device.analysis.samples import samples_of
from keisoku.device.method.search import NO_LOAD_PASSES, RETRIES, known_throughput, search
from keisoku.device.method.setting import Setting
from keisoku.device.plan.drift_settings import ClockMismatchSettings
from keisoku.device.record.counts import Tracked
from keisoku.device.record.total import all_tracked
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.run.result import Result, Row

AT_RATE = "throughput rate"
DIFFERENT_PPM = 0.5
"""A crystal's frequency may change by so much between sizes of one run."""


def clock_mismatch(setting: Setting) -> Generator[Trial, TrialRecord, Result]:
    """Rows of a size: case 'throughput rate', then the lowered rate ('99.4 %'), each for all ports and for each way.

    'min', 'mean', 'max' of every frame (ns, FIFO; of all ports the extremes), likewise 'lifo_min', 'lifo', 'lifo_max'
    where the link has a rate, averaged over the trials; 'slope' (ns/s) and 'mismatch' (ppm), for all ports those of
    the port that drifts most; 'offered' (frames/s), 'lost' (frames). Remarks name the cause of growing latency.
    """
    rows: list[Row] = []
    remarks: list[str] = []
    found: dict[PortPair, dict[int, Drift]] = {}
    for size in setting.plan.frame_bytes:
        yield from _size(setting, size, rows, remarks, found)
    plan, settings = setting.plan, setting.plan.of(ClockMismatchSettings)
    remarks += _between_sizes(setting, found)
    deviations = []
    if settings.trial_s < 60:
        deviations.append(f"published procedure: frames are sent for {settings.trial_s:g} s instead of 60 s")
    if settings.repetitions < 3:
        deviations.append(f"published procedure: {settings.repetitions} trials instead of 3")
    if settings.rate_fps is not None:
        deviations.append("published procedure: the first rate was given, not the throughput")
    if len(plan.port_fields()) == 2 and len(plan.pairs()) == 1:
        deviations.append("published procedure: one direction of one pair of ports was measured, not each port")
    if setting.capabilities.simulated:
        deviations.append("the DUT is simulated: results describe the model")
    return Result(measurement="clock_mismatch", rows=rows, deviations=deviations, remarks=remarks)


def _size(
    setting: Setting, size: int, rows: list[Row], remarks: list[str], found: dict[PortPair, dict[int, Drift]]
) -> Generator[Trial, TrialRecord, None]:
    settings = setting.plan.of(ClockMismatchSettings)
    rate = settings.rate_fps or known_throughput(setting, size)
    if rate is None:
        # Clocks differ by less than the margin that other searches keep below the line rate.
        rate = (yield from search(setting, size, ceiling_percent=100)).fps
    if rate == 0:
        rows.append(Row(frame_bytes=size, figures={}, remark=NO_LOAD_PASSES))
        return
    first = yield from _trials(setting, size, rate, AT_RATE)
    drifts = _drifts(first)
    rows += _rows(setting, first, AT_RATE, drifts)
    share = settings.lowered_percent
    if share is None:
        share = _proposed_percent(drifts)
    second: list[TrialRecord] = []
    if share is not None:
        case = f"{share:.8g} %"
        second = yield from _trials(setting, size, rate * share / 100, case)
        rows += _rows(setting, second, case, _drifts(second))
    lowered = _drifts(second)
    for way, at_rate in drifts.items():
        if at_rate is None:
            continue
        lost = any(_of(record, way).lost_frames for record in first)
        after = lowered.get(way)
        why = cause(at_rate, after, lost, _below_line_ppm(setting, first, at_rate))
        own = difference(at_rate, after) if after is not None and after.is_there else at_rate
        if at_rate.is_there and after is not None:
            found.setdefault(way, {})[size] = own
        if at_rate.is_there:
            remarks.append(_sentence(setting, size, way, at_rate, why, share))


def _trials(setting: Setting, size: int, rate: float, case: str) -> Generator[Trial, TrialRecord, list[TrialRecord]]:
    settings = setting.plan.of(ClockMismatchSettings)
    records = []
    for number in range(1, settings.repetitions + 1):
        for _ in range(RETRIES):
            record = yield setting.trial(f"{case} {number}, {size} byte", size, rate, settings.trial_s)
            if record.valid:
                break
        records.append(record)
    return records


def _ways(records: Sequence[TrialRecord]) -> list[PortPair]:
    streams = [stream for record in records[:1] for stream in record.facts.streams]
    return list(dict.fromkeys((stream.transmit, stream.receive) for stream in streams))


def _of(record: TrialRecord, way: PortPair) -> Tracked:
    own = [stream.tracked for stream in record.facts.streams if (stream.transmit, stream.receive) == way]
    return own[0] if len(own) == 1 else all_tracked(own, 0)


def _drifts(records: Sequence[TrialRecord]) -> dict[PortPair, Drift | None]:
    return {
        way: drift([samples_of(record, _of(record, way)) for record in records if record.valid])
        for way in _ways(records)
    }


def _proposed_percent(drifts: dict[PortPair, Drift | None]) -> float | None:
    """Just below the slowest port; None if latency does not grow anywhere."""
    growing = [one.ppm + 2 * one.ppm_error for one in drifts.values() if one and one.is_there and one.slope > 0]
    return 100 * (1 - (max(growing) + MARGIN_PPM) * 1e-6) if growing and max(growing) < 1e6 - MARGIN_PPM else None


def _below_line_ppm(setting: Setting, records: Sequence[TrialRecord], at_rate: Drift) -> float | None:
    """How far below the link's rate frames leave while their queue grows."""
    line = setting.line_fps(records[0].trial.frame_bytes)
    if line is None:
        return None
    served = fmean(record.offered_fps for record in records) * (1 - at_rate.ppm * 1e-6)
    return (1 - served / line) * 1e6


def _rows(setting: Setting, records: list[TrialRecord], case: str, drifts: dict[PortPair, Drift | None]) -> list[Row]:
    """All ports together, then each way if there are several."""
    known = [one for one in drifts.values() if one is not None]
    most = max(known, key=lambda one: abs(one.slope), default=None)
    rows = [_row(setting, records, case, [record.facts.tracked for record in records], most)]
    if len(drifts) > 1:
        rows += [
            _row(setting, records, f"{case}, {_name(setting, way)}", [_of(record, way) for record in records], one)
            for way, one in drifts.items()
        ]
    return rows


def _row(setting: Setting, records: list[TrialRecord], case: str, tracked: list[Tracked], found: Drift | None) -> Row:
    size = records[0].trial.frame_bytes
    good = [one for record, one in zip(records, tracked, strict=True) if record.valid]
    measured = [one.latency for one in good if one.latency is not None]
    if not measured:
        remark = "; ".join(records[0].invalid_because) or "nothing was forwarded"
        return Row(frame_bytes=size, case=case, figures={}, trial=records[0].index, remark=remark)
    fps = fmean(record.offered_fps for record in records if record.valid)
    figures = {
        name: _averaged(setting, size, fps, [getattr(one, f"{name}_ns") for one in measured], single=name != "mean")
        for name in ("min", "mean", "max")
    }
    speed = setting.capabilities.link_bits_per_second
    if speed is not None and not setting.plan.mix:
        for name, lifo in (("min", "lifo_min"), ("mean", "lifo"), ("max", "lifo_max")):
            value_ns = latencies(figures[name].value, speed, size).lifo_ns
            figures[lifo] = figures[name].model_copy(update={"value": value_ns})
    if found is not None:
        error = expanded(found.error)
        figures["slope"] = Quantity(value=found.slope, unit="ns/s", uncertainty=error)
        figures["mismatch"] = Quantity(value=found.ppm, unit="ppm", uncertainty=expanded(found.ppm_error))
    figures["offered"] = Quantity(value=fps, unit="frames/s")
    figures["lost"] = Quantity(value=sum(one.lost_frames for one in good), unit="frames", uncertainty=0.0)
    shown = next(record for record in records if record.valid)
    return Row(frame_bytes=size, case=case, figures=figures, trial=shown.index)


def _averaged(setting: Setting, size: int, fps: float, values_ns: list[float], single: bool) -> Quantity:
    """The mean over trials; its uncertainty comes from the tester and from the scatter of the trials."""
    found = setting.bias.corrected(fmean(values_ns), size, fps, single_frame=single)
    if found.uncertainty is None or len(values_ns) < 2:
        return found
    scatter = stdev(values_ns) / math.sqrt(len(values_ns))
    return found.model_copy(update={"uncertainty": expanded(combine(found.uncertainty / 2, scatter))})


def _name(setting: Setting, way: PortPair) -> str:
    ports = [port for _, port in setting.plan.port_fields()]
    return f"{ports[way[0]]} to {ports[way[1]]}"


def _sentence(setting: Setting, size: int, way: PortPair, at_rate: Drift, why: str, share: float | None) -> str:
    grows = "grows" if at_rate.slope > 0 else "falls"
    said = (
        f"{size} byte, {_name(setting, way)}: latency {grows} by {abs(at_rate.slope):.4g} ± "
        f"{expanded(at_rate.error):.2g} ns/s, {abs(at_rate.ppm):.4g} ± {expanded(at_rate.ppm_error):.2g} ppm: {why}"
    )
    return said + (f"; compared with {share:.8g} % of the rate" if share is not None else "")


def _between_sizes(setting: Setting, found: dict[PortPair, dict[int, Drift]]) -> list[str]:
    """A clock's mismatch is the same for frames of any size."""
    said = []
    for way, drifts in found.items():
        if len(drifts) < 2:
            continue
        low, high = min(drifts, key=lambda size: drifts[size].ppm), max(drifts, key=lambda size: drifts[size].ppm)
        apart = difference(drifts[high], drifts[low])
        if apart.ppm > DIFFERENT_PPM + 3 * apart.ppm_error:
            said.append(
                f"{_name(setting, way)}: {drifts[low].ppm:.4g} ppm at {low} byte and {drifts[high].ppm:.4g} ppm at"
                f" {high} byte: a clock mismatch does not depend on the size, a processing time of each frame does"
            )
    return said
