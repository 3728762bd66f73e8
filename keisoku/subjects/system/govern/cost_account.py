"""`CostAccount`: what searching has cost lately, so that it never costs more than a share of any stretch of time.

The cost is what the objective lost against no limit at all, the state in which nothing is done: a second at half the
figure costs half a second. It measures nothing itself.
"""

from __future__ import annotations

from collections import deque

WINDOW_S = 600.0
SHARE = 0.015
"""Of the time. What is promised is 2 %: the rest is for what one evaluation costs beyond what was expected of it, and
for noise in what is compared."""


class CostAccount:
    """The costs within the last `WINDOW_S` seconds."""

    def __init__(self, window_s: float = WINDOW_S, share: float = SHARE) -> None:
        self.window_s, self.most_s = window_s, share * window_s
        self._now_s = 0.0
        self._costs: deque[tuple[float, float]] = deque()

    def passed(self, seconds: float) -> None:
        """Time has passed."""
        self._now_s += seconds
        while self._costs and self._costs[0][0] <= self._now_s - self.window_s:
            self._costs.popleft()

    def charge(self, cost_s: float) -> None:
        """Of the latest intervals."""
        self._costs.append((self._now_s, cost_s))

    @property
    def spent_s(self) -> float:
        """Seconds without any of the figure that the costs amount to."""
        return sum(cost for _, cost in self._costs)

    def allows(self, cost_s: float) -> bool:
        """Whether as much more may be spent now."""
        return self.spent_s + cost_s <= self.most_s
