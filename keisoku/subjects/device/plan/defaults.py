"""What stands in a plan where nothing is given: device, sizes, waits, lengths of searches, and the profile's pace.

One rule for commands, Python, the server and plan files: all of them give what their user wrote, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keisoku.subjects.device.plan.pace import LONGEST_TRIAL_S, paced
from keisoku.subjects.device.plan.settings import RFC5695_SIZES
from keisoku.subjects.device.plan.uri import is_simulated
from keisoku.subjects.device.table import PROCEDURES

_WAITS = ("learning_wait_s", "drain_s", "rest_s")
LONGEST_S = 1e9
"""Of a wait; a longer one is left for validation to refuse."""


def completed(source: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a plan, with those that follow from its procedures, and those of its profile."""
    found = dict(source)
    names = procedures_of(found)
    waits_s, phases = found.get("waits_s"), found.get("phases", {})
    if isinstance(waits_s, int | float) and 0 <= waits_s <= LONGEST_S and isinstance(phases, Mapping):
        found["phases"] = {**dict.fromkeys(_WAITS, found.pop("waits_s")), **phases}
    if all(found.get(key) in (None, ()) for key in ("dut", "tx", "rx", "ports")):
        found["dut"] = _one({PROCEDURES[name].dut for name in names})
    if found.get("frame_bytes") is None:
        simulated = is_simulated(found["dut"]) if isinstance(found.get("dut"), str) else False
        found["frame_bytes"] = _one({_sizes(name, simulated) for name in names})
    if found["frame_bytes"] is None and found.get("headers") == "mpls":
        found["frame_bytes"] = RFC5695_SIZES
    if "throughput" not in found and "throughput" not in names:
        length_s = _one({_search_s(found.get(name)) for name in names if PROCEDURES[name].searches})
        found |= {} if length_s is None else {"throughput": {"trial_s": length_s}}
    longest_s = LONGEST_TRIAL_S.get(found["profile"]) if isinstance(found.get("profile"), str) else None
    found = found if longest_s is None else paced(found, longest_s)
    return {key: value for key, value in found.items() if value is not None}


def procedures_of(source: Mapping[str, Any]) -> list[str]:
    """Those in `methods` that there are; what else stands there is left for validation to refuse."""
    methods = source.get("methods")
    names = methods if isinstance(methods, list | tuple) else ()
    return [name for name in names if isinstance(name, str) and name in PROCEDURES]


def _one(values: set[Any]) -> Any:
    """The value that all have; None if they have several, or none."""
    return next(iter(values)) if len(values) == 1 else None


def _sizes(name: str, simulated: bool) -> str | None:
    procedure = PROCEDURES[name]
    return (procedure.simulated_sizes if simulated else None) or procedure.sizes


def _search_s(own: Any) -> Any:
    """Length of the trials that search for the throughput: of their own, or as long as the procedure's."""
    return own.get("search_s", own.get("trial_s")) if isinstance(own, Mapping) else None
