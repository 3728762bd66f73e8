"""The metrics and states of LLDP agents as leaves of OTG's YANG models. Pure; counts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.faces.otg.leaf import Leaves, Path, Short, Value, entry, named, plain

Document = Mapping[str, Any]
_LLDP_COUNTERS = {
    "frame-in": "frames_rx",
    "frame-out": "frames_tx",
    "frame-error-in": "frames_error_rx",
    "frame-discard": "frames_discard",
    "tlv-discard": "tlvs_discard",
    "tlv-unknown": "tlvs_unknown",
}
_LLDP_TEXTS = (
    *("system_name", "system_description", "chassis_id", "port_id", "port_description"),
    *("management_address", "management_address_type"),
)


def lldp_leaves(metrics: Sequence[Document], neighbours: Sequence[Document]) -> Leaves:
    """Of LLDP agents, and of the neighbours that they found."""
    for metric in metrics:
        agent = _agent(str(metric["name"]))
        yield from named(agent, str(metric["name"]))
        for leaf, name in _LLDP_COUNTERS.items():
            yield agent + plain("state", "counters", leaf), int(metric[name])
    for state in neighbours:
        inside = plain("state", "lldp-neighbor-database", "lldp-neighbors")
        yield from _lldp_neighbour(_agent(str(state["lldp_name"])) + inside, state)


def _agent(name: str) -> Path:
    return entry("lldps", ("lldp-interface", "name", name))


def _lldp_neighbour(inside: Path, state: Document) -> Leaves:
    """Some of the model's names have an underscore."""
    key = str(state["neighbor_id"])
    at = inside + entry(("lldp-neighbor", "neighbor_id", key))
    yield (*at, ("neighbor_id", ())), key
    yield at + plain("state", "neighbor_id"), key
    for name in _LLDP_TEXTS:
        if name in state:
            yield at + plain("state", name.replace("_", "-")), str(state[name])
    for name in ("chassis_id_type", "port_id_type"):
        if name in state:
            yield at + plain("state", name.replace("_", "-")), str(state[name]).upper()
    for name in ("age", "ttl"):
        if name in state:
            yield at + plain("state", name), Short(state[name])
    for tlv in state["custom_tlvs"]:
        keys = {"custom-type": tlv["custom_type"], "oui": tlv["oui"], "oui-subtype": tlv["oui_subtype"]}
        place: Path = (*at, ("custom-tlv", tuple((name, str(value)) for name, value in keys.items())))
        for name, value in keys.items():
            written: Value = value if name == "oui" else Short(value)
            yield (*place, (name, ())), written
            yield place + plain("state", name), written
    for one in state["capabilities"]:
        name = str(one["capability_name"]).upper()
        place = at + entry(("capabilities", "name", name))
        yield (*place, ("name", ())), name
        yield place + plain("state", "name"), name
        yield place + plain("state", "enabled"), bool(one["capability_enabled"])
