"""The DHCP clients of OTG's devices, as plain values. Refuses what dhcpcd cannot do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keisoku.faces.otg.device.device import Interface
from keisoku.faces.otg.reading.node import Node

_PARAMETERS = {
    "subnet_mask": "subnet_mask",
    "router": "routers",
    "renewal_timer": "dhcp_renewal_time",
    "rebinding_timer": "dhcp_rebinding_time",
}
"""OTG's names of what a DHCPv4 client can ask for, and dhcpcd's."""
_OPTIONS = {"vendor_information": 17, "name_servers": 23, "fqdn": 39, "bootfile_url": 59, "sztp": 136}
"""Codes of options that a DHCPv6 client can ask for."""
_ASSOCIATIONS = {"iana": ("na",), "iata": ("ta",), "iapd": ("pd",), "ianapd": ("na", "pd")}
_DUID_EN = 2
"""Type of a DUID with an enterprise's number (RFC 8415, §11.3)."""


@dataclass(frozen=True)
class DhcpClient:
    """A client of DHCPv4 or DHCPv6 at an interface."""

    name: str
    path: str
    version: int
    interface: Interface
    server: str | None = None
    """The only server whose offers it takes."""
    broadcast: bool = False
    unwanted: tuple[str, ...] = ()
    """What it does not ask for, by dhcpcd's names."""
    rapid: bool = False
    associations: tuple[str, ...] = ()
    """What a DHCPv6 client asks for: addresses ("na"), temporary ones ("ta"), prefixes ("pd")."""
    duid: str = "ll"
    """Its kind by dhcpcd's name, or its octets."""
    options: tuple[int, ...] = ()
    """Codes of DHCPv6 that it asks for."""


def dhcp_clients(document: Node, interfaces: Sequence[Interface]) -> tuple[DhcpClient, ...]:
    """All of a configuration. Raises PlanError, with the path, for what dhcpcd cannot do as written."""
    by_path = {interface.path: interface for interface in interfaces}
    found: list[DhcpClient] = []
    for device in document.children("devices"):
        for ethernet in device.children("ethernets"):
            found += _at(ethernet, by_path)
    return tuple(found)


def _at(ethernet: Node, interfaces: Mapping[str, Interface]) -> list[DhcpClient]:
    found = []
    for version, read in ((4, _four), (6, _six)):
        field = f"dhcpv{version}_interfaces"
        nodes = ethernet.children(field)
        if len(nodes) > 1:
            ethernet.refuse("a client is known by its MAC address, and has one interface", "give one client", field)
        if nodes and any(one.version == version for one in interfaces[ethernet.path].addresses):
            ethernet.refuse(f"the interface has an IPv{version} address already", "give it this or a client", field)
        found += [read(node, interfaces[ethernet.path]) for node in nodes]
    return found


def _four(node: Node, interface: Interface) -> DhcpClient:
    server = None
    if node.choice() == "server_address":
        server = node.scalar("server_address")
        if server is None:
            node.refuse("is missing", "give the server's address", "server_address")
    wanted = node.child("parameters_request_list")
    # OTG asks for no times by default, and every server sends them.
    unwanted = [word for name, word in _PARAMETERS.items() if not wanted.scalar(name)]
    return DhcpClient(
        name=str(node.scalar("name")),
        path=node.path,
        version=4,
        interface=interface,
        server=None if server is None else str(server),
        broadcast=bool(node.scalar("broadcast")),
        unwanted=tuple(unwanted),
    )


def _six(node: Node, interface: Interface) -> DhcpClient:
    kind = node.child("ia_type")
    choice = str(kind.choice())
    for name in ("iana", "iapd", "ianapd"):
        kind.without_effect(name, "dhcpcd leaves the times of renewal to the server")
    if node.has("options"):
        node.refuse("dhcpcd sends no options of a script", "leave it out", "options")
    return DhcpClient(
        name=str(node.scalar("name")),
        path=node.path,
        version=6,
        interface=interface,
        rapid=bool(node.scalar("rapid_commit")),
        associations=_ASSOCIATIONS[choice],
        duid=_duid(node.child("duid_type")),
        options=_requested(node.child("options_request")),
    )


def _duid(node: Node) -> str:
    choice = str(node.choice())
    if choice == "en":
        own = node.child("en")
        octets = b"".join(
            number.to_bytes(width, "big")
            for number, width in (
                (_DUID_EN, 2),
                (int(own.scalar("enterprise_id")), 4),
                (int(own.scalar("vendor_id")), 4),
            )
        )
        return octets.hex(":")
    node.without_effect(choice)
    return {"llt": "lt", "ll": "ll"}[choice]


def _requested(node: Node) -> tuple[int, ...]:
    found = []
    for each in node.children("request"):
        choice = str(each.choice())
        found.append(int(each.child("custom").scalar("type")) if choice == "custom" else _OPTIONS[choice])
    messages = node.child("associated_dhcp_messages")
    if messages.choice() != "all":
        messages.refuse("dhcpcd asks for them in all its messages", "use all", "msg_types")
    return tuple(found)


def text(client: DhcpClient, kernel_name: str) -> str:
    """What its dhcpcd reads, at an interface of the kernel of this name."""
    lines = [
        f"allowinterfaces {kernel_name}",
        "timeout 0",  # it asks until it is ended
        "nodelay",
        "release",
        "noarp",  # no other host has an address of the server's pools, and the question takes seconds
        "noipv4ll",
        "ipv6ra_noautoconf",
        f"duid {client.duid}",
    ]
    lines += [f"whitelist {client.server}"] if client.server is not None else []
    lines += ["broadcast"] if client.broadcast else []
    lines += [f"nooption {word}" for word in client.unwanted]
    lines += ["option dhcp6_rapid_commit"] if client.rapid else []
    for code in client.options:
        lines += [f"define6 {code} binhex keisoku_{code}", f"option dhcp6_keisoku_{code}"]
    lines.append(f"interface {kernel_name}")
    lines += [f"ia_{each} {number}" for number, each in enumerate(client.associations, 1)]
    return "".join(f"{line}\n" for line in lines)
