"""What lldpd says of agents, in the words of OTG: metrics and neighbours. Asks nobody.

lldpd drops a frame with any fault as a whole, so it discards no TLV of a frame that it keeps, and a frame with an error
is a discarded one. Adds no field that OTG does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from keisoku.faces.otg.lldp.agent import LldpAgent

Document = dict[str, Any]
_AGE = re.compile(r"(\d+) days?, (\d+):(\d+):(\d+)")
_KINDS = {
    "mac": "mac_address",
    "ifname": "interface_name",
    "ifalias": "interface_alias",
    "ip": "network_address",
    "local": "local",
}
"""lldpd's names of identifiers; of others it shows no value."""
_CAPABILITIES = {
    "Other": "other",
    "Repeater": "repeater",
    "Bridge": "mac_bridge",
    "Router": "router",
    "Wlan": "wlan_access_point",
    "Tel": "telephone",
    "Docsis": "docsis_cable_device",
    "Station": "station_only",
}
_ORGANIZATION = 127
"""Type of TLVs of organizations (IEEE 802.1AB, §8.6)."""


def lldp_metric(agent: LldpAgent, said: Mapping[str, Any]) -> Document:
    """A metric of an agent; the rest is lldpd's statistics of its interface, empty before the protocols are started."""
    counts = {name: int(_value(said, name) or 0) for name in ("tx", "rx", "rx_discarded_cnt", "rx_unrecognized_cnt")}
    return {
        "name": agent.name,
        "frames_rx": counts["rx"],
        "frames_tx": counts["tx"],
        "frames_error_rx": counts["rx_discarded_cnt"],
        "frames_discard": counts["rx_discarded_cnt"],
        "tlvs_discard": 0,
        "tlvs_unknown": counts["rx_unrecognized_cnt"],
    }


def neighbour_states(agent: LldpAgent, said: Sequence[Mapping[str, Any]]) -> Iterator[Document]:
    """The neighbours of an agent, of lldpd's account of each."""
    for each in said:
        chassis, port = each["chassis"][0], each["port"][0]
        kinds = [each_id["id"][0] for each_id in (chassis, port)]
        # A chassis and a port together identify an agent (IEEE 802.1AB, §3: MSAP).
        names = [kind.get("value") or f"{kind['type']} {each['rid']}" for kind in kinds]
        found: Document = {"lldp_name": agent.name, "neighbor_id": "/".join(names)}
        for side, kind in zip(("chassis", "port"), kinds, strict=True):
            if kind["type"] in _KINDS and "value" in kind:
                found[f"{side}_id"], found[f"{side}_id_type"] = str(kind["value"]), _KINDS[kind["type"]]
        texts = {
            "system_name": _value(chassis, "name"),
            "system_description": _value(chassis, "descr"),
            "port_description": _value(port, "descr"),
            "management_address": _value(chassis, "mgmt-ip"),
        }
        found |= {name: text for name, text in texts.items() if text is not None}
        if "management_address" in found:
            found["management_address_type"] = f"ipv{ip_address(found['management_address']).version}"
        if (age := _AGE.fullmatch(each["age"])) is not None:
            days, hours, minutes, seconds = map(int, age.groups())
            found["age"] = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
        found["ttl"] = int(_value(port, "ttl") or 0)
        found["custom_tlvs"] = [_tlv(tlv) for part in each.get("unknown-tlvs", ()) for tlv in part["unknown-tlv"]]
        found["capabilities"] = [
            {"capability_name": _CAPABILITIES[one["type"]], "capability_enabled": bool(one["enabled"])}
            for one in chassis.get("capability", ())
        ]
        yield found


def _tlv(tlv: Mapping[str, Any]) -> Document:
    return {
        "custom_type": _ORGANIZATION,
        "oui": _hex(tlv["oui"]),
        "oui_subtype": int(tlv["subtype"]),
        "information": _hex(tlv.get("value", "")),
    }


def _hex(octets: str) -> str:
    return octets.replace(",", "").lower()


def _value(said: Mapping[str, Any], name: str) -> Any:
    """The first value in a list of them; None if there is none."""
    values = said.get(name, ())
    return next((each.get("value", each.get(name)) for each in values), None)
