"""What is said before the first frame: how long it will take, and what can be had sooner."""

from __future__ import annotations

from keisoku.device.calibration.bias import Bias
from keisoku.device.forecast.fitting import SHORTEST_S, at_pace, bought
from keisoku.device.forecast.forecast import forecast
from keisoku.device.plan.plan import Plan
from keisoku.device.plan.procedure import PROCEDURES
from keisoku.device.plan.settings import PhaseSettings
from keisoku.device.record.capabilities import Capabilities
from keisoku.units import time_text

LONG_S = 120.0
"""Whoever waits for longer may want to know how to wait for less."""
_SOONER_S = 300.0


def announcement(plan: Plan, capabilities: Capabilities, bias: Bias) -> str:
    """One sentence; empty in virtual time, which nobody waits for, unless the time was limited."""
    if capabilities.simulated and plan.within_s is None:
        return ""
    count = len(plan.frame_bytes)
    sizes = f"{count} size{'s' if count > 1 else ''}"
    what = f"{', '.join(PROCEDURES[name].title.lower() for name in plan.methods)}, {sizes}"
    found = forecast(plan, capabilities, bias)
    if found is None:
        return f"{what}: how long it takes is not known beforehand"
    if plan.within_s is not None:
        return f"{what}: {found} of {time_text(plan.within_s)}; {bought(plan)}"
    said = f"{what}{_profile(plan)}: {found}"
    if found.most_s <= LONG_S:
        return said if plan.profile == "rfc" else f"{said}; '--profile rfc' measures as the standards say"
    soonest = forecast(at_pace(plan, SHORTEST_S), capabilities, bias, enough_s=_SOONER_S)
    if soonest is None or soonest.most_s >= _SOONER_S:
        return said
    return f"{said}; '--within {time_text(_SOONER_S).replace(' ', '')}' gives an answer sooner"


def _profile(plan: Plan) -> str:
    """What the plan's times are, if they are all of one kind: ', RFC 2544' or ', profile quick'."""
    if plan.profile != "rfc":
        return f", profile {plan.profile}"
    own = [getattr(plan, name) for name in plan.methods]
    if plan.phases != PhaseSettings() or any(settings != type(settings)() for settings in own):
        return ""
    return f", {', '.join(dict.fromkeys(PROCEDURES[name].standard.split(' §')[0] for name in plan.methods))}"
