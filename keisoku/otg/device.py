"""The tester's own hosts in an OTG configuration: devices with Ethernet, IPv4 and IPv6. Resolves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from keisoku.otg.node import Node

_HIGHEST_VLAN = 4094


@dataclass(frozen=True)
class Address:
    """One IP address of an interface, and its gateway."""

    name: str
    ip: str
    gateway: str
    prefix: int
    """Length of the prefix of its network."""
    gateway_mac: str | None
    """MAC address of the gateway; None: resolved by ARP or neighbour discovery."""
    path: str

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.ip else 4


@dataclass(frozen=True)
class Interface:
    """An Ethernet interface of a device at a port, by the port's index."""

    name: str
    port: int
    mac: str
    addresses: tuple[Address, ...]
    path: str
    vlan: int | None = None
    """Number of the VLAN in which its hosts answer; None: without a tag."""


def interfaces(document: Node, ports: Mapping[str, int]) -> list[Interface]:
    """All interfaces of a configuration. Raises PlanError, with the path, for fields that are not supported or
    missing."""
    found = []
    for device in document.children("devices"):
        device.scalar("name")
        for node in device.children("ethernets"):
            found.append(_interface(node, ports))
    return found


def _interface(node: Node, ports: Mapping[str, int]) -> Interface:
    connection = node.child("connection")
    if connection.choice() != "port_name" or not connection.has("port_name"):
        connection.refuse("an interface must be at a port", "give its port_name")
    port = str(connection.scalar("port_name"))
    if port not in ports:
        connection.refuse(f"there is no port {port}", "name one of ports[].name", "port_name")
    mac = node.scalar("mac")
    if mac is None:
        node.refuse("is missing", "give the interface a MAC address", "mac")
    node.scalar("mtu")
    addresses = [_address(each) for name in ("ipv4_addresses", "ipv6_addresses") for each in node.children(name)]
    return Interface(str(node.scalar("name")), ports[port], str(mac), tuple(addresses), node.path, _vlan(node))


def _vlan(interface: Node) -> int | None:
    tags = interface.children("vlans")
    for tag in tags:
        tag.scalar("name")
        if tag.scalar("tpid") != "x8100":
            tag.refuse("hosts answer with tags of 802.1Q only", "use x8100", "tpid")
        if tag.scalar("priority"):
            tag.refuse("hosts answer with priority 0", "leave it out", "priority")
        if not 1 <= int(tag.scalar("id")) <= _HIGHEST_VLAN:
            tag.refuse("is no VLAN", f"use 1 to {_HIGHEST_VLAN}", "id")
    if len(tags) > 1:
        interface.refuse("hosts answer with one tag at most", "give one", "vlans")
    return int(tags[0].scalar("id")) if tags else None


def _address(node: Node) -> Address:
    mac = node.child("gateway_mac")
    given = None
    if mac.choice() == "value":
        given = str(mac.scalar("value"))
    else:
        mac.scalar("auto")
    names = str(node.scalar("name")), _ip(node, "address"), _ip(node, "gateway")
    return Address(*names, int(node.scalar("prefix")), given, node.path)


def _ip(node: Node, name: str) -> str:
    try:
        return str(ip_address(node.scalar(name)))
    except ValueError as error:
        node.refuse(f"cannot be read: {error}", "correct it", name)
