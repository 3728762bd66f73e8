"""OTG devices with a BGP peer each, for the lab's router with BGP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import snappi


def bgp_device(config: Any, port: int, host: int = 77) -> Any:
    """A device at port 1 or 2 with IPv4 and IPv6 addresses and one IPv4 peer, which is returned."""
    more = "" if host == 77 else f".{host}"
    device = config.devices.device(name=f"d{port}{more}")[-1]
    ethernet = device.ethernets.add(name=f"e{port}{more}", mac=f"02:00:00:00:0{port}:{host:02x}")
    ethernet.connection.port_name = f"p{port}"
    ethernet.ipv4_addresses.add(name=f"v4-{port}{more}", address=f"198.18.{port}.{host}", gateway=f"198.18.{port}.1")
    address, gateway = f"2001:2:0:{port}::{host:x}", f"2001:2:0:{port}::1"
    ethernet.ipv6_addresses.add(name=f"v6-{port}{more}", address=address, gateway=gateway)
    device.bgp.router_id = f"10.0.0.{port}"
    peers = device.bgp.ipv4_interfaces.add(ipv4_name=f"v4-{port}{more}").peers
    return peers.add(name=f"peer{port}{more}", peer_address=f"198.18.{port}.1", as_type="ebgp", as_number=65000 + port)


def protocols(api: Any, state: str) -> None:
    """Starts or stops all."""
    control = snappi.ControlState()
    control.protocol.all.state = state
    api.set_control_state(control)


def routes(api: Any, state: str, *names: str) -> None:
    """Advertises or withdraws ranges."""
    control = snappi.ControlState()
    control.protocol.route.state, control.protocol.route.names = state, list(names)
    api.set_control_state(control)


def await_peers(api: Any, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Metrics of all peers by name once they are as wanted; a test's time limit ends it otherwise."""
    while True:
        found: dict[str, Any] = {}
        for version in (4, 6):
            request = snappi.MetricsRequest()
            getattr(request, f"bgpv{version}").peer_names = []
            answer = api.get_metrics(request)
            found |= {metric.name: metric for metric in getattr(answer, f"bgpv{version}_metrics")}
        if wanted(found):
            return found
