"""OTG devices with DHCP: clients at port 1, servers at port 2, of DHCPv4 and DHCPv6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import snappi


def client_device(config: Any, port: int = 1, number: int = 1) -> Any:
    """An Ethernet interface of a device of its own, with nothing yet."""
    device = config.devices.device(name=f"client device {number}")[-1]
    ethernet = device.ethernets.add(name=f"ce{number}", mac=f"02:00:00:00:05:{number:02x}")
    ethernet.connection.port_name = f"p{port}"
    return ethernet


def server_device(config: Any, port: int = 2) -> Any:
    """A device with addresses in two networks, of IPv4 and IPv6, and its DHCP server, which is empty."""
    device = config.devices.device(name="server device")[-1]
    ethernet = device.ethernets.add(name="se", mac="02:00:00:00:06:01")
    ethernet.connection.port_name = f"p{port}"
    ethernet.ipv4_addresses.add(name="s4", address="198.18.1.1", gateway="198.18.1.2")
    ethernet.ipv6_addresses.add(name="s6", address="2001:2::1", gateway="2001:2::2")
    return device.dhcp_server


def serve_four(server: Any, first: str = "198.18.1.100", count: int = 10, lease_s: int = 600) -> Any:
    """A DHCPv4 server with a pool, which is returned."""
    four = server.ipv4_interfaces.add(name="server4", ipv4_name="s4")
    return four.address_pools.add(name="pool", lease_time=lease_s, start_address=first, prefix_length=24, count=count)


def serve_six(server: Any, lease_s: int = 600) -> Any:
    """A DHCPv6 server with addresses and prefixes, which is returned."""
    six = server.ipv6_interfaces.add(name="server6", ipv6_name="s6")
    both = six.leases.add(lease_time=lease_s).ia_type.ianapd
    both.iana.start_address, both.iana.prefix_len, both.iana.size = "2001:2::100", 128, 10
    both.iapd.start_prefix_address, both.iapd.configured_prefix_len = "2001:2:1::", 64
    both.iapd.advertised_prefix_len, both.iapd.prefix_size = 64, 4
    return six


def dhcp_states(api: Any, kind: str) -> dict[str, Any]:
    """All states of a kind, such as dhcpv4_leases, by the names of clients or servers."""
    request = snappi.StatesRequest()
    getattr(request, kind)  # which makes it the choice
    request.choice = kind
    found = getattr(api.get_states(request), kind)
    return {getattr(each, "dhcp_client_name", None) or each.dhcp_server_name: each for each in found}


def dhcp_metrics(api: Any, kind: str) -> dict[str, Any]:
    """All metrics of a kind, such as dhcpv4_client, by name."""
    request = snappi.MetricsRequest()
    getattr(request, kind)
    request.choice = kind
    return {metric.name: metric for metric in getattr(api.get_metrics(request), f"{kind.replace('_', '')}_metrics")}


def await_states(api: Any, kind: str, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """States once they are as wanted; a test's time limit ends it otherwise."""
    while True:
        found = dhcp_states(api, kind)
        if wanted(found):
            return found
