"""Keeps the remaining time of a run current, for an observer that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Protocol, runtime_checkable

from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.engine import Progress
from keisoku.subjects.device.forecast.forecast import Forecast, forecast
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.runner import TrialObserver

_RARELY = 50
"""The time between two forecasts is at least so many times what one takes: thinking must not disturb a host that
measures."""


@runtime_checkable
class Expecting(TrialObserver, Protocol):
    """An observer that shows the remaining time."""

    def expects(self, remaining: Forecast | None) -> None:
        """What is left from now on; None: not known."""


@runtime_checkable
class Planning(Protocol):
    """An observer that shows what will be measured before it begins."""

    def planned(self, methods: Sequence[str], sizes: Sequence[int]) -> None:
        """These procedures, each with these sizes of frames in bytes."""


class Expected:
    """Tells its observer before the first trial, and after some of them, how long the rest will take."""

    def __init__(
        self,
        observer: Expecting,
        plan: Plan,
        capabilities: Capabilities,
        bias: Bias,
        records: Sequence[TrialRecord] = (),
        plans: Mapping[str, Plan] | None = None,
    ) -> None:
        """`plans` are those of procedures that have one of their own, and are looked up again each time."""
        self._observer, self._plan, self._capabilities, self._bias = observer, plan, capabilities, bias
        self._records, self._plans = list(records), plans
        self._next_s = 0.0
        self._think()

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """Passed on."""
        self._observer.trial_started(index, method, trial)

    def trial_progress(self, progress: Progress) -> None:
        """Passed on."""
        self._observer.trial_progress(progress)

    def trial_finished(self, record: TrialRecord) -> None:
        """Passed on; then the rest is thought through again, unless that was done a moment ago."""
        self._records.append(record)
        self._observer.trial_finished(record)
        if monotonic() >= self._next_s:
            self._think()

    def _think(self) -> None:
        began_s = monotonic()
        left = forecast(self._plan, self._capabilities, self._bias, self._records, plans=self._plans)
        self._observer.expects(left)
        ended_s = monotonic()
        self._next_s = ended_s + _RARELY * (ended_s - began_s)
