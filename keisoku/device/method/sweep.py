"""Frame size sweep of the published switch measurements (E1): each size at the smallest gap, one latency value a
second.

A least-squares line is fitted. Where larger sizes are dropped, the largest that passes is found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from keisoku.analysis import budget
from keisoku.analysis.quantity import Quantity
from keisoku.device.method.latency_line import latency_line, samples
from keisoku.device.method.search import CEILING_WITHOUT_LINK_FPS, TESTER_MARGIN, beyond_tester
from keisoku.device.method.setting import Setting
from keisoku.device.plan.settings import SweepSettings
from keisoku.device.record.trial import NS_PER_S, Trial, TrialRecord
from keisoku.run.result import Line, Result, Row


def sweep(setting: Setting) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'latency' (mean, ns) and 'drop' (% of the theoretical maximum); `line` over all samples."""
    records: dict[int, TrialRecord] = {}
    remarks: list[str] = []
    for size in setting.plan.frame_bytes:
        records[size] = yield from _measure(setting, size)
    passing = [size for size, record in records.items() if _passes(record)]
    failing = [size for size, record in records.items() if not _passes(record) and size > max(passing, default=0)]
    if passing and failing:
        largest = yield from _bisect(setting, max(passing), min(failing), records, _passes)
        remarks.append(
            f"largest frame forwarded without loss: {largest} byte; frames of {largest + 1} byte are dropped"
        )
        some, none = _parted(records, _arrives)
        if some > largest and none is not None:
            some = yield from _bisect(setting, some, none, records, _arrives)
            remarks.append(f"largest frame size of which a part was forwarded: {some} byte")
    elif passing:
        remarks.append(f"largest frame tried, {max(passing)} byte, was forwarded without loss: the limit lies above")
    else:
        remarks.append("no size was forwarded without loss")
    limited = [size for size, record in sorted(records.items()) if not record.valid]
    if limited:
        remarks.append(f"the tester could not offer the smallest gap at {', '.join(map(str, limited))} byte")
    rows = [_row(setting, record) for _, record in sorted(records.items())]
    plan = setting.plan
    given = plan.of(SweepSettings).rate_fps is not None
    found = ["published procedure: frames were sent at a given rate, not at the smallest gap"] if given else []
    if setting.capabilities.simulated:
        found.append("the DUT is simulated: results describe the model")
    return Result(measurement="sweep", rows=rows, line=_line(setting, records), deviations=found, remarks=remarks)


def _measure(setting: Setting, size: int) -> Generator[Trial, TrialRecord, TrialRecord]:
    """A trial at the smallest gap, or at the smallest one that the tester can send."""
    settings = setting.plan.of(SweepSettings)
    rate = settings.rate_fps or setting.line_fps(size) or CEILING_WITHOUT_LINK_FPS
    while True:
        record = yield setting.latency_trial(
            f"sweep {size} byte",
            size,
            rate,
            settings.trial_s,
            interval_ns=round((settings.sample_s or min(1.0, settings.trial_s / 10)) * NS_PER_S),
        )
        if not beyond_tester(record):
            return record
        rate *= TESTER_MARGIN * record.offered_share


def _bisect(
    setting: Setting,
    passing: int,
    failing: int,
    records: dict[int, TrialRecord],
    passes: Callable[[TrialRecord], bool],
) -> Generator[Trial, TrialRecord, int]:
    while failing - passing > 1:
        middle = (passing + failing) // 2
        records[middle] = yield from _measure(setting, middle)
        if passes(records[middle]):
            passing = middle
        else:
            failing = middle
    return passing


def _parted(records: dict[int, TrialRecord], passes: Callable[[TrialRecord], bool]) -> tuple[int, int | None]:
    """The largest size that passes, and the smallest size above it of which no frame passes."""
    passing = max((size for size, record in records.items() if passes(record)), default=0)
    return passing, min((size for size in records if size > passing), default=None)


def _arrives(record: TrialRecord) -> bool:
    return record.facts.tracked.forwarded_frames > 0


def _passes(record: TrialRecord) -> bool:
    return record.facts.tracked.forwarded_frames == record.facts.sent.offered_frames


def _line(setting: Setting, records: dict[int, TrialRecord]) -> Line | None:
    points, corrections = [], []
    for size, record in sorted(records.items()):
        if _passes(record):
            correction = setting.bias.at(size, record.offered_fps)
            bias_ns = correction.bias_ns if correction else 0.0
            corrections += [correction] if correction else []
            points += [(float(size), sample - bias_ns) for sample in samples(record)]
    return latency_line(
        points, corrections, sizes_min=3, mean_error_ns=setting.capabilities.mean_error_ns, rate=setting.bias.rate
    )


def _row(setting: Setting, record: TrialRecord) -> Row:
    trial, tracked = record.trial, record.facts.tracked
    line = setting.line_fps(trial.frame_bytes)
    # Shortfall of received frames against the theoretical maximum; below that load, against the offered frames.
    at_line = line is not None and trial.frames_per_second >= line
    expected = record.intended_frames if at_line else record.facts.sent.offered_frames
    figures = {
        "drop": Quantity(value=100 * (expected - tracked.forwarded_frames) / expected, unit="%", uncertainty=0.0),
        "offered": Quantity(value=record.offered_fps, unit="frames/s"),
    }
    if tracked.latency is not None:
        figures["latency"] = setting.bias.corrected(
            tracked.latency.mean_ns,
            trial.frame_bytes,
            record.offered_fps,
            single_frame=False,
            own=budget.repeatability("repeatability of the samples", samples(record)),
        )
    return Row(
        frame_bytes=trial.frame_bytes,
        figures=figures,
        trial=record.index,
        remark="; ".join(record.invalid_because),
    )
