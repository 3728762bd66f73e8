"""How long the trials of a plan will take, before the first of them or when some are recorded.

The methods themselves are asked: each is driven with imagined records, of a device that forwards whatever a link
carries and of one that does not, and the durations of its trials are added up. There is no formula of any procedure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.device.calibration.bias import Bias
from keisoku.device.forecast.imagined import FAST, SLOW, Imagined, imagine
from keisoku.device.plan.plan import Plan
from keisoku.device.record.capabilities import Capabilities
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.device.runner import proceed

MOST_TRIALS = 20_000
"""A plan of more trials is not thought through."""


@dataclass(frozen=True)
class Forecast:
    """Seconds that a plan's trials still take, if the device forwards all loads and if it does not."""

    least_s: float
    most_s: float


def forecast(
    plan: Plan, capabilities: Capabilities, bias: Bias, records: Sequence[TrialRecord] = ()
) -> Forecast | None:
    """What is left to measure after these trials; None if the plan's procedures cannot be thought through."""
    try:
        found = [_seconds(device, plan, capabilities, bias, records) for device in (FAST, SLOW)]
    except Exception:  # A forecast never stops a measurement; what is wrong with a plan, the run itself says.
        return None
    return Forecast(min(found), max(found))


def _seconds(
    device: Imagined, plan: Plan, capabilities: Capabilities, bias: Bias, records: Sequence[TrialRecord]
) -> float:
    total_s = 0.0

    def carry_out(index: int, name: str, trial: Trial) -> TrialRecord:
        nonlocal total_s
        if index < len(records):
            return records[index]
        if index - len(records) >= MOST_TRIALS:
            raise RuntimeError("too many trials")
        record = imagine(device, plan, capabilities, index, name, trial)
        total_s += record.engine_seconds
        return record

    proceed(plan, capabilities, bias, carry_out)
    return total_s
