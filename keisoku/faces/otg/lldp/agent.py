"""The LLDP agents of a configuration, as plain values. Knows no lldpd, except what it cannot do, which is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keisoku import __version__
from keisoku.errors import PlanError
from keisoku.faces.otg.reading.node import Node

MOST_AGENTS = 64
"""Each has two processes of its own, of 5 MB."""
DESCRIPTION = f"keisoku {__version__}"
"""What an agent says of its system."""
_MOST_OCTETS = 255
"""Of an identifier or a name (IEEE 802.1AB, §8.5)."""
_MTU_BYTES = 1500
_AROUND_BYTES = 48
"""Of a frame without the TLVs that a script fills: its header, time to live, capabilities, two of IEEE 802.3, end."""
_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")
_LONGEST = "x" * 15
_TAKEN = ("lo", "all", "default")
_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")

_DIGITS = re.compile(r"([0-9a-fA-F]{2})*")


@dataclass(frozen=True)
class OrgTlv:
    """A TLV of an organization."""

    oui: bytes
    subtype: int
    content: bytes


@dataclass(frozen=True)
class LldpAgent:
    """An agent at a port, by the port's index."""

    name: str
    path: str
    port: int
    system_name: str
    hold_s: int
    interval_s: int
    tlvs: tuple[OrgTlv, ...]
    chassis_mac: str | None = None
    """Its chassis identifier; None: `chassis`, else the address of its interface."""
    chassis: str | None = None
    """A chassis identifier of the script's own."""
    mac: str | None = None
    """Its port identifier, which is the address of its interface."""
    label: str | None = None
    """A port identifier of the script's own."""
    interface: str | None = None
    """The name of its interface; its port identifier, if it has no other."""


def lldp_agents(document: Node, ports: Mapping[str, int], mtus: Callable[[int], int | None]) -> tuple[LldpAgent, ...]:
    """All agents of a configuration. Raises PlanError, with the path, for what lldpd cannot do as written."""
    found: list[LldpAgent] = []
    for node in document.children("lldp"):
        agent = _agent(node, ports)
        if any((agent.port, agent.mac) == (other.port, other.mac) for other in found if other.mac is not None):
            where = "port_id.mac_address_subtype"
            node.refuse("another agent at the port has this address", "use another one", where)
        octets, most = _octets(agent), mtus(agent.port) or _MTU_BYTES
        if octets > most:
            problem = f"the agent's frame would have {octets} bytes, and the port takes {most}"
            node.refuse(problem, "use shorter TLVs", "org_infos")
        found.append(agent)
    if len(found) > MOST_AGENTS:
        raise PlanError("lldp", f"{len(found)} agents are too many", f"use at most {MOST_AGENTS}")
    return tuple(found)


def _agent(node: Node, ports: Mapping[str, int]) -> LldpAgent:
    connection = node.child("connection")
    if connection.choice() != "port_name" or not connection.has("port_name"):
        connection.refuse("an agent must be at a port", "give its port_name")
    port = str(connection.scalar("port_name"))
    if port not in ports:
        connection.refuse(f"there is no port {port}", "name one of ports[].name", "port_name")
    name = str(node.scalar("name"))
    hold_s, interval_s = int(node.scalar("hold_time")), int(node.scalar("advertisement_interval"))
    if hold_s % interval_s:
        problem = f"lldpd's hold time is a multiple of the advertisement interval, which is {interval_s} s"
        node.refuse(problem, "give such a time, or another interval", "hold_time")
    system = node.child("system_name")
    return LldpAgent(
        name=name,
        path=node.path,
        port=ports[port],
        system_name=_text(system, "value") if _has_value(system) else name,
        hold_s=hold_s,
        interval_s=interval_s,
        tlvs=tuple(_tlv(each) for each in node.children("org_infos")),
        **_chassis(node.child("chassis_id")),
        **_port(node.child("port_id")),
    )


def _has_value(node: Node) -> bool:
    """Whether an object has a value; else it leaves that to keisoku."""
    if node.choice() != "value":
        node.scalar("auto")
        return False
    if not node.has("value"):
        node.refuse("is missing", "give one, or choose auto", "value")
    return True


def _chassis(node: Node) -> dict[str, str | None]:
    match node.choice():
        case "local_subtype":
            return {"chassis": _text(node, "local_subtype")}
        case "mac_address_subtype":
            address = node.child("mac_address_subtype")
            return {"chassis_mac": _mac(address, "value")} if _has_value(address) else {}
    node.refuse("lldpd names no interface as a chassis", "use mac_address_subtype or local_subtype", str(node.choice()))


def _port(node: Node) -> dict[str, str | None]:
    match node.choice():
        case "local_subtype":
            return {"label": _text(node, "local_subtype")}
        case "mac_address_subtype":
            return {"mac": _mac(node, "mac_address_subtype")}
    name = node.child("interface_name_subtype")
    if not _has_value(name):
        return {}
    wanted = str(name.scalar("value"))
    if not _INTERFACE.fullmatch(wanted) or wanted in _TAKEN:
        problem = "lldpd gives names of Linux' interfaces: at most 15 letters, digits, dots, hyphens and underscores"
        name.refuse(problem, "use such a name, or local_subtype", "value")
    return {"interface": wanted}


def _tlv(node: Node) -> OrgTlv:
    information = node.child("information")
    information.choice()
    return OrgTlv(_octets_of(node, "oui"), int(node.scalar("subtype")), _octets_of(information, "info"))


def _octets_of(node: Node, name: str) -> bytes:
    digits = str(node.scalar(name) or "")
    if not _DIGITS.fullmatch(digits):
        node.refuse("does not have two hexadecimal digits for each octet", "correct it", name)
    return bytes.fromhex(digits)


def _text(node: Node, name: str) -> str:
    text = str(node.scalar(name) or "")
    if not text.isprintable() or not 0 < len(text.encode()) <= _MOST_OCTETS:
        node.refuse(f"is no text of 1 to {_MOST_OCTETS} printable octets", "use another one", name)
    return text


def _mac(node: Node, name: str) -> str:
    """In lower case; of one station, as no interface of Linux has another."""
    text = str(node.scalar(name) or "").lower()
    if not _MAC.fullmatch(text) or int(text[:2], 16) & 1 or not int(text.replace(":", ""), 16):
        node.refuse("is no MAC address of a station", "use one such as 02:00:00:00:00:01", name)
    return text


def _octets(agent: LldpAgent) -> int:
    """Of its frame, at most, without the FCS."""
    interface = agent.interface or _LONGEST
    texts = agent.chassis or _LONGEST, agent.label or interface, interface, agent.system_name, DESCRIPTION
    own = sum(3 + len(text.encode()) for text in texts)
    return _AROUND_BYTES + own + sum(6 + len(tlv.content) for tlv in agent.tlvs)
