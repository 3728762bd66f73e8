"""How long the trials of a plan will take, before the first of them or when some are recorded.

The methods themselves are asked: each is driven with imagined records, of a device that forwards whatever a link
carries and of one that does not, and the durations of its trials are added up. There is no formula of any procedure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from statistics import median
from types import MappingProxyType

from keisoku.ground.run.result import Result
from keisoku.language import phrase
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.forecast.plausible_trial import ALMOST, FAST, SLOW, PlausibleDevice, imagine
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.runner import own_plan, proceed
from keisoku.units import time_text

MOST_TRIALS = 20_000
"""A plan of more trials is not thought through."""
OVERHEAD_S = 0.15
"""What a host needs for a trial besides the trial's own phases, until a run shows it: measured on two busy cores."""
_ALIKE = 1.2
"""The two ends of a forecast are one number for a reader if they differ by less than this factor."""


@dataclass(frozen=True)
class Forecast:
    """Seconds that a plan's trials still take, if the device forwards all loads and if it does not."""

    least_s: float
    most_s: float

    def after(self, seconds: float) -> Forecast:
        """What is left when so much of it has passed."""
        return Forecast(max(0.0, self.least_s - seconds), max(0.0, self.most_s - seconds))

    def __str__(self) -> str:
        """'about 4.7 h', '8 min to 55 min'."""
        if self.most_s <= _ALIKE * self.least_s:
            return phrase("about {time}", time=time_text(self.most_s))
        return phrase("{least} to {most}", least=time_text(self.least_s), most=time_text(self.most_s))


def forecast(
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    records: Sequence[TrialRecord] = (),
    enough_s: float = inf,
    plans: Mapping[str, Plan] | None = None,
) -> Forecast | None:
    """What is left to measure after these trials; None if the plan's procedures cannot be thought through.

    `plans` are those of procedures that have one of their own. Nothing beyond `enough_s` is thought through: the
    forecast is then at least that.
    """
    each = on_each_device(plan, capabilities, bias, records, enough_s, plans or {})
    found = [sum(one.seconds.values()) for one in each]
    return Forecast(min(found), max(found)) if found else None


def share_of(
    name: str,
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    records: Sequence[TrialRecord],
    plans: Mapping[str, Plan],
) -> float:
    """Which part of the time that is left after these trials a procedure needs, on the device that takes longest: 0 to
    1, and 1 if the procedures cannot be thought through."""
    found = [one.seconds for one in on_each_device(plan, capabilities, bias, records, inf, plans)]
    longest = max(found, key=lambda own: sum(own.values()), default={name: 1.0})
    return longest.get(name, 0.0) / (sum(longest.values()) or 1.0)


@dataclass(frozen=True)
class OnDevice:
    """A plan on one imagined device."""

    seconds: dict[str, float]
    """Of the trials of each procedure."""
    trials: dict[str, int]
    """Their number."""
    results: list[Result]
    """Of the procedures that ended; their figures are imagined, too."""


def on_each_device(
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    records: Sequence[TrialRecord] = (),
    enough_s: float = inf,
    plans: Mapping[str, Plan] = MappingProxyType({}),
) -> list[OnDevice]:
    """The plan on each imagined device, up to the first that takes enough; none if the plan's procedures cannot be
    thought through."""
    each_s = _overhead_s(capabilities, records)
    found: list[OnDevice] = []
    for device in (ALMOST, SLOW, FAST):
        try:
            found.append(_on(device, plan, capabilities, bias, records, each_s, enough_s, plans))
        except Exception:  # A forecast never stops a measurement; what is wrong with a plan, the run itself says.
            return []
        if sum(found[-1].seconds.values()) >= enough_s:
            break
    return found


class _Enough(Exception):
    """It takes longer than anybody wants to know."""


def _on(
    device: PlausibleDevice,
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    records: Sequence[TrialRecord],
    each_s: float,
    enough_s: float,
    plans: Mapping[str, Plan],
) -> OnDevice:
    found = OnDevice({}, {}, [])

    def carry_out(index: int, name: str, trial: Trial) -> TrialRecord:
        if index < len(records):
            return records[index]
        if index - len(records) >= MOST_TRIALS:
            raise RuntimeError("too many trials")
        record = imagine(device, plan, capabilities, index, name, trial)
        found.seconds[name] = found.seconds.get(name, 0.0) + record.engine_seconds + each_s
        found.trials[name] = found.trials.get(name, 0) + 1
        if sum(found.seconds.values()) >= enough_s:
            raise _Enough
        return record

    with suppress(_Enough):
        found.results.extend(proceed(plan, capabilities, bias, carry_out, lambda name: own_plan(plans, name, plan)))
    return found


def _overhead_s(capabilities: Capabilities, records: Sequence[TrialRecord]) -> float:
    """What a trial needs besides its phases: as in the trials so far that were not ended early."""
    if capabilities.simulated:
        return 0.0
    whole = [record for record in records if not record.facts.stopped_for_loss]
    # A median, because the first trial opens what the others find open.
    return max(0.0, median([OVERHEAD_S, *(record.engine_seconds - record.trial.seconds for record in whole)]))
