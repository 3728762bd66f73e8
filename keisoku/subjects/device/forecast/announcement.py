"""What is said before the first frame: how long it will take, and what can be had sooner."""

from __future__ import annotations

from keisoku.language import join_texts, lower_case, phrase, plural
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.forecast.fitting import SHORTEST_S, at_pace, bought
from keisoku.subjects.device.forecast.forecast import forecast
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.settings import PhaseSettings
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.table import PROCEDURES
from keisoku.units import time_text

LONG_S = 120.0
"""Whoever waits for longer may want to know how to wait for less."""
_SOONER_S = 300.0


def announcement(plan: Plan, capabilities: Capabilities, bias: Bias) -> str:
    """One sentence; empty in virtual time, which nobody waits for, unless the time was limited."""
    if capabilities.simulated and plan.within_s is None:
        return ""
    count = len(plan.frame_bytes)
    sizes = plural("{count} size", "{count} sizes", count=count)
    what = join_texts(", ", [*(lower_case(PROCEDURES[name].title) for name in plan.methods), sizes])
    found = forecast(plan, capabilities, bias)
    if found is None:
        return phrase("{what}: how long it takes is not known beforehand", what=what)
    if plan.within_s is not None:
        return phrase(
            "{what}: {time} of {limit}; {bought}",
            what=what,
            time=str(found),
            limit=time_text(plan.within_s),
            bought=bought(plan),
        )
    said = join_texts(": ", [join_texts(", ", [what, *_profile(plan)]), str(found)])
    if found.most_s <= LONG_S:
        if plan.profile == "rfc":
            return said
        return phrase("{plan}; '--profile rfc' measures as the standards say", plan=said)
    soonest = forecast(at_pace(plan, SHORTEST_S), capabilities, bias, enough_s=_SOONER_S)
    if soonest is None or soonest.most_s >= _SOONER_S:
        return said
    sooner = time_text(_SOONER_S).replace(" ", "")
    return phrase("{plan}; '--within {time}' gives an answer sooner", plan=said, time=sooner)


def _profile(plan: Plan) -> list[str]:
    """What the plan's times are, if they are all of one kind: 'RFC 2544' or 'profile quick'."""
    if plan.profile != "rfc":
        return [phrase("profile {name}", name=plan.profile)]
    own = [plan.own(name) for name in plan.methods]
    if plan.phases != PhaseSettings() or any(settings != type(settings)() for settings in own):
        return []
    return list(dict.fromkeys(PROCEDURES[name].standard.split(" §")[0] for name in plan.methods))
