"""Fits a plan that has a time again before each of its procedures: to the time that the earlier ones left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.forecast.fitting import CAREFUL, bought, fitted
from keisoku.subjects.device.forecast.forecast import share_of
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial_log import TrialLog
from keisoku.subjects.device.runner import own_plan

PLANS = "plans"
"""Name of the fact of a run under which each procedure's own plan is kept."""
_LEAST_S = 1e-3
"""The time of a procedure that has none left: it must be more than nothing to be a plan's."""


class Refitting:
    """The plan of each procedure of a run that has a time.

    The first fit counts on a device for which a search takes longest, and on a calm host. Mostly a procedure takes
    less time than that, and the next one has longer trials; if it took more, the next one has shorter ones and is
    still finished. `within_s` of a procedure's plan is its own part of the time, which it divides among its sizes.
    """

    def __init__(
        self,
        wanted: Plan | None,
        first: Plan,
        capabilities: Capabilities,
        bias: Bias,
        directory: RunDirectory,
        tell: Callable[[str], None],
    ) -> None:
        """`wanted` is the plan before it was `first` fitted: only what that one does not give may change. None: nothing
        may, because there is no time to keep, or because the run goes on under the plans that it has."""
        self._wanted, self._first, self._capabilities, self._bias = wanted, first, capabilities, bias
        self._directory, self._tell = directory, tell
        self.plans = plans_of(directory)
        """Of the procedures that have begun."""

    def plan_of(self, name: str, left_s: float) -> Plan:
        """The plan under which this procedure is carried out, with so many seconds left for it and all after it."""
        if self._wanted is None:
            return own_plan(self.plans, name, self._first)
        plan, records = self._first, TrialLog(self._directory).records()
        if self.plans:
            with suppress(PlanError):  # Not one size would be finished: the run ends by itself.
                plan = fitted(self._wanted, self._capabilities, self._bias, left_s, records, self.plans)
        if plan != self._first:
            alone = plan.model_copy(update={"methods": (name,)})
            self._tell(phrase("{bought}, to fit what is left of the time", bought=bought(alone)))
        share = share_of(name, plan, self._capabilities, self._bias, records, self.plans)
        own_s = max(_LEAST_S, round(CAREFUL * left_s * share, 3))
        self.plans[name] = plan.model_copy(update={"within_s": own_s})
        self._directory.know(**{PLANS: {own: kept.plain() for own, kept in self.plans.items()}})
        return self.plans[name]


def plans_of(directory: RunDirectory) -> dict[str, Plan]:
    """The plans of a run's procedures that do not have the run's own."""
    kept: Mapping[str, Any] = directory.facts.get(PLANS, {})
    return {name: parse(plain) for name, plain in kept.items()}
