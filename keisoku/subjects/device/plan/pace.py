"""The pace of a plan: how long its trials and waits are, how often they are repeated, how fine its searches are.

All follow from the length of the longest trial, so that a profile is one number, and a plan that must fit a time is
found by trying lengths. What a plan gives itself is never changed, nor is any time that belongs to the device (its
ageing time).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10, sqrt
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel

from keisoku.subjects.device.plan.settings import PhaseSettings
from keisoku.subjects.device.table import PROCEDURES

LENGTHS = ("trial_s", "limit_s", "overload_s", "stable_s", "watch_s")
"""Settings that are the length of a trial, or of a part of one."""
Profile = Literal["quick", "short", "rfc"]
LONGEST_TRIAL_S: dict[Profile, float] = {"quick": 0.5, "short": 2.0}
"""Of the profiles that are no standard's."""
_WAIT = 0.2
"""Length of each wait as a share of the longest trial."""
_LEAST_DRAIN_S = 0.1
"""A port that was silent for less is not said to lose its frames (`record/validity.py`)."""
_REPETITIONS = 3.6
"""Of a trial of 1 s; with the root of the length: 20 repetitions of 30 s, 3 of 0.5 s."""
_LEAST_REPETITIONS = 3
_RESOLUTION_PERCENT = 0.7
"""Of a trial of 1 s. A rate that is counted for a shorter time scatters more, by the root: a finer search would only
follow the scatter."""
_TIMES = {
    "trial_s": 1.0,
    "limit_s": 1.0,
    "limit_trial_s": 0.2,
    "overload_s": 1.0,
    "watch_s": 1.0,
    "stable_s": 1.0,
    "window_s": 0.5,
    "pause_s": 0.2,
    "saturation_s": 0.5,
}
"""Settings that are the length of a trial or a part of one, as multiples of the longest trial; a procedure may have
others (`Procedure.pace`)."""


def paced(source: Mapping[str, Any], longest_trial_s: float) -> dict[str, Any]:
    """The plain values of a plan, with those that it does not give shortened to this pace; never lengthened."""
    found = dict(source)
    waits = {field: _WAIT for field in PhaseSettings.model_fields if field.endswith("_s")}
    waits["drain_s"] = max(_WAIT, _LEAST_DRAIN_S / longest_trial_s)
    found["phases"] = _filled(source.get("phases"), PhaseSettings, longest_trial_s, waits)
    for name in {*(source.get("methods") or ()), "throughput"} & PROCEDURES.keys():
        procedure, own = PROCEDURES[name], source.get(name)
        usual = procedure.usual(own) if isinstance(own, Mapping) else procedure.usual({})
        found[name] = _filled(own, procedure.settings, longest_trial_s, procedure.pace, usual)
    return found


def _filled(
    given: Any,
    kind: type[BaseModel],
    longest_trial_s: float,
    pace: Mapping[str, float],
    usual: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """A table of settings; something else than a table is left for validation to refuse."""
    if isinstance(given, BaseModel):
        given = given.model_dump(exclude_unset=True)
    if given is not None and not isinstance(given, Mapping):
        return given
    own = dict(given or {})
    for field, info in kind.model_fields.items():
        times = pace.get(field, _TIMES.get(field))
        shorter = _shortened(field, usual.get(field, info.default), times, longest_trial_s)
        if field not in own and shorter is not None:
            own[field] = shorter
    return own


def _shortened(field: str, default: Any, times: float | None, longest_trial_s: float) -> Any:
    """The value of a setting at this pace; None if it is its default."""
    if isinstance(default, bool) or not isinstance(default, int | float):
        return None
    if times is not None:
        value: float = two_digits(times * longest_trial_s)
    elif field == "repetitions":
        value = max(_LEAST_REPETITIONS, round(_REPETITIONS * sqrt(longest_trial_s)))
    elif field in ("resolution_percent", "width_percent"):
        value = two_digits(_RESOLUTION_PERCENT / sqrt(longest_trial_s))
        return min(value, 50.0) if value > default else None
    else:
        return None
    return value if value < default else None


def two_digits(value: float) -> float:
    """Rounded to two significant digits, for a reader; of any unit."""
    return round(value, 1 - floor(log10(value)))
