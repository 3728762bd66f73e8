"""The metrics and states of DHCP's clients and servers as leaves of OTG's YANG models. Pure; counts nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from keisoku.faces.otg.leaf import Entries, Leaves, Path, Short, entry, named, plain

Document = Mapping[str, Any]
_ODD: dict[int, dict[str, str]] = {
    4: {name: name for name in ("gateway_address", "lease_time", "renew_time", "rebind_time", "preferred_time")},
    6: {},
}
"""Leaves of the models that are written as OTG's fields; in all others a hyphen is in place of the underscore."""


def root(version: int, role: str) -> str:
    """The container at the top, of clients or servers ("client", "server")."""
    return f"dhcpv{version}-{role}s"


def dhcp_leaves(version: int, role: str) -> Callable[..., Leaves]:
    """What makes the leaves of all clients or servers of a version, of their metrics and their states."""
    return partial(_leaves, version, role)


def _leaves(version: int, role: str, metrics: Sequence[Document], states: Sequence[Document]) -> Leaves:
    for metric in metrics:
        at = _at(version, role, str(metric["name"]))
        yield from named(at, str(metric["name"]))
        for name, count in metric.items():
            if name != "name":
                yield at + plain("state", "counters", name.replace("_", "-")), int(count)
    for one in states:
        at = _at(version, role, str(one[f"dhcp_{role}_name"]))
        if role == "server":
            for each in one["leases"]:
                yield from _lease(version, at + plain("state", "leases", "leases-states"), each)
        elif version == 4:
            yield from _four(at + plain("state", "interface"), one)
        else:
            yield from _six(at + plain("state", "interface"), one)


def _at(version: int, role: str, name: str) -> Path:
    return entry(root(version, role), (f"dhcpv{version}-{role}", "name", name))


def _named(version: int, name: str) -> str:
    return _ODD[version].get(name, name.replace("_", "-"))


def _lease(version: int, inside: Path, each: Document) -> Leaves:
    address = str(each["address"])
    at = inside + entry(("hosts", "address", address))
    yield (*at, ("address", ())), address
    for name, value in each.items():
        yield at + plain("state", _named(version, name)), Short(value) if name.endswith("_time") else str(value)


def _four(at: Path, one: Document) -> Leaves:
    for name, value in one.items():
        if name != "dhcp_client_name":
            leaf = "address" if name == "ipv4_address" else _named(4, name)
            yield at + plain(leaf), str(value) if name.endswith("address") else Short(value)


def _six(at: Path, one: Document) -> Leaves:
    for name, inner in (("ia_addresses", "ia-address"), ("iapd_addresses", "iapd-address")):
        entries = [{field.replace("_", "-"): value for field, value in each.items()} for each in one[name]]
        if entries:
            yield at + plain(name.replace("_", "-"), inner), Entries(entries)
