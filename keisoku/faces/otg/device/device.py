"""The tester's own hosts in an OTG configuration: devices with Ethernet, IPv4 and IPv6. Resolves nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address

from keisoku.faces.otg.device.lag import Lag
from keisoku.faces.otg.reading.node import Node
from keisoku.ground.lab.vlan import CUSTOMER, MOST_TAGS, SERVICE, Tag

_HIGHEST_VLAN = 4094
_ETHERTYPES = {"x8100": CUSTOMER, "x88A8": SERVICE}


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
    loopback: bool = False
    """It is behind the interface, and not in the network there."""

    @property
    def version(self) -> int:
        """4 or 6."""
        return 6 if ":" in self.ip else 4


@dataclass(frozen=True)
class Interface:
    """An Ethernet interface of a device at a port or a LAG."""

    name: str
    port: int
    """The port's index; at a LAG that of its first member."""
    mac: str
    addresses: tuple[Address, ...]
    path: str
    tags: tuple[Tag, ...] = ()
    """Those of its VLAN, the outermost first."""
    lag: Lag | None = None
    asks_ipv6: bool = False
    """It has a DHCPv6 client, so IPv6 without an address of the script's."""

    @property
    def vlan(self) -> int | None:
        """Number of the outermost VLAN in which its hosts answer; None: without a tag."""
        return self.tags[0].number if self.tags else None

    @property
    def is_of_kernel(self) -> bool:
        """Whether only the kernel can answer for it: keisoku itself does at ports, with one plain tag."""
        return self.lag is not None or self.tags not in ((), (Tag(self.vlan or 0),))

    @property
    def device(self) -> str:
        """The path of its device."""
        return self.path.partition(".")[0]


def interfaces(document: Node, ports: Mapping[str, int], lags: Mapping[str, Lag]) -> list[Interface]:
    """All interfaces of a configuration. Raises PlanError, with the path, for fields that are not supported or
    missing."""
    found = []
    for device in document.children("devices"):
        device.scalar("name")
        if device.has("macsec"):
            problem = "frames of flows are sent below the kernel's MACsec, and would go without it"
            device.refuse(problem, "leave it out", "macsec")
        own = [_interface(node, ports, lags) for node in device.children("ethernets")]
        for version in (4, 6):
            for node in device.children(f"ipv{version}_loopbacks"):
                own = _with_loopback(own, node, version)
        found += own
    return found


def _with_loopback(own: Sequence[Interface], node: Node, version: int) -> list[Interface]:
    """A device's interfaces, of which one has a loopback's address, too, behind the same gateway."""
    name = str(node.scalar("eth_name"))
    interface = next((one for one in own if one.name == name), None)
    if interface is None:
        node.refuse(f"the device has no interface {name}", "name one of its ethernets[].name", "eth_name")
    beside = next((one for one in interface.addresses if one.version == version), None)
    if beside is None:
        node.refuse(f"{name} has no IPv{version} address with a gateway", "give it one", "eth_name")
    bits = 32 if version == 4 else 128
    names = str(node.scalar("name")), _ip(node, "address"), beside.gateway
    found = Address(*names, bits, beside.gateway_mac, node.path, loopback=True)
    return [replace(one, addresses=(*one.addresses, found)) if one is interface else one for one in own]


def _interface(node: Node, ports: Mapping[str, int], lags: Mapping[str, Lag]) -> Interface:
    port, lag = _place(node.child("connection"), ports, lags)
    mac = node.scalar("mac")
    if mac is None:
        node.refuse("is missing", "give the interface a MAC address", "mac")
    node.scalar("mtu")
    addresses = [_address(each) for name in ("ipv4_addresses", "ipv6_addresses") for each in node.children(name)]
    named = str(node.scalar("name")), port, str(mac), tuple(addresses), node.path
    return Interface(*named, _tags(node), lag, asks_ipv6=node.has("dhcpv6_interfaces"))


def _place(connection: Node, ports: Mapping[str, int], lags: Mapping[str, Lag]) -> tuple[int, Lag | None]:
    choice = connection.choice()
    if choice == "lag_name" and connection.has("lag_name"):
        name = str(connection.scalar("lag_name"))
        if name not in lags:
            connection.refuse(f"there is no LAG {name}", "name one of lags[].name", "lag_name")
        return _first_port(connection, lags[name], "lag_name"), lags[name]
    if choice != "port_name" or not connection.has("port_name"):
        connection.refuse("an interface must be at a port or a LAG", "give its port_name or lag_name")
    name = str(connection.scalar("port_name"))
    if name in lags:  # SONiC's tests name LAGs here
        return _first_port(connection, lags[name], "port_name"), lags[name]
    if name not in ports:
        connection.refuse(f"there is no port {name}", "name one of ports[].name", "port_name")
    over = next((lag for lag in lags.values() if ports[name] in lag.ports), None)
    if over is not None:
        connection.refuse(f"{name} is a member of the LAG {over.name}", "give the interface its lag_name", "port_name")
    return ports[name], None


def _first_port(connection: Node, lag: Lag, field: str) -> int:
    if not lag.members:
        connection.refuse(f"the LAG {lag.name} has no port", "give it one, or name another", field)
    return lag.members[0].port


def _tags(interface: Node) -> tuple[Tag, ...]:
    nodes = interface.children("vlans")
    if len(nodes) > MOST_TAGS:
        interface.refuse(f"an interface has {MOST_TAGS} tags at most", "give fewer", "vlans")
    found = []
    for node in nodes:
        node.scalar("name")
        ethertype = _ETHERTYPES.get(str(node.scalar("tpid")))
        if ethertype is None:
            node.refuse("tags are those of 802.1Q and 802.1ad", f"use {' or '.join(_ETHERTYPES)}", "tpid")
        number = int(node.scalar("id"))
        if not 1 <= number <= _HIGHEST_VLAN:
            node.refuse("is no VLAN", f"use 1 to {_HIGHEST_VLAN}", "id")
        found.append(Tag(number, ethertype, int(node.scalar("priority"))))
    return tuple(found)


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
