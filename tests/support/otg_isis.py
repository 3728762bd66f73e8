"""OTG devices with an IS-IS router each, which meet through a bridge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import snappi


def isis_device(config: Any, port: int) -> Any:
    """A device at port 1 or 2 of one network, with IPv4 and IPv6 addresses, and its IS-IS router, which is returned."""
    device = config.devices.device(name=f"d{port}")[-1]
    ethernet = device.ethernets.add(name=f"e{port}", mac=f"02:00:00:00:03:0{port}")
    ethernet.connection.port_name = f"p{port}"
    ethernet.ipv4_addresses.add(name=f"v4-{port}", address=f"198.18.1.{port}", gateway=f"198.18.1.{3 - port}")
    six = f"2001:2:0:1::{port}", f"2001:2:0:1::{3 - port}"
    ethernet.ipv6_addresses.add(name=f"v6-{port}", address=six[0], gateway=six[1])
    router = device.isis
    router.name, router.system_id = f"isis{port}", f"64010000000{port}"
    interface = router.interfaces.add(name=f"i{port}", eth_name=f"e{port}", network_type="point_to_point")
    interface.l2_settings.hello_interval, interface.l2_settings.dead_interval = 1, 5
    router.basic.learned_lsp_filter = True
    return router


def await_isis(api: Any, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Metrics of all routers by name once they are as wanted; a test's time limit ends it otherwise."""
    while True:
        request = snappi.MetricsRequest()
        request.isis.router_names = []
        found = {metric.name: metric for metric in api.get_metrics(request).isis_metrics}
        if wanted(found):
            return found


def learned(api: Any, name: str) -> dict[str, Any]:
    """The LSPs that a router learned, by their identifiers."""
    request = snappi.StatesRequest()
    request.isis_lsps.isis_router_names = [name]
    (state,) = api.get_states(request).isis_lsps
    return {lsp.lsp_id: lsp for lsp in state.lsps}
