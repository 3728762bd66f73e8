"""Binary search for the highest load at which a DUT forwards every frame (RFC 2544 §26.1).

A trial in which the tester could not offer the load says nothing about the DUT: it lowers the ceiling instead, and
the outcome states that the tester set the limit. Latency is not used.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from keisoku.device.method.setting import Setting
from keisoku.device.plan.settings import ThroughputSettings
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.device.record.validity import TOLERANCE

RETRIES = 2
"""How often a load is tried while the tester itself disturbs the trial."""
CEILING_WITHOUT_LINK_FPS = 100e6
"""Where the search starts on a port with no known speed; the tester then finds its own highest rate."""
SPOILED_LOADS = 10
"""A search ends without a result when the tester disturbed the trials at so many loads in a row, each lower than the
one before: on a busy host it would otherwise go down to zero."""
TESTER_MARGIN = 0.97
"""Share of the load that the tester has just offered which it can offer again reliably."""


@dataclass(frozen=True)
class Found:
    """The highest load without loss, and the lowest above it that is not known to be lossless."""

    frame_bytes: int
    above_fps: float
    limited_by_tester: bool
    record: TrialRecord | None
    """The full-length trial that decided; None if even the lowest load did not pass."""
    given_up: str = ""
    """Why the search ended before it reached its resolution; empty if it reached it."""

    @property
    def fps(self) -> float:
        """The load that was really offered in the deciding trial; zero if there is none."""
        return self.record.offered_fps if self.record else 0.0

    @property
    def width_fps(self) -> float:
        """How far above `fps` the throughput may lie."""
        return max(0.0, self.above_fps - self.fps) if self.record else 0.0


def search(
    setting: Setting, frame_bytes: int, ceiling_percent: float | None = None
) -> Generator[Trial, TrialRecord, Found]:
    """Searches with trials of `search_s`; if these are shorter than `trial_s`, searches again around the result with
    those.

    RFC 2544 §24: "the duration of the test portion of each trial SHOULD be 60 seconds", a search may use
    shorter ones if the final determination does not. Nor does a trial that lost a frame need its full length.
    Goes no higher than `ceiling_percent` of the line, the plan's if it is not given.
    """
    settings = setting.plan.of(ThroughputSettings)
    percent = ceiling_percent or settings.ceiling_percent
    bracket = _Bracket(setting, frame_bytes, ceiling_fps(setting, frame_bytes, percent, settings.maximum_fps))
    search_s = settings.search_s or settings.trial_s
    yield from bracket.narrow("search", search_s, bracket.high_fps, fall=0.5)
    if search_s < settings.trial_s and bracket.passed is not None:
        candidate_fps = bracket.low_fps
        bracket.low_fps, bracket.passed = 0.0, None
        yield from bracket.narrow("final", settings.trial_s, candidate_fps, fall=settings.resolution_percent / 100)
    return Found(frame_bytes, bracket.high_fps, bracket.limited_by_tester, bracket.passed, bracket.given_up)


def ceiling_fps(setting: Setting, frame_bytes: int, percent: float, maximum_fps: float | None) -> float:
    """The highest load to try. Without a link's speed the tester finds its own highest rate, and clocks do not
    matter."""
    line = setting.line_fps(frame_bytes)
    ceiling = CEILING_WITHOUT_LINK_FPS if line is None else line * percent / 100
    return min(ceiling, maximum_fps or ceiling)


def known_throughput(setting: Setting, frame_bytes: int) -> float | None:
    """In frames/s, by an earlier method of the run; 0 if that found none, None if none looked for it."""
    result = setting.earlier.get("throughput")
    row = next((row for row in result.rows if row.frame_bytes == frame_bytes), None) if result else None
    if row is None:
        return None
    return row.figures["throughput"].value if "throughput" in row.figures else 0.0


def throughput_of(setting: Setting, frame_bytes: int) -> Generator[Trial, TrialRecord, float]:
    """The throughput of a size in frames/s: that of an earlier method of the run, or else of a search now."""
    known = known_throughput(setting, frame_bytes)
    return (yield from search(setting, frame_bytes)).fps if known is None else known


def maximum_rate(
    setting: Setting, frame_bytes: int, seconds: float
) -> Generator[Trial, TrialRecord, tuple[float, bool]]:
    """The highest rate that can be sent, in frames/s, and whether the tester limits it rather than the link."""
    line = setting.line_fps(frame_bytes) or CEILING_WITHOUT_LINK_FPS
    record = yield setting.trial(f"maximum {frame_bytes} byte", frame_bytes, line, seconds)
    if record.offered_share >= 1 - TOLERANCE:
        return line, False
    return TESTER_MARGIN * line * record.offered_share, True


def beyond_tester(record: TrialRecord) -> bool:
    """True if clearly fewer frames were offered than intended: no repetition will change that."""
    return record.offered_share < 0.9


class _Bracket:
    """The highest load that passed and the lowest that did not, narrowed trial by trial."""

    def __init__(self, setting: Setting, frame_bytes: int, ceiling_fps: float) -> None:
        self.setting, self.frame_bytes = setting, frame_bytes
        self.low_fps, self.high_fps = 0.0, ceiling_fps
        self.passed: TrialRecord | None = None
        self.limited_by_tester = False
        self.spoiled, self.reason, self.given_up = 0, "", ""
        self.stop = 0 if setting.plan.of(ThroughputSettings).stop_at_loss else None
        self.least_fps = max(1 / setting.plan.of(ThroughputSettings).trial_s, ceiling_fps * 1e-6)

    def narrow(
        self, purpose: str, seconds: float, first_fps: float, fall: float
    ) -> Generator[Trial, TrialRecord, None]:
        """Halves the bracket until it is as narrow as the plan asks.

        Until a first load has passed it goes down by the share `fall` of the load, doubled each time.
        """
        resolution = self.setting.plan.of(ThroughputSettings).resolution_percent / 100
        fps = first_fps
        while not self.given_up and self.low_fps < self.high_fps * (1 - resolution) and self.high_fps > self.least_fps:
            if self.spoiled == SPOILED_LOADS:
                self.given_up = (
                    f"given up at {fps:,.0f} frames/s: the tester itself disturbed the trials at {SPOILED_LOADS} loads"
                    f" in a row, the last because {self.reason}"
                )
                return
            managed = yield from self._try(purpose, seconds, fps)
            if managed < 1:
                fps = self.high_fps  # the tester's highest rate, not tried yet
            elif self.passed is not None:
                fps = (self.low_fps + self.high_fps) / 2
            else:
                fps = self.high_fps * (1 - fall)
                fall = min(2 * fall, 0.5)

    def _try(self, purpose: str, seconds: float, fps: float) -> Generator[Trial, TrialRecord, float]:
        """One trial, repeated if the tester disturbed it; returns the share of the load that the tester offered."""
        for _ in range(RETRIES):
            record = yield self.setting.trial(
                f"{purpose} {self.frame_bytes} byte", self.frame_bytes, fps, seconds, stop_after_lost=self.stop
            )
            if record.valid or beyond_tester(record):
                break
        if not record.valid:
            managed = TESTER_MARGIN * min(1.0, record.offered_share)
            self.high_fps, self.limited_by_tester = managed * fps, True
            self.spoiled, self.reason = self.spoiled + 1, "; ".join(record.invalid_because)
            return managed
        self.spoiled = 0
        # RFC 2544 §26.1: "the count of offered frames is equal to the count of received frames" — equality.
        if record.facts.tracked.forwarded_frames == record.facts.sent.offered_frames:
            self.low_fps, self.passed = fps, record
        else:
            self.high_fps, self.limited_by_tester = fps, False
        return 1.0
