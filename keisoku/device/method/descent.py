"""A controller for zero loss that knows lossy trials to be short and clean ones long.

For goals of which one bad trial decides (MLRsearch: loss ratio 0, exceed ratio 0). A trial that ends at its first lost
frame costs the time to it, a clean one all of its duration: so bounds are drawn together with short trials, approached
from above, and a load is tried in full length only when all is known that short trials can tell. What a load needs to
be a bound is not touched: see `Goal`.
"""

from __future__ import annotations

from collections.abc import Generator
from math import ceil, sqrt

from keisoku.device.method.search_goal import Answer, Bounds, Goal, Question, Search

RARE_S = 1.0
"""A first loss later than this may be an event and not an overload: how rare events are says where they would be
missed, while an overload says nothing of the loads below."""
EVENTS = 2
"""So many make sure of it: a load a little lower would have cured an overload that a buffer hid for a while."""
LUCK = 3.0
"""After rare events the search falls to where this many of them are expected in a trial: a clean trial there is luck,
but one that needs few repetitions, and a lower load would leave a wide bracket to close with long clean trials."""
_LEAST_FALL = 1 / 8
_LEAST_STEP = 1 / 2
"""No fall is deeper than to so much of a load, after rare events and by steps."""
_WITHIN = 0.98
"""Of the goal's width: a load so far above a lower bound closes the bracket if it is an upper one."""


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
        """Until the bounds are close enough, or the end of the range is clean or lossy."""
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
            # Where loss is luck, a load just above may well be an upper bound: then it is found. Once is enough.
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
        """The next load to fall to: widths away, twice as many each time; or where rare events would be few."""
        stepped_fps = fps * max(_LEAST_STEP, (1 - self.width) ** steps)
        if self.rare < EVENTS:
            return stepped_fps
        few_fps = LUCK * self.sent / self.rare / seconds
        return min(stepped_fps, max(few_fps, fps * _LEAST_FALL))
