"""A plan from the keywords of a call: a plan's own keys, and those of a single method. Accesses no port."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keisoku.errors import PlanError, instead
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan.procedure import PROCEDURES

_WAITS = "waits_s"


def plan_of(methods: tuple[str, ...], keys: Mapping[str, Any]) -> Plan:
    """The plan for these keywords; defaults are those of the command line.

    `waits_s` sets all waits of RFC 2544 §23. Settings of a single method may be given directly: `trial_s=2` is
    `throughput={"trial_s": 2}`; where a method searches for the throughput first, the search's trials have the same
    length. Raises PlanError for unknown or invalid settings.
    """
    if not methods:
        raise PlanError("methods", "no method is given", f"use one of {', '.join(PROCEDURES)}")
    unknown = next((method for method in methods if method not in PROCEDURES), None)
    if unknown is not None:
        raise PlanError("methods", f"there is no method '{unknown}'", instead(unknown, list(PROCEDURES)))
    only = PROCEDURES[methods[0]] if len(methods) == 1 else None
    own = only.settings.model_fields if only is not None else {}
    source: dict[str, Any] = {"methods": methods}
    settings: dict[str, Any] = {}
    for key, value in keys.items():
        if value is None:
            continue
        if key == _WAITS:
            source["phases"] = {"learning_wait_s": value, "drain_s": value, "rest_s": value}
        elif key in own:
            settings[key] = value
        elif key in Plan.model_fields:
            source[key] = _values(key, value)
        else:
            raise PlanError(key, "there is no such setting", instead(key, [*Plan.model_fields, *own, _WAITS]))
    if only is not None:
        if settings:
            source[only.name] = settings | dict(source.get(only.name, {}))
        if only.searches and "trial_s" in settings and "throughput" not in source:
            source["throughput"] = {"trial_s": settings["trial_s"]}
        if not {"dut", "tx", "ports"} & source.keys() and only.dut is not None:
            source["dut"] = only.dut
        if "frame_bytes" not in source:
            simulated = str(source.get("dut", "")).startswith("sim:")
            sizes = (only.simulated_sizes if simulated else None) or only.sizes
            source |= {} if sizes is None else {"frame_bytes": sizes}
    return parse(source)


def _values(key: str, value: Any) -> Any:
    """A single port or size need not be in a list; ports of a device may be given as numbers."""
    if key == "frame_bytes" and isinstance(value, int):
        return (value,)
    if key in ("tx", "rx") and isinstance(value, int):
        return str(value)
    if key == "ports" and not isinstance(value, str):
        return tuple(str(port) for port in value)
    return (value,) if key in ("require", "modify", "ports") and isinstance(value, str) else value
