"""A plan that fits a time: the longest trials, and the waits, repetitions and resolutions that belong to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

from keisoku.errors import PlanError
from keisoku.language import join_texts, lower_case, phrase, plural
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.forecast.forecast import forecast
from keisoku.subjects.device.plan.pace import paced, two_digits
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.table import PROCEDURES
from keisoku.units import time_text

SHORTEST_S, LONGEST_S = 0.02, 120.0
"""Lengths of the longest trial that are tried."""
_STEPS = 8
"""Halvings of the range of lengths, on a logarithmic scale: to 4 %."""
CAREFUL = 0.9
"""Share of the time that is planned: trials that the host disturbs are done again."""


def fitted(
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    seconds: float,
    records: Sequence[TrialRecord] = (),
    plans: Mapping[str, Plan] | None = None,
) -> Plan:
    """The plan itself if it takes no longer than these seconds, or one with shorter defaults that does.

    What the plan gives is kept. `records` are the trials so far, of the procedures that have their own `plans`: the
    seconds are those that are left after them. The plan with the shortest trials is returned where even that takes
    longer, but finishes its first size. Raises PlanError if no size would be finished, or if nothing is known of the
    duration.
    """
    target_s = CAREFUL * seconds

    def fits(plan: Plan, enough_s: float = target_s) -> bool:
        found = forecast(plan, capabilities, bias, records, enough_s, plans or {})
        if found is None:
            raise PlanError("within", "how long this plan takes is not known beforehand", "leave it out")
        return found.most_s < enough_s

    if fits(plan):
        return plan
    low_s, high_s = SHORTEST_S, LONGEST_S
    best = at_pace(plan, low_s)
    if not fits(best):
        if records:
            return best
        first = best.model_copy(update={"methods": best.methods[:1], "frame_bytes": best.frame_bytes[:1]})
        needed = forecast(first, capabilities, bias)
        if needed is not None and needed.least_s > seconds:
            left = time_text(max(0.0, seconds))  # the start of the program may have taken more than all
            problem = f"{left} is too short: the first frame size alone takes {needed}"
            raise PlanError("within", problem, "give more time, or shorten what the plan itself sets")
        return best
    for _ in range(_STEPS):
        middle_s = two_digits(sqrt(low_s * high_s))
        tried = at_pace(plan, middle_s)
        if fits(tried):
            low_s, best = middle_s, tried
        else:
            high_s = middle_s
    return best


def at_pace(plan: Plan, longest_trial_s: float) -> Plan:
    """The plan with all that it does not give at this pace."""
    given = plan.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return parse(paced(given, longest_trial_s))


def bought(plan: Plan) -> str:
    """What a plan does in its time, for a reader: 'latency: trials of 0.2 s, 3 repetitions; waits of 0.04 s'."""
    said: list[str] = []
    for name in plan.methods:
        own = plan.own(name)
        parts: list[str] = []
        if (trial_s := getattr(own, "trial_s", None)) is not None:
            parts.append(phrase("trials of {time}", time=time_text(trial_s)))
        for field in ("resolution_percent", "width_percent"):
            if field in type(own).model_fields:
                parts.append(phrase("resolution {percent} %", percent=f"{getattr(own, field):g}"))
        if (repetitions := getattr(own, "repetitions", None)) is not None:
            parts.append(plural("{count} repetition", "{count} repetitions", count=repetitions))
        if parts:
            said.append(join_texts(": ", [lower_case(PROCEDURES[name].title), join_texts(", ", parts)]))
    waits = plan.phases
    longest = max(waits.learning_wait_s, waits.drain_s, waits.rest_s)
    return join_texts("; ", [*said, phrase("waits of {time}", time=time_text(longest))])
