"""What a client has configured by OTG, as tables to look at: its ports, flows and devices, and how they count now."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.faces.service.configured import Configured
from keisoku.language import phrase, recorded
from keisoku.units import time_text

_TITLES = {
    "ports": phrase("Ports"),
    "flows": phrase("Traffic flows"),
    "lags": phrase("Link aggregation groups"),
    "lacp": phrase("LACP members"),
    "bgp": phrase("BGP sessions"),
    "isis": phrase("IS-IS routers"),
    "ospfv2": phrase("OSPFv2 routers"),
    "lldp": phrase("LLDP agents"),
    "dhcpv4_client": phrase("DHCPv4 clients"),
    "dhcpv4_server": phrase("DHCPv4 servers"),
    "dhcpv6_client": phrase("DHCPv6 clients"),
    "dhcpv6_server": phrase("DHCPv6 servers"),
}
_MOST_NAME = 80
"""Characters of what a program calls itself; a browser's are many."""
_COLUMNS = {
    "ports": ("name", "link", "frames_tx", "frames_rx", "frames_tx_rate", "frames_rx_rate"),
    "flows": ("name", "transmit", "frames_tx", "frames_rx", "frames_tx_rate", "frames_rx_rate", "loss"),
}
"""Of these; others show all that they count."""
_HEADS = {
    "name": phrase("Name"),
    "location": phrase("Location"),
    "link": phrase("Link"),
    "transmit": phrase("State"),
    "frames_tx": phrase("Frames sent"),
    "frames_rx": phrase("Frames received"),
    "frames_tx_rate": phrase("Sent a second"),
    "frames_rx_rate": phrase("Received a second"),
    "loss": phrase("Loss in %"),
    "way": phrase("From and to"),
    "size": phrase("Frame size"),
    "rate": phrase("Load"),
    "protocols": phrase("Protocols"),
}


@dataclass(frozen=True)
class Table:
    """Rows under their heads."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def owner(of: Configured) -> str:
    """Who has the ports, by which program, and since when; empty if they are free."""
    if of.owner is None:
        return ""
    who = of.owner.who if of.owner.program is None else f"{of.owner.who} ({of.owner.program[:_MOST_NAME]})"
    ago = {name: time_text(max(1, round(value))) for name, value in vars(of.owner).items() if name.endswith("_s")}
    return phrase(
        "The ports belong to {who}, which configured them {set_ago_s} ago and sent its last request {silent_s} ago.",
        who=who,
        **ago,
    )


def configuration(of: Configured) -> list[Table]:
    """What was asked for, in short."""
    document = of.document
    ports = [{"name": port.get("name"), "location": port.get("location")} for port in document.get("ports", ())]
    devices = [{"name": device.get("name"), "protocols": _protocols(device)} for device in document.get("devices", ())]
    flows = [_flow(flow) for flow in document.get("flows", ())]
    tables = {phrase("Ports"): ports, phrase("Devices"): devices, phrase("Traffic flows"): flows}
    return [_table(title, list(rows[0]), rows) for title, rows in tables.items() if rows]


def counters(of: Configured) -> list[Table]:
    """How it stands now."""
    found = []
    for kind, metrics in of.counters.items():
        if metrics:
            known = [key for key, value in metrics[0].items() if not isinstance(value, Mapping | list)]
            found.append(_table(_TITLES[kind], _COLUMNS.get(kind, known), metrics))
    return found


def as_text(of: Configured) -> str:
    """The whole configuration, as it was sent."""
    return json.dumps(of.document, indent=2, ensure_ascii=False)


def _table(title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    heads = [_HEADS.get(column) or recorded(column.replace("_", " ")) for column in columns]
    return Table(title, heads, [[_cell(row.get(column)) for column in columns] for row in rows])


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return phrase("yes") if value else phrase("no")
    if isinstance(value, int | float):
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"
    return recorded(str(value))


def _flow(flow: Mapping[str, Any]) -> dict[str, Any]:
    sides = flow.get("tx_rx", {})
    chosen = sides.get(sides.get("choice", "port"), sides)
    ends = (
        [chosen.get(name) for name in ("tx_name", "rx_name")]
        if "tx_name" in chosen
        else [", ".join(chosen.get(name, ())) for name in ("tx_names", "rx_names")]
    )
    if not ends[1]:
        ends[1] = ", ".join(chosen.get("rx_names", ()))
    return {
        "name": flow.get("name"),
        "way": f"{ends[0] or '–'} → {ends[1] or '–'}",
        "size": _chosen(flow.get("size", {})),
        "rate": _chosen(flow.get("rate", {})),
    }


def _chosen(of: Mapping[str, Any]) -> str | None:
    """A choice of OTG and its value: 'pps 1000'."""
    kind = of.get("choice") or next(iter(of), None)
    if kind is None:
        return None
    value = of.get(kind)
    if isinstance(value, int | float):
        return f"{value:,} {kind}"
    return f"{kind} {json.dumps(value) if isinstance(value, Mapping) else value}"


def _protocols(device: Mapping[str, Any]) -> str:
    known = {"bgp": "BGP", "isis": "IS-IS", "ospfv2": "OSPFv2", "dhcp_server": "DHCP"}
    return ", ".join(title for name, title in known.items() if name in device) or "–"
