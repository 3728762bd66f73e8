"""How sure the figures are and where they come from: calibration, uncertainty, context, plan.

Only says what records, results and context hold; what they do not hold it names as missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import tomlkit

from keisoku.device.plan.procedure import PROCEDURES
from keisoku.device.report.device import Device

COVERAGE = (
    "A figure reads value ± U, with the expanded uncertainty U = 2u: a coverage factor of k = 2, about 95 % "
    "if the errors are normal (GUM, JCGM 100:2008). The value is rounded to its uncertainty; no digit below "
    "it is shown. Standard errors of fitted lines are k = 1, as the literature prints them. Where a figure is put "
    "together of parts, its error budget lists them: type A from repetitions and fits, type B from what is known "
    "of clocks, cables, link and calibration. In simulated time the instrument contributes exactly nothing."
)
NOT_INCLUDED = (
    "Not included: how the device behaves at other times, temperatures and configurations, and what else "
    "the host did. Runs on shared processors scatter more from run to run than within one."
)


def stamps(device: Device) -> list[str]:
    """Where both time stamps of a frame were taken, one sentence for each way that occurred."""
    ways = {(record.facts.transmit_stamp, record.facts.receive_stamp): None for record in device.run.records}
    return [f"Sent: {transmit}. Received: {receive}." for transmit, receive in ways]


def calibration(device: Device) -> list[tuple[str, str]]:
    """What the tester itself was found to add, as the context states it; empty if it was not calibrated."""
    found = device.run.context.get("calibration")
    if not found:
        return []
    return flattened(found) if isinstance(found, Mapping) else [("calibration", str(found))]


def deviations(devices: Sequence[Device]) -> list[tuple[str, str]]:
    """Every deviation once, with the methods that it holds for, and the devices if not for all."""
    return _said(devices, "deviations")


def remarks(devices: Sequence[Device]) -> list[tuple[str, str]]:
    """What methods had to say besides figures, each once, with where it holds."""
    return _said(devices, "remarks")


def _said(devices: Sequence[Device], kind: Literal["deviations", "remarks"]) -> list[tuple[str, str]]:
    found: dict[str, dict[str, list[str]]] = {}
    ran: dict[str, set[str]] = {}
    for device in devices:
        for result in device.run.results:
            ran.setdefault(result.method, set()).add(device.name)
            for text in getattr(result, kind):
                names = found.setdefault(text, {}).setdefault(result.method, [])
                if device.name not in names:
                    names.append(device.name)
    return [
        (
            text,
            ", ".join(
                PROCEDURES[method].title + ("" if set(names) == ran[method] else f" ({', '.join(names)})")
                for method, names in where.items()
            ),
        )
        for text, where in found.items()
    ]


def flattened(content: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested keys joined by dots, with values as text, in the order they are kept."""
    rows: list[tuple[str, str]] = []
    for key, value in content.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            rows += flattened(value, f"{name}.")
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
            rows += flattened({str(index): item for index, item in enumerate(value)}, f"{name}.")
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(str(item) for item in value)))
        else:
            rows.append((name, "not known" if value is None else str(value)))
    return rows


def plan_toml(plan: Mapping[str, Any]) -> str:
    """The plan as a TOML file that `keisoku run` accepts; what was left open is left out."""
    return tomlkit.dumps(_without_none(plan))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value if item is not None]
    return value if isinstance(value, bool | int | float | str) else str(value)
