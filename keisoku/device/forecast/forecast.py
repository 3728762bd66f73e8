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

from keisoku.device.calibration.bias import Bias
from keisoku.device.forecast.imagined import ALMOST, FAST, SLOW, Imagined, imagine
from keisoku.device.plan.plan import Plan
from keisoku.device.record.capabilities import Capabilities
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.device.runner import proceed
from keisoku.language import phrase
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
    each_s = _overhead_s(capabilities, records)
    found = []
    for device in (ALMOST, SLOW, FAST):
        try:
            found.append(_seconds(device, plan, capabilities, bias, records, each_s, enough_s, plans or {}))
        except Exception:  # A forecast never stops a measurement; what is wrong with a plan, the run itself says.
            return None
        if found[-1] >= enough_s:
            break
    return Forecast(min(found), max(found))


class _Enough(Exception):
    """It takes longer than anybody wants to know."""


def _seconds(
    device: Imagined,
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    records: Sequence[TrialRecord],
    each_s: float,
    enough_s: float,
    plans: Mapping[str, Plan],
) -> float:
    total_s = 0.0

    def carry_out(index: int, name: str, trial: Trial) -> TrialRecord:
        nonlocal total_s
        if index < len(records):
            return records[index]
        if index - len(records) >= MOST_TRIALS:
            raise RuntimeError("too many trials")
        record = imagine(device, plan, capabilities, index, name, trial)
        total_s += record.engine_seconds + each_s
        if total_s >= enough_s:
            raise _Enough
        return record

    with suppress(_Enough):
        proceed(plan, capabilities, bias, carry_out, lambda name: plans.get(name, plan))
    return total_s


def _overhead_s(capabilities: Capabilities, records: Sequence[TrialRecord]) -> float:
    """What a trial needs besides its phases: as in the trials so far that were not ended early."""
    if capabilities.simulated:
        return 0.0
    whole = [record for record in records if not record.facts.stopped_for_loss]
    # A median, because the first trial opens what the others find open.
    return max(0.0, median([OVERHEAD_S, *(record.engine_seconds - record.trial.seconds for record in whole)]))
