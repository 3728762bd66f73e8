"""A search controller for zero loss that uses the fact that lossy trials are short and clean ones long.

For goals that one bad trial decides (MLRsearch: loss ratio 0, exceed ratio 0). A lossy trial ends at its first lost
frame, a clean one takes its full duration. So short trials narrow the bounds, from above, and trials of full length
come last. The conditions for a load to be a bound are unchanged: see `Goal`.
"""

from __future__ import annotations

from collections.abc import Generator
from math import ceil, sqrt

from keisoku.device.method.search_goal import Answer, Bounds, Goal, Question, Search

RARE_S = 1.0
"""A first loss later than this may be a rare event and not an overload. The rate of rare events predicts the load at
which a trial passes without one; an overload predicts nothing about lower loads."""
EVENTS = 2
"""So many confirm rare events: an overload that a buffer had hidden for a while would be gone at a slightly lower
load."""
LUCK = 3.0
"""After rare events the search goes down to the load at which a trial has this many of them on average: a clean trial
there needs few repetitions, and a lower load would leave a wide bracket, which takes long clean trials to close."""
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
        self.low_fps: float | None = None
        self.high_fps: float | None = None
        self.rare, self.sent = 0, 0.0
        """Rare events, and the frames of the trials that they ended."""

    def narrow(self, seconds: float, trials: int, first_fps: float) -> Generator[Question, Answer, None]:
        """Searches until the bounds are close enough, or until an end of the range is decided."""
        self.low_fps, fps, steps, aside = None, first_fps, 1, True
        while True:
            clean = yield from self._try(seconds, trials, fps)
            if clean:
                self.low_fps = fps
            else:
                self.high_fps = fps
            if self.low_fps is None:
                if fps <= self.least_fps:
                    return
                fps, steps = max(self.least_fps, self._below(fps, steps, seconds)), 2 * steps
                continue
            if self.high_fps is None and self.low_fps >= self.most_fps:
                return
            high_fps = self.high_fps or self.most_fps
            if self.high_fps is not None and self.low_fps >= high_fps * (1 - self.width):
                return
            middle_fps = sqrt(self.low_fps * high_fps) if self.high_fps is not None else high_fps
            # Where losses are random, a load just above is often an upper bound. Trying it once is enough.
            beside_fps = self.low_fps / (1 - _WITHIN * self.width)
            use_beside = clean and aside and beside_fps < middle_fps
            fps = beside_fps if use_beside else middle_fps
            aside = aside and not clean

    def _try(self, seconds: float, trials: int, fps: float) -> Generator[Question, Answer, bool]:
        for _ in range(trials):
            answer = yield Question(seconds, fps, for_rate=False)
            if answer.lost_frames:
                if answer.spent_s > RARE_S:
                    self.rare, self.sent = self.rare + 1, self.sent + fps * answer.spent_s
                return False
        return True

    def _below(self, fps: float, steps: int, seconds: float) -> float:
        """The next lower load: a number of widths below, doubled each time; or one at which few rare events are
        expected."""
        stepped_fps = fps * max(_LEAST_STEP, (1 - self.width) ** steps)
        if self.rare < EVENTS:
            return stepped_fps
        few_fps = LUCK * self.sent / self.rare / seconds
        return min(stepped_fps, max(few_fps, fps * _LEAST_FALL))
