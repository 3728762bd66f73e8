"""What a plan says in short: `vlan` and `dscp` become its headers, and `mtu` a parameter of its device.

A run keeps what they became, so that one thing is written in one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.frame.stack import ALIASES, TAGGED
from keisoku.subjects.device.plan.uri import is_lab, is_simulated

MOST_VLAN, MOST_DSCP = 4094, 63
CLASSES = {
    **{f"cs{number}": 8 * number for number in range(8)},
    **{f"af{row}{drop}": 8 * row + 2 * drop for row in range(1, 5) for drop in range(1, 4)},
    "ef": 46,
    "va": 44,
    "le": 1,
    "df": 0,
    "be": 0,
}
"""Differentiated services by their names (RFC 2474, 2597, 3246, 5865, 8622); 'be' is the old name of 'df'."""


def written_out(source: Mapping[str, Any]) -> dict[str, Any]:
    """The plain values of a plan without what it says in short. Raises PlanError for what cannot be."""
    found = dict(source)
    if (vlan := found.pop("vlan", None)) is not None:
        _stack(found, "vlan", "Ether()", f"Ether()/Dot1Q(vlan={_whole('vlan', vlan, 1, MOST_VLAN)})")
    if (dscp := found.pop("dscp", None)) is not None:
        octet = _code(dscp) << 2
        version = 6 if "IPv6()" in _headers(found) else 4
        layer, field = ("IPv6", "tc") if version == 6 else ("IP", "tos")
        _stack(found, "dscp", f"{layer}()", f"{layer}({field}={octet})")
    if (mtu := found.pop("mtu", None)) is not None:
        found["dut"] = _with_mtu(found.get("dut"), _whole("mtu", mtu, 1, 65_535))
    return found


def _headers(source: Mapping[str, Any]) -> str:
    """The stack, also of a short name."""
    headers = str(source.get("headers", "ipv4")).strip()
    return ALIASES.get(headers, headers)


def _stack(found: dict[str, Any], field: str, before: str, after: str) -> None:
    """Replaces a layer that has no value yet."""
    if found.get("stream"):
        raise PlanError(field, "is given beside a list of streams", f"write {after} into the headers of each")
    headers = _headers(found)
    if before not in headers or any(layer in headers for layer in TAGGED if layer in after):
        raise PlanError(field, f"there is no {before} without values in the headers", f"write {after} into them")
    found["headers"] = headers.replace(before, after, 1)


def _whole(field: str, value: object, least: int, most: int) -> int:
    try:
        number = int(str(value))
    except ValueError:
        raise PlanError(field, f"'{value}' is no whole number", f"give {least} to {most}") from None
    if not least <= number <= most:
        raise PlanError(field, f"there is no {field.upper()} of {number}", f"give {least} to {most}")
    return number


def _code(value: object) -> int:
    name = str(value).strip().lower()
    if name in CLASSES:
        return CLASSES[name]
    if name.isdecimal():
        return _whole("dscp", name, 0, MOST_DSCP)
    raise PlanError("dscp", f"there is no class '{value}'", f"give 0 to {MOST_DSCP}, or a name such as ef, af41 or cs6")


def _with_mtu(device: object, mtu: int) -> str:
    """The device with this MTU as its parameter."""
    uri = None if device is None else str(device)
    if is_simulated(uri):
        raise PlanError("mtu", "a simulated device has no MTU, and takes every size", "leave it out")
    if uri is None or not is_lab(uri):
        raise PlanError("mtu", "the MTU of these ports is the host's", f"set it there: ip link set DEVICE mtu {mtu}")
    if "mtu=" in uri:
        raise PlanError("mtu", f"{uri} has one already", "give it once")
    return f"{uri}{'&' if '?' in uri else '?'}mtu={mtu}"
