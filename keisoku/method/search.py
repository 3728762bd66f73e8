"""Binary search for the highest load at which a DUT forwards every frame (RFC 2544 §26.1).

A trial in which the tester could not offer the load says nothing about the DUT: it lowers the
ceiling instead, and the outcome says that the tester set the limit. Never looks at latency.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from keisoku.method.setting import Setting
from keisoku.record.trial import Trial, TrialRecord

RETRIES = 2
"""How often a load is tried while the tester itself spoils the trial."""
CEILING_WITHOUT_LINK_FPS = 100e6
"""Where the search starts on a port with no known speed; the tester then finds its own ceiling."""
TESTER_MARGIN = 0.97
"""Share of what the tester just managed that it can be asked for again without falling short."""


@dataclass(frozen=True)
class Found:
    """The highest load without loss, and the lowest above it that is not known to be lossless."""

    frame_bytes: int
    above_fps: float
    limited_by_tester: bool
    record: TrialRecord | None
    """The full-length trial that decided; None if not even the least load passed."""

    @property
    def fps(self) -> float:
        """The load that was really offered in the deciding trial; zero if there is none."""
        return self.record.offered_fps if self.record else 0.0

    @property
    def width_fps(self) -> float:
        """How far above `fps` the throughput may lie."""
        return max(0.0, self.above_fps - self.fps) if self.record else 0.0


@dataclass
class Ceiling:
    """The highest load worth trying; lowered by what the tester turns out to be able to do."""

    fps: float
    by_tester: bool = False


def search(setting: Setting, frame_bytes: int) -> Generator[Trial, TrialRecord, Found]:
    """Searches with `search_s` trials; a trial of `trial_s` must confirm (RFC 2544 §24)."""
    settings = setting.plan.throughput
    start = min(setting.line_fps(frame_bytes) or CEILING_WITHOUT_LINK_FPS, settings.maximum_fps or float("inf"))
    ceiling = Ceiling(start)
    resolution = settings.resolution_percent / 100
    search_s = settings.search_s or settings.trial_s
    least_fps = max(1 / settings.trial_s, start * 1e-6)

    low, low_record = 0.0, None
    high = ceiling.fps
    rate = high
    while low < high * (1 - resolution) and high > least_fps:
        record = yield from lossless_trial(setting, frame_bytes, rate, search_s, "search", ceiling)
        if record is not None and _clean(record):
            low, low_record = rate, record
        else:
            high = min(rate, ceiling.fps)
        rate = high if record is None else (low + high) / 2

    if search_s >= settings.trial_s or low == 0.0:
        return Found(frame_bytes, high, ceiling.by_tester and high >= ceiling.fps, low_record)
    return (yield from _confirm(setting, frame_bytes, low, high, ceiling))


def lossless_trial(
    setting: Setting, frame_bytes: int, fps: float, seconds: float, purpose: str, ceiling: Ceiling
) -> Generator[Trial, TrialRecord, TrialRecord | None]:
    """One trial, repeated if the tester spoiled it. None: it still did, and `ceiling` was lowered."""
    for _ in range(RETRIES):
        record = yield setting.trial(f"{purpose} {frame_bytes} byte", frame_bytes, fps, seconds)
        if record.valid:
            return record
        if beyond_tester(record):
            break
    managed = record.facts.sent.offered_frames / record.trial.frames
    ceiling.fps, ceiling.by_tester = fps * TESTER_MARGIN * managed, True
    return None


def beyond_tester(record: TrialRecord) -> bool:
    """True if clearly fewer frames were offered than asked for: no repetition will change that."""
    return record.facts.sent.offered_frames < 0.9 * record.trial.frames


def _confirm(
    setting: Setting, frame_bytes: int, low: float, high: float, ceiling: Ceiling
) -> Generator[Trial, TrialRecord, Found]:
    """Full-length trials, from the found load downward in growing steps until one is clean."""
    settings = setting.plan.throughput
    step = settings.resolution_percent / 100
    rate = low
    while rate * settings.trial_s >= 1:
        record = yield from lossless_trial(setting, frame_bytes, rate, settings.trial_s, "final", ceiling)
        if record is not None and _clean(record):
            return Found(frame_bytes, high, ceiling.by_tester and high >= ceiling.fps, record)
        high = rate
        rate *= 1 - step
        step = min(2 * step, 0.5)
    return Found(frame_bytes, high, False, None)


def _clean(record: TrialRecord) -> bool:
    # RFC 2544 §26.1: "the count of offered frames is equal to the count of received frames" — equality.
    return record.facts.tracked.forwarded_frames == record.facts.sent.offered_frames
