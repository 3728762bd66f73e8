"""The controller of the package MLRsearch as a generator: the generator's caller is what the package calls a measurer.

It runs on a thread of its own that works only while the generator is being resumed, so that the same answers always
give the same questions. Closing the generator ends the thread. It knows neither trials nor devices.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from queue import SimpleQueue
from typing import Any

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

from keisoku.subjects.device.procedure.rfc9971.search_goal import Bounds, Goal, Question, Search, TrialResult

_FOREVER_S = 1e9
"""The controller must not use the clock: a resumed search ends at once, a long one may take days."""


def mlrsearch(goal: Goal, least_fps: float, most_fps: float) -> Search:
    """The package's search for one goal. Raises what the controller raises."""
    preset = goal.preset
    search_goal = SearchGoal(
        loss_ratio=goal.loss_ratio,
        exceed_ratio=preset.exceed_percent / 100,
        relative_width=goal.width,
        initial_trial_duration=preset.initial_s,
        final_trial_duration=preset.trial_s,
        duration_sum=preset.sum_s,
        preceding_targets=2 if preset.initial_s < preset.sum_s else 0,
        fail_fast=False,
    )
    config = Config(
        goals=(search_goal,),
        min_load=least_fps,
        max_load=most_fps,
        search_duration_max=_FOREVER_S,
        warmup_duration=0.0,
    )
    found = (yield from _inverted(config, preset.initial_s))[search_goal]
    lower, upper, conditional = found.relevant_lower_bound, found.relevant_upper_bound, found.conditional_throughput
    return Bounds(
        None if lower is None else float(lower),
        None if upper is None else float(upper),
        0.0 if conditional is None else float(conditional),
    )


class _Closed(BaseException):
    """Raised in the controller when its result is no longer needed."""


class _Measurer(AbstractMeasurer):  # type: ignore[misc]  # the package has no types
    """Passes each question on and waits for the answer."""

    def __init__(self, hints_s: float) -> None:
        self.said: SimpleQueue[Any] = SimpleQueue()
        self.answers: SimpleQueue[TrialResult | None] = SimpleQueue()
        self.hints_s, self.count = hints_s, 0

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        """Called by the controller, on its thread."""
        self.count += 1
        # Only the initial trials, three at most, are used by their loss ratio.
        for_rate = self.count <= 3 and intended_duration <= self.hints_s
        self.said.put(Question(intended_duration, intended_load, for_rate))
        answer = self.answers.get()
        if answer is None:
            raise _Closed
        return MeasurementResult(
            intended_duration=answer.seconds,
            intended_load=intended_load,
            offered_count=answer.frames,
            loss_count=answer.lost_frames,
            # Durations are those of the load: with waits, two trials of 1 s would count as 21 s.
            offered_duration=answer.spent_s,
            duration_with_overheads=answer.spent_s,
        )


def _inverted(config: Config, hints_s: float) -> Generator[Question, TrialResult, Any]:
    measurer = _Measurer(hints_s)

    def search() -> None:
        try:
            measurer.said.put(MultipleLossRatioSearch(config).search(measurer, debug=lambda text: None))
        except BaseException as error:
            measurer.said.put(error)

    thread = threading.Thread(target=search, name="keisoku-mlrsearch", daemon=True)
    thread.start()
    try:
        while isinstance(said := measurer.said.get(), Question):
            measurer.answers.put((yield said))
        if isinstance(said, BaseException):
            raise said
        return said
    finally:
        measurer.answers.put(None)
        thread.join()
