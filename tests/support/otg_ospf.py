"""OTG devices with an OSPFv2 router each, which meet through a bridge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import snappi


def ospf_device(config: Any, port: int) -> Any:
    """A device at port 1 or 2 of one network, and its OSPFv2 router, which is returned."""
    device = config.devices.device(name=f"d{port}")[-1]
    ethernet = device.ethernets.add(name=f"e{port}", mac=f"02:00:00:00:04:0{port}")
    ethernet.connection.port_name = f"p{port}"
    ethernet.ipv4_addresses.add(name=f"v4-{port}", address=f"198.18.1.{port}", gateway=f"198.18.1.{3 - port}")
    router = device.ospfv2
    router.name, router.store_lsa = f"ospf{port}", True
    interface = router.interfaces.add(name=f"i{port}", ipv4_name=f"v4-{port}")
    interface.network_type.choice = "point_to_point"
    interface.advanced.hello_interval, interface.advanced.dead_interval = 1, 4
    return router


def await_ospf(api: Any, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Metrics of all routers by name once they are as wanted; a test's time limit ends it otherwise."""
    while True:
        request = snappi.MetricsRequest()
        request.ospfv2.router_names = []
        found = {metric.name: metric for metric in api.get_metrics(request).ospfv2_metrics}
        if wanted(found):
            return found


def learned_lsas(api: Any, name: str) -> Any:
    """What a router learned."""
    request = snappi.StatesRequest()
    request.ospfv2_lsas.router_names = [name]
    (state,) = api.get_states(request).ospfv2_lsas
    return state
