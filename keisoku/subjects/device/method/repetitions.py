"""Common parts of RFC 8219's procedures: the repetitions, and their medians.

RFC 8219 §7.2 and §7.3: "The test MUST be repeated at least 20 times with the reported value being the
median of the recorded values"; the 1st and 99th percentiles of the repetitions stand beside it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Generator, Sequence

from keisoku.ground.host.full_speed import FULL
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.language import phrase, plural
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import RETRIES, beyond_tester
from keisoku.subjects.device.record.counts import Latency
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import disturbances

SHORT_NS = 1_000_000_000
"""A longer trial has fast and slow spells of its core, and repeating it would not change their shares."""


def repeat(
    inputs: MethodInput, purpose: str, size: int, fps: float, seconds: float, trials: int, **more: int
) -> Generator[Trial, TrialRecord, list[TrialRecord]]:
    """So many trials, each repeated while the tester disturbs it; trials that remained disturbed are included.

    Of a load that the tester cannot offer there is one only.

    `more` are the trial's `tag` or `variation`.
    """
    records = []
    for number in range(1, trials + 1):
        trial = inputs.latency_trial(
            phrase(
                "{purpose} {number} of {trials}, {size} byte", purpose=purpose, number=number, trials=trials, size=size
            ),
            size,
            fps,
            seconds,
            **more,
        )
        records.append((yield from repetition(trial)))
        if out_of_reach(records[-1]):
            break
    return records


def out_of_reach(record: TrialRecord) -> bool:
    """Clearly fewer frames were offered than intended, and nobody disturbed: no repetition of this load is valid."""
    return beyond_tester(record) and not disturbances(record.trial, record.facts)


def repetition(trial: Trial, attempts: int = RETRIES) -> Generator[Trial, TrialRecord, TrialRecord]:
    """The trial, again while the tester disturbs it; a short one also if its core worked below its full speed.

    Of several valid ones it is the one at the highest speed. Loss plays no part.
    """
    tried: list[TrialRecord] = []
    while len(tried) < attempts:
        record = yield trial
        tried.append(record)
        if (record.valid and (trial.duration_ns > SHORT_NS or record.facts.slowdown <= FULL)) or out_of_reach(record):
            break
    return max(tried, key=lambda record: (record.valid, -record.facts.slowdown))


def at_full_speed(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those of the records whose core worked at its full speed; all of them where fewer than two did."""
    full = [record for record in records if record.facts.slowdown <= FULL]
    return full if len(full) >= 2 else list(records)


def device_slowdown(records: Sequence[TrialRecord]) -> float:
    """How many times as long the core of the lab's device took for the same work as at its full speed, on average."""
    return statistics.fmean(record.facts.device_slowdown for record in records)


def slowed(records: Sequence[TrialRecord]) -> str:
    """A remark on trials whose core worked below its full speed; empty if none did."""
    low = [record.facts.slowdown for record in records if record.facts.slowdown > FULL]
    if not low:
        return ""
    speed = 100 / statistics.fmean(low)
    return phrase(
        "in {slow} of {every} trials the tester's CPU worked at {speed:.0f} % of its full speed",
        slow=len(low),
        every=len(records),
        speed=speed,
    )


def spoiled(records: Sequence[TrialRecord]) -> str:
    """A remark on trials that are left out because they are invalid; empty if none is."""
    found = sum(not record.valid for record in records)
    return (
        plural(
            "{count} of {trials} trials was disturbed by the tester and left out",
            "{count} of {trials} trials were disturbed by the tester and left out",
            count=found,
            trials=len(records),
        )
        if found
        else ""
    )


def summary(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, 1st and 99th percentile of repetitions (nearest rank, RFC 2330 §11.3), in their unit."""
    ranked = sorted(values)
    low, high = (ranked[max(1, math.ceil(share * len(ranked))) - 1] for share in (0.01, 0.99))
    return statistics.median(ranked), low, high


def error_of_median(trials: int, error: float) -> float:
    """Standard error of the median of so many trials, from that of one trial, in its unit."""
    return error * (math.sqrt(math.pi / 2 / trials) if trials > 2 else 1 / math.sqrt(trials))


def corrected_percentile(
    inputs: MethodInput, value_ns: float, own: Sequence[Contribution], trial: Trial, latencies: Sequence[Latency]
) -> Quantity:
    """A percentile of these latencies, with what is uncertain of it besides the tester, less the tester's own."""
    size, fps = trial.frame_bytes, trial.frames_per_second
    steps = inputs.bias.percentile_share(value_ns, fps, latencies)
    return inputs.bias.corrected(value_ns, size, fps, single_frame=True, own=own, steps=steps)


def difference(inputs: MethodInput, value_ns: float, own: Sequence[Contribution], record: TrialRecord) -> Quantity:
    """A difference of two frames' latencies: the bias cancels, the scatter of two single frames does not."""
    correction = inputs.bias.correction(record.trial.frame_bytes, record.trial.frames_per_second)
    if correction is None:
        return Quantity(value=value_ns, unit="ns")
    return budget.figure(value_ns, "ns", [*own, *correction.of_frame, *correction.of_frame])
