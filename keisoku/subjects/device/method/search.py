"""Binary search for the highest load at which a DUT forwards every frame (RFC 2544 §26.1).

A trial says one of three things: the load passed, the load failed, or the tester was too slow for it, which lowers the
search's ceiling and not the DUT's throughput. A trial that the host disturbed says nothing and is tried again. A DUT
near its limit passes a load in one trial and fails it in the next, so both ends of the bracket are tried several times.
Latency is not used.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import inf
from typing import Literal

from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plan.rate import Relative
from keisoku.subjects.device.plan.settings import ThroughputSettings
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord, sent_briefly
from keisoku.subjects.device.record.validity import TOLERANCE, disturbances, why_invalid

RETRIES = 2
"""How often a load is tried while the tester itself disturbs the trial."""
DISTURBED_TRIES = 4
"""How often a search tries a load while the host disturbs the trials."""
DISTURBED_LOADS, STEP_DOWN = 4, 4
"""So many loads, each the one before divided by this, a search tries before it gives up where the host disturbs all
trials."""
CEILING_WITHOUT_LINK_FPS = 100e6
"""More than any tester offers: a port with no known speed is sent what the tester can offer."""
SPOILED_LOADS = 10
"""A search ends when the tester fell short at so many loads in a row, each lower than the one before."""
MOST_STEPS = 12
"""By so many steps, each twice as long, a bracket is widened around a DUT that does not always do the same."""
TESTER_MARGIN = 0.97
"""Share of the load that the tester has just offered which it can offer again."""
NEAR = 0.2
"""A search that begins at a given load goes up or down from it by this share of the load, doubled each time."""
EVENLY = 0.9
"""Share of the load that a tester offers flat out which it can offer evenly paced, time after time."""

TIME_OVER = phrase("this size's share of the time was over before the resolution was reached")
"""Why a search ended that had a time."""
_PURPOSES = ("search", "final", "confirm", "maximum")
"""How the purposes of trials begin that look for a load."""
NO_LOAD_PASSES = phrase("no load is known to pass without loss: not measured")
"""Remark of a row of a procedure that needs the throughput, where there is none."""


AboveBy = Literal["ceiling", "loss", "tester"]


@dataclass(frozen=True)
class SearchOutcome:
    """The highest load that passed all its trials, and the lowest above it that passed none, or was not tried."""

    frame_bytes: int
    above_fps: float
    """Lowest load above that is not known to be lossless."""
    above_by: AboveBy
    """Why it is not: no load above may be tried, frames were lost, or the tester cannot offer it."""
    record: TrialRecord | None
    """A full-length trial at the load that passed; None if no load did."""
    unsteady: bool = False
    """Whether some load passed in one trial and failed in another."""
    given_up: str = ""
    """Why the search ended before it reached its resolution; empty if it reached it."""

    @property
    def limited_by_tester(self) -> bool:
        """True if the tester, and not the DUT, kept the search from a higher load."""
        return self.above_by == "tester"

    @property
    def fps(self) -> float:
        """The load that was really offered in the deciding trial; zero if there is none."""
        return self.record.load_fps if self.record else 0.0


def search(
    inputs: MethodInput, frame_bytes: int, ceiling_percent: float | None = None, enough_s: float | None = None
) -> Generator[Trial, TrialRecord, SearchOutcome]:
    """Searches with trials of `search_s`; if these are shorter than `trial_s`, searches again around the result with
    those.

    RFC 2544 §24: "the duration of the test portion of each trial SHOULD be 60 seconds", a search may use
    shorter ones if the final determination does not. Nor does a trial that lost a frame need its full length.
    Goes no higher than `ceiling_percent` of the line, the plan's if it is not given. After `enough_s` of trials it ends
    with what it knows, once a load has passed.
    """
    settings = inputs.plan.settings_of(ThroughputSettings)
    percent = ceiling_percent or settings.ceiling_percent
    bracket = _Bracket(inputs, frame_bytes, ceiling_fps(inputs, frame_bytes, percent, settings.maximum_fps))
    bracket.until_s = inf if enough_s is None else inputs.spent.seconds + enough_s
    search_s = settings.search_s or settings.trial_s
    first_fps = dict(settings.first).get(frame_bytes)
    if first_fps is not None and first_fps < bracket.high_fps:
        yield from bracket.surround("search", search_s, first_fps)
    yield from bracket.narrow("search", search_s, bracket.next_fps, fall=0.5)
    if search_s < settings.trial_s and bracket.passed is not None:
        candidate_fps = bracket.low_fps
        bracket.low_fps, bracket.passed = 0.0, None
        yield from bracket.narrow("final", settings.trial_s, candidate_fps, fall=settings.resolution_percent / 100)
    yield from bracket.confirm(settings.trial_s, settings.confirmations)
    return SearchOutcome(
        frame_bytes, bracket.high_fps, bracket.high_by, bracket.passed, bracket.unsteady, bracket.given_up
    )


def is_of_search(record: TrialRecord) -> bool:
    """Whether the trial looked for a load, and measured nothing else."""
    return record.trial.purpose.startswith(_PURPOSES)


def ceiling_fps(inputs: MethodInput, frame_bytes: int, percent: float, maximum: float | Relative | None) -> float:
    """The highest load to try in frames/s, at most `maximum` of these. Without a link's speed the tester finds its own
    highest rate, and clocks do not matter."""
    line = inputs.line_fps(frame_bytes)
    ceiling = CEILING_WITHOUT_LINK_FPS if line is None else line * percent / 100
    return min(ceiling, inputs.fps(maximum, frame_bytes) or ceiling)


def known_throughput(inputs: MethodInput, frame_bytes: int) -> float | None:
    """In frames/s, by an earlier method of the run; 0 if no load passed, None if it is not known."""
    figure = known_figure(inputs, frame_bytes)
    return None if figure is None else figure.value


def known_figure(inputs: MethodInput, frame_bytes: int) -> Quantity | None:
    """The throughput of an earlier method of the run, unless all that is known is that it is at most so much."""
    result = inputs.earlier.get("throughput")
    row = next((row for row in result.rows if row.frame_bytes == frame_bytes), None) if result else None
    figure = row.figures.get("throughput") if row else None
    return None if figure is None or figure.bound == "at most" else figure


def throughput_of(inputs: MethodInput, frame_bytes: int) -> Generator[Trial, TrialRecord, float]:
    """The throughput of a size in frames/s: that of an earlier method of the run, or else of a search now."""
    known = known_throughput(inputs, frame_bytes)
    return (yield from search(inputs, frame_bytes)).fps if known is None else known


def maximum_rate(
    inputs: MethodInput, frame_bytes: int, seconds: float, ceiling_fps: float | None = None
) -> Generator[Trial, TrialRecord, tuple[float, bool]]:
    """The highest rate that can be sent, in frames/s, and whether the tester limits it rather than the link, or
    `ceiling_fps`. It is a frame a trial if the host let the tester send nothing, time after time."""
    most = ceiling_fps or inputs.line_fps(frame_bytes) or CEILING_WITHOUT_LINK_FPS
    offered_fps = 0.0
    for _ in range(DISTURBED_TRIES):
        record = yield inputs.trial(
            phrase("maximum {frame_bytes} byte", frame_bytes=frame_bytes), frame_bytes, most, seconds, flat_out=True
        )
        offered_fps = max(offered_fps, record.offered_fps)
        if not any(sent_briefly(record.trial, port.sent) for port in record.senders):
            break
    if record.offered_share >= 1 - TOLERANCE:
        return most, False
    return max(1 / seconds, EVENLY * min(most, offered_fps)), True


def beyond_tester(record: TrialRecord) -> bool:
    """True if clearly fewer frames were offered than intended: no repetition will change that. A sender that offered
    none was stopped by the host for the whole trial, which says nothing about what it can offer."""
    return 0 < record.offered_share < 0.9


def reached_fps(record: TrialRecord) -> float:
    """What the tester can offer again, in frames/s, of a load of which it offered a part; at least a frame a trial."""
    offered_fps = min(1.0, record.offered_share) * record.trial.frames_per_second
    return max(NS_PER_S / record.trial.duration_ns, TESTER_MARGIN * offered_fps)


class _Bracket:
    """The highest load that passed and the lowest that did not, narrowed trial by trial."""

    def __init__(self, inputs: MethodInput, frame_bytes: int, ceiling_fps: float) -> None:
        self.inputs, self.frame_bytes, self.ceiling_fps = inputs, frame_bytes, ceiling_fps
        self.low_fps, self.high_fps = 0.0, ceiling_fps
        self.high_by: AboveBy = "ceiling"
        self.passed: TrialRecord | None = None
        self.unsteady = False
        self.fell_short, self.disturbed, self.given_up = 0, 0, ""
        self.why = ""
        """Why the last load says nothing of the DUT."""
        self.until_s = inf
        """When it ends with what it knows, in seconds that the method has spent."""
        settings = inputs.plan.settings_of(ThroughputSettings)
        self.stop = 0 if settings.stop_at_loss else None
        self.resolution = settings.resolution_percent / 100
        self.least_fps = max(1 / settings.trial_s, ceiling_fps * 1e-6)

    @property
    def next_fps(self) -> float:
        """The middle of the bracket, or its upper end where that was not tried yet."""
        tried = self.passed is not None and self.high_by == "loss"
        return (self.low_fps + self.high_fps) / 2 if tried else self.high_fps

    def surround(self, purpose: str, seconds: float, fps: float) -> Generator[Trial, TrialRecord, None]:
        """Goes up from this load until one does not pass, or down until one does, in strides that are doubled."""
        stride = NEAR
        while not self.given_up and self.least_fps < fps < self.high_fps:
            passed = yield from self._try(purpose, seconds, fps)
            if passed:
                self.low_fps, self.passed = fps, passed
                if self.high_by != "ceiling":
                    return
                fps *= 1 + stride
            elif self.passed is not None:
                return
            else:
                fps = self.high_fps * (1 - min(stride, 0.5))
            stride *= 2

    def narrow(
        self, purpose: str, seconds: float, first_fps: float, fall: float
    ) -> Generator[Trial, TrialRecord, None]:
        """Halves the bracket until it is as narrow as the plan asks.

        Until a first load has passed it goes down by the share `fall` of the load, doubled each time.
        """
        fps = first_fps
        if self.high_by == "ceiling" and self.high_fps >= CEILING_WITHOUT_LINK_FPS:
            fps, _ = yield from maximum_rate(self.inputs, self.frame_bytes, seconds, self.high_fps)
            if fps <= self.least_fps:
                self.given_up = phrase("the host kept the tester from sending in every attempt")
                return
            self.high_fps, self.high_by = fps, "tester"
        while self.low_fps < self.high_fps * (1 - self.resolution) and self.high_fps > self.least_fps:
            fell_short = self.fell_short
            passed = yield from self._try(purpose, seconds, fps)
            if self.given_up:
                return
            if passed:
                self.low_fps, self.passed = fps, passed
            if self.fell_short > fell_short:
                fps = self.high_fps  # the tester's highest rate, not tried yet
            elif self.passed is not None:
                fps = (self.low_fps + self.high_fps) / 2
            else:
                fps = self.high_fps * (1 - fall)
                fall = min(2 * fall, 0.5)
        if self.passed is None and self.high_by == "tester":
            self.given_up = self.why

    def confirm(self, seconds: float, times: int) -> Generator[Trial, TrialRecord, None]:
        """Tries both ends of the bracket so often; an end that is refuted moves outwards, each time twice as far.

        In the end the lower load has passed, and the upper one failed, in `times` + 1 trials in a row.
        """
        if self.passed is None or self.high_by != "loss" or self.given_up:
            return
        step_fps = max(self.high_fps - self.low_fps, self.resolution * self.high_fps)
        passes = failures = 0
        for _ in range(MOST_STEPS * times):
            if passes >= times and failures >= times:
                return
            at_low = passes < times and (passes <= failures or failures >= times)
            ends = self.low_fps, self.high_fps
            passed = yield from self._try("confirm", seconds, self.low_fps if at_low else self.high_fps)
            offered = self.fell_short == 0
            (self.low_fps, self.high_fps), self.high_by = ends, "loss"
            if self.given_up or not offered:
                return  # The tester has offered this load before: it learns nothing new of the DUT now.
            if at_low and passed:
                self.passed, passes = passed, passes + 1
            elif not at_low and not passed:
                failures += 1
            else:
                self.unsteady = True
                if at_low:
                    self.low_fps, self.passed, passes = max(0.0, self.low_fps - step_fps), None, 0
                else:
                    self.high_fps, failures = min(self.high_fps + step_fps, self.ceiling_fps), 0
                step_fps *= 2
                if self.low_fps < self.least_fps or self.high_fps == self.ceiling_fps:
                    return

    def _try(self, purpose: str, seconds: float, fps: float) -> Generator[Trial, TrialRecord, TrialRecord | None]:
        """One trial, tried again while the tester disturbs it; the record if the load passed, else None.

        Lowers the upper end of the bracket if the load failed, if the tester fell short of it, or if the host disturbs
        it time after time and no load has passed: a host that stops the tester does so less at lower loads.
        """
        if self.passed is not None and self.inputs.spent.seconds >= self.until_s:
            self.given_up = TIME_OVER
            return None
        offered_fps, shortfalls = 0.0, 0
        for _ in range(RETRIES if self.disturbed else DISTURBED_TRIES):
            record = yield self.inputs.trial(
                phrase("{purpose} {frame_bytes} byte", purpose=purpose, frame_bytes=self.frame_bytes),
                self.frame_bytes,
                fps,
                seconds,
                stop_after_lost=self.stop,
            )
            if record.valid:
                self.fell_short = self.disturbed = 0
                # RFC 2544 §26.1: "the count of offered frames is equal to the count of received frames" — equality.
                if record.facts.tracked.forwarded_frames == record.facts.sent.offered_frames:
                    return record
                self.high_fps, self.high_by = fps, "loss"
                return None
            if disturbances(record.trial, record.facts):
                continue
            offered_fps, shortfalls = max(offered_fps, min(fps, record.offered_fps)), shortfalls + 1
            if beyond_tester(record) or shortfalls == RETRIES:
                break
        because = join_texts("; ", why_invalid(record))
        self.why = (
            phrase(
                "the tester could not send fast enough: {offered_fps:,.0f} of {fps:,.0f} frames/s; {because}",
                offered_fps=offered_fps,
                fps=fps,
                because=because,
            )
            if shortfalls
            else phrase("no trial at {fps:,.0f} frames/s was valid: {because}", fps=fps, because=because)
        )
        if not shortfalls:
            self.disturbed += 1
            if self.passed is not None or self.disturbed == DISTURBED_LOADS:
                self.given_up = self.why
            else:
                self.high_fps, self.high_by = 2 * fps / STEP_DOWN, "tester"  # of which half is tried
            return None
        # It may have offered more before: then its limit is there.
        self.high_fps, self.high_by = max(self.low_fps, EVENLY * offered_fps), "tester"
        self.fell_short += 1
        if self.fell_short == SPOILED_LOADS:
            self.given_up = self.why
        return None
