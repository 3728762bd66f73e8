"""Common parts of RFC 8219's procedures: the load, the repetitions, and their medians.

RFC 8219 §7.2 and §7.3: "The test MUST be repeated at least 20 times with the reported value being the
median of the recorded values"; the 1st and 99th percentiles of the repetitions stand beside it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Generator, Sequence

from keisoku.analysis import budget
from keisoku.analysis.quantity import Contribution, Quantity
from keisoku.device.method.search import RETRIES, throughput_of
from keisoku.device.method.setting import Setting
from keisoku.device.record.trial import Trial, TrialRecord


def load(setting: Setting, size: int, rate_fps: float | None) -> Generator[Trial, TrialRecord, float]:
    """Frames/s to measure at: as given, or the throughput ("the determined throughput rate"); 0 if there is none."""
    return (yield from throughput_of(setting, size)) if rate_fps is None else rate_fps


def repeat(
    setting: Setting, purpose: str, size: int, fps: float, seconds: float, trials: int, **more: int
) -> Generator[Trial, TrialRecord, list[TrialRecord]]:
    """So many trials, each repeated while the tester disturbs it; trials that remained disturbed are included.

    `more` are the trial's `tag` or `variation`.
    """
    records = []
    for number in range(1, trials + 1):
        for _ in range(RETRIES):
            record = yield setting.trial(f"{purpose} {number} of {trials}, {size} byte", size, fps, seconds, **more)
            if record.valid:
                break
        records.append(record)
    return records


def summary(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, 1st and 99th percentile of repetitions (nearest rank, RFC 2330 §11.3)."""
    ranked = sorted(values)
    low, high = (ranked[max(1, math.ceil(share * len(ranked))) - 1] for share in (0.01, 0.99))
    return statistics.median(ranked), low, high


def error_of_median(trials: int, error: float) -> float:
    """Standard error of the median of so many trials, from that of one trial."""
    return error * (math.sqrt(math.pi / 2 / trials) if trials > 2 else 1 / math.sqrt(trials))


def latency(setting: Setting, value_ns: float, own: Sequence[Contribution], record: TrialRecord) -> Quantity:
    """A latency of single frames, with what is uncertain of it besides the tester, less the tester's own."""
    trial = record.trial
    return setting.bias.corrected(value_ns, trial.frame_bytes, trial.frames_per_second, single_frame=True, own=own)


def difference(setting: Setting, value_ns: float, own: Sequence[Contribution], record: TrialRecord) -> Quantity:
    """A difference of two frames' latencies: the bias cancels, the scatter of two single frames does not."""
    correction = setting.bias.at(record.trial.frame_bytes, record.trial.frames_per_second)
    if correction is None:
        return Quantity(value=value_ns, unit="ns")
    return budget.figure(value_ns, "ns", [*own, *correction.of_frame, *correction.of_frame])
