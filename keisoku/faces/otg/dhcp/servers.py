"""The DHCP servers of OTG's devices, as plain values. Refuses what Kea cannot do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from keisoku.faces.otg.device.device import Address, Interface
from keisoku.faces.otg.reading.node import Node

MOST_PARTS = 1024
"""Of a pool whose addresses do not follow each other: Kea is told of each one."""
_NOWHERE = "0.0.0.0"
_AddressOf = Callable[[int], IPv4Address | IPv6Address]


@dataclass(frozen=True)
class Pool:
    """What a server gives out: ranges of addresses, or prefixes."""

    ranges: tuple[tuple[str, str], ...]
    """First and last address."""
    prefixes: tuple[str, ...] = ()
    """Each with its length."""
    router: str | None = None
    name_servers: tuple[str, ...] = ()


@dataclass(frozen=True)
class ServedNetwork:
    """Pools in a network, whose leases last equally long."""

    network: str
    lease_s: int
    pools: tuple[Pool, ...]


@dataclass(frozen=True)
class DhcpServer:
    """A server of DHCPv4 or DHCPv6 at an interface."""

    name: str
    path: str
    version: int
    interface: Interface
    networks: tuple[ServedNetwork, ...]
    rapid: bool = False
    name_servers: tuple[str, ...] = ()
    boot_file: str | None = None
    boot_parameters: tuple[str, ...] = ()


def dhcp_servers(document: Node, interfaces: Sequence[Interface]) -> tuple[DhcpServer, ...]:
    """All of a configuration. Raises PlanError, with the path, for what Kea cannot do as written."""
    found: list[DhcpServer] = []
    for device in document.children("devices"):
        if device.has("dhcp_server"):
            node = device.child("dhcp_server")
            own = [one for one in interfaces if one.device == device.path]
            known = {each.name: (one, each) for one in own for each in one.addresses if not each.loopback}
            found += [_four(each, known) for each in node.children("ipv4_interfaces")]
            found += [_six(each, known) for each in node.children("ipv6_interfaces")]
    places: set[tuple[str, int]] = set()
    for one in found:
        place = one.interface.name, one.version
        if place in places:
            document.refuse(f"{place[0]} has two servers of DHCPv{place[1]}", "give it one", one.path)
        places.add(place)
    return tuple(found)


def _at(node: Node, known: Mapping[str, tuple[Interface, Address]], version: int) -> tuple[Interface, Address]:
    field = f"ipv{version}_name"
    name = str(node.scalar(field))
    if name not in known or known[name][1].version != version:
        remedy = f"name one of its ipv{version}_addresses[].name"
        node.refuse(f"the device has no IPv{version} address {name}", remedy, field)
    return known[name]


def _four(node: Node, known: Mapping[str, tuple[Interface, Address]]) -> DhcpServer:
    interface, _ = _at(node, known, 4)
    networks: dict[str, ServedNetwork] = {}
    pools = node.children("address_pools")
    if not pools:
        node.refuse("a server needs a pool", "give at least one", "address_pools")
    for each in pools:
        each.scalar("name")
        first, length = IPv4Address(each.scalar("start_address")), int(each.scalar("prefix_length"))
        network = IPv4Network((first, length), strict=False)
        step, count = int(each.scalar("step")), int(each.scalar("count"))
        ranges = _ranges(each, int(first), step, count, IPv4Address, int(network.broadcast_address), "count")
        lease_s = int(each.scalar("lease_time"))
        before = networks.get(str(network), ServedNetwork(str(network), lease_s, ()))
        if before.lease_s != lease_s:
            each.refuse(f"other leases in {network} last {before.lease_s} s", "use one time in a network", "lease_time")
        pool = _with_options(each.child("options"), ranges)
        networks[str(network)] = ServedNetwork(str(network), lease_s, (*before.pools, pool))
    return DhcpServer(str(node.scalar("name")), node.path, 4, interface, tuple(networks.values()))


def _with_options(node: Node, ranges: tuple[tuple[str, str], ...]) -> Pool:
    if not node.scalar("echo_relay_with_tlv_82"):
        node.refuse("Kea always sends a relay's option back (RFC 3046, §2.2)", "leave it out", "echo_relay_with_tlv_82")
    router = str(node.scalar("router_address"))
    named = [str(node.scalar(f"{which}_dns_server")) for which in ("primary", "secondary")]
    servers = tuple(each for each in named if each != _NOWHERE)
    return Pool(ranges, (), None if router == _NOWHERE else router, servers)


def _six(node: Node, known: Mapping[str, tuple[Interface, Address]]) -> DhcpServer:
    interface, address = _at(node, known, 6)
    if node.scalar("reconfigure_via_relay_agent"):
        node.refuse("Kea sends no Reconfigure", "leave it out", "reconfigure_via_relay_agent")
    pools, times = [], []
    for each in node.children("leases"):
        times.append(int(each.scalar("lease_time")))
        if times[-1] != times[0]:
            each.refuse(f"other leases last {times[0]} s", "use one time for a server", "lease_time")
        pools += _leased(each.child("ia_type"))
    if not pools:
        node.refuse("a server needs a lease", "give at least one", "leases")
    ends = [ip_address(end) for pool in pools for one in pool.ranges for end in one]
    network = _around([int(end) for end in ends] or [int(IPv6Address(address.ip))], 64 if ends else address.prefix)
    if network.prefixlen == 0:
        node.refuse("the addresses have no prefix in common", "use addresses of one network", "leases")
    options = node.child("options")
    if options.has("vendor_info"):
        options.refuse("keisoku translates no vendor's options", "leave it out", "vendor_info")
    dns, boot = options.child("dns"), options.child("bootfile_url")
    servers = [str(dns.scalar("primary"))] if dns.present else []
    servers += [str(each.scalar("ip")) for each in dns.children("secondary_dns")] if dns.present else []
    url, parameters = None, []
    if boot.present:
        url = str(boot.scalar("url"))
        parameters = [str(each.scalar("parameter")) for each in boot.children("bootfile_params")]
        if boot.child("associated_dhcp_messages").choice() != "all":
            boot.refuse("Kea sends it in all its messages", "use all", "associated_dhcp_messages")
    return DhcpServer(
        name=str(node.scalar("name")),
        path=node.path,
        version=6,
        interface=interface,
        networks=(ServedNetwork(str(network), times[0], tuple(pools)),),
        rapid=bool(node.scalar("rapid_commit")),
        name_servers=tuple(servers),
        boot_file=url,
        boot_parameters=tuple(parameters),
    )


def _leased(node: Node) -> list[Pool]:
    """What one entry of leases gives out."""
    choice = str(node.choice())
    if choice == "iata":
        node.refuse("Kea gives no temporary addresses", "use iana", choice)
    whole = node.child(choice)
    if choice == "ianapd":
        return [_addresses(whole.child("iana")), _prefixes(whole.child("iapd"))]
    return [_addresses(whole) if choice == "iana" else _prefixes(whole)]


def _addresses(node: Node) -> Pool:
    first = _given(node, "start_address")
    # OTG counts steps in networks of this length.
    step = int(node.scalar("step")) << (128 - int(node.scalar("prefix_len")))
    return Pool(_ranges(node, first, step, int(node.scalar("size")), IPv6Address, (1 << 128) - 1, "size"))


def _prefixes(node: Node) -> Pool:
    first, length = _given(node, "start_prefix_address"), int(node.scalar("advertised_prefix_len"))
    step = int(node.scalar("prefix_step")) << (128 - int(node.scalar("configured_prefix_len")))
    count = int(node.scalar("prefix_size"))
    if first + (count - 1) * step >= 1 << 128:
        node.refuse("is beyond the last address", "use a smaller one", "prefix_size")
    # With shorter steps than a prefix several are the same one.
    several = max(1, (1 << 128 - length) // step)
    if -(-count // several) > MOST_PARTS:
        node.refuse(f"Kea is told of each prefix, of at most {MOST_PARTS}", "use fewer", "prefix_size")
    found = (IPv6Network((first + place * step, length), strict=False) for place in range(0, count, several))
    return Pool((), tuple(dict.fromkeys(map(str, found))))


def _given(node: Node, name: str) -> int:
    if not node.has(name):
        node.refuse("is missing", "give it", name)
    return int(IPv6Address(node.scalar(name)))


def _ranges(
    node: Node, first: int, step: int, count: int, address: _AddressOf, most: int, field: str
) -> tuple[tuple[str, str], ...]:
    """The ranges of so many addresses, none of which is above the highest one."""
    last = first + (count - 1) * step
    if last > most:
        node.refuse("is beyond the last address of the network", "use a smaller one", field)
    if step == 1 or count == 1:
        return ((str(address(first)), str(address(last))),)
    if count > MOST_PARTS:
        node.refuse(f"Kea is told of each address apart, of at most {MOST_PARTS}", "use fewer, or steps of 1", field)
    return tuple((str(address(each)), str(address(each))) for each in range(first, last + 1, step))


def _around(addresses: Sequence[int], length: int) -> IPv6Network:
    """The longest prefix of at most this length that has them all."""
    differing = min(addresses) ^ max(addresses)
    return IPv6Network((addresses[0], min(length, 128 - differing.bit_length())), strict=False)
