"""A search controller for zero loss that uses the fact that lossy trials are short and clean ones long.

For goals that one bad trial decides (MLRsearch: loss ratio 0, exceed ratio 0). A lossy trial ends at its first lost
frame, a clean one takes its full duration. So short trials narrow the bounds, from above, and trials of full length
come last. When the first frame is lost tells which lower load to try: an overload that fills a buffer is extrapolated;
rare events are waited out just below, where a clean trial ends the search. The conditions for a load to be a bound are
unchanged: see `Goal`.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from math import ceil, sqrt

from keisoku.subjects.device.procedure.rfc9971.search_goal import Bounds, Goal, Question, Search, TrialResult

RARE_S = 1.0
"""A first loss later than this may be a rare event and not an overload: a load just below it may be clean by luck."""
MANY = 4.5
EARLY, LATE = 0.7, 3.0
"""After rare events the search goes down by one width at a time, because a clean trial then ends it. It gives this up
and falls when the events of a whole trial seem to be more than `MANY` and `EARLY` times its duration was spent on lossy
trials, or in any case when `LATE` times was. These and the other constants were chosen on random devices
(`benchmarks/speed/search_families.py`)."""
LUCK = 1.5
"""It falls to the load at which a trial has this many events on average, if their number grows with the load: a clean
trial there needs few repetitions, and a load just above is likely an upper bound."""
POINTS = 4
"""So many losses, each later and at a lower load than the one before, are an overload that fills a buffer."""
DELAY_S = 0.075
"""From a loss to the end of the trial, on average."""
_LEAST_FALL = 1 / 8
_LEAST_STEP = 1 / 2
"""The next load is at least this share of the last one, after rare events and by steps."""
_WITHIN = 0.98
"""Share of the goal's width: a load so far above a lower bound closes the bracket if it is an upper bound."""


def descent(goal: Goal, least_fps: float, most_fps: float) -> Search:
    """Searches for one goal between two loads; the highest is measured first, for a hint from its loss ratio."""
    bracket = _Bracket(goal, least_fps, most_fps)
    preset = goal.preset
    first = most_fps
    if preset.initial_s < preset.trial_s:
        whole = yield Question(preset.initial_s, most_fps, for_rate=True)
        if whole.lost_frames:
            bracket.high_fps = most_fps
            hint_fps = most_fps * (1 - whole.loss_ratio) * (1 - goal.width / 4)
            yield from bracket.narrow(preset.initial_s, 1, max(least_fps, hint_fps))
            first = bracket.low_fps or least_fps
    yield from bracket.narrow(preset.trial_s, ceil(preset.sum_s / preset.trial_s), first)
    return Bounds(bracket.low_fps, bracket.high_fps, bracket.low_fps or 0.0)


class _Bracket:
    """The highest load that was clean with trials of one duration, and the lowest that ever lost a frame."""

    def __init__(self, goal: Goal, least_fps: float, most_fps: float) -> None:
        self.width, self.least_fps, self.most_fps = goal.width, least_fps, most_fps
        self.step = 1 - _WITHIN * goal.width
        self.low_fps: float | None = None
        self.high_fps: float | None = None

    def narrow(self, seconds: float, trials: int, first_fps: float) -> Generator[Question, TrialResult, None]:
        """Searches until the bounds are close enough, or until an end of the range is decided."""
        self.low_fps, fps, aside = None, first_fps, True
        losses = _Losses(seconds)
        while True:
            clean = yield from self._try(seconds, trials, fps, losses)
            if clean:
                self.low_fps = fps
            else:
                self.high_fps = fps
            if self.low_fps is None:
                if fps <= self.least_fps:
                    return
                fps = max(self.least_fps, self._below(fps, losses))
                continue
            if self.high_fps is None and self.low_fps >= self.most_fps:
                return
            high_fps = self.high_fps or self.most_fps
            if self.high_fps is not None and self.low_fps >= high_fps * (1 - self.width):
                return
            middle_fps = sqrt(self.low_fps * high_fps) if self.high_fps is not None else high_fps
            # Where losses are random, a load just above is often an upper bound. Trying it once is enough.
            beside_fps = self.low_fps / self.step
            use_beside = clean and aside and beside_fps < middle_fps
            fps = beside_fps if use_beside else middle_fps
            aside = aside and not clean

    def _try(self, seconds: float, trials: int, fps: float, losses: _Losses) -> Generator[Question, TrialResult, bool]:
        for _ in range(trials):
            answer = yield Question(seconds, fps, for_rate=False)
            losses.sent += fps * answer.spent_s
            if answer.lost_frames:
                losses.add(fps, answer.spent_s)
                return False
        return True

    def _below(self, fps: float, losses: _Losses) -> float:
        """The next lower load, after a loss with no lower bound yet."""
        beside_fps = fps * self.step
        threshold_fps = losses.threshold_fps()
        if threshold_fps is not None:
            return min(beside_fps, max(threshold_fps * (1 - self.width / 2), fps * _LEAST_FALL))
        if not losses.rare:
            stepped: float = (1 - self.width) ** 2 ** (len(losses.points) - 1)
            return fps * max(_LEAST_STEP, stepped)
        expected = losses.expected(fps)
        given_up = losses.spent_s > LATE * losses.seconds
        if given_up or (expected > MANY and losses.spent_s > EARLY * losses.seconds):
            return min(beside_fps, fps * max(LUCK / expected, _LEAST_FALL))
        return beside_fps


class _Losses:
    """When trials of one duration lost their first frame, and what this predicts for other loads."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.points: list[tuple[float, float]] = []
        """Loads and times."""
        self.rare, self.sent, self.spent_s = 0, 0.0, 0.0

    def add(self, fps: float, spent_s: float) -> None:
        """A trial at this load lost a frame after this time."""
        self.points.append((fps, max(spent_s - DELAY_S, 1e-3)))
        self.rare += spent_s > RARE_S
        self.spent_s += spent_s

    def expected(self, fps: float) -> float:
        """Rare events in a trial at a load, if their number is that of a frame's."""
        return self.rare * self.seconds * fps / self.sent if self.sent else 0.0

    def threshold_fps(self) -> float | None:
        """The load that loses its first frame at the end of a trial, if the last losses are those of an overload.

        An overload fills a buffer after the time buffer / (load - capacity), so the inverse of the time is linear.
        """
        last = self.points[-POINTS:]
        if len(last) < POINTS:
            return None
        if any(low[0] >= high[0] or low[1] <= high[1] for high, low in pairwise(last)):
            return None
        (high_fps, soon_s), (low_fps, late_s) = last[0], last[-1]
        slope = (1 / soon_s - 1 / late_s) / (high_fps - low_fps)
        return low_fps - (1 / late_s - 1 / self.seconds) / slope
