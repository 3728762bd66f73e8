"""A server of the OTG API on a free port of loopback, and snappi's own client for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import snappi

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server


@contextmanager
def otg_client(transport: str = "http", take_over: bool = False) -> Iterator[Any]:
    """snappi's client, with its check of versions on, of a server that ends with the block."""
    with otg_clients(take_over) as connect:
        yield connect(transport)


@contextmanager
def otg_clients(take_over: bool = False) -> Iterator[Callable[[str], Any]]:
    """Makes clients of one server, each with a connection of its own over HTTP; those over gRPC share one."""
    with Server(Listening(http_port=0, grpc_port=0), Controller(seed=1, take_over=take_over)) as server:
        locations = {"http": server.url, "grpc": server.grpc_location}
        yield lambda transport: snappi.api(location=locations[transport], transport=transport, version_check=True)


def key_of(server: Server) -> dict[str, str]:
    """The header without which a server without tokens starts no run."""
    return {"Authorization": f"Bearer {server.page.partition('key=')[2]}"}


def two_ports(one: str = "sim:gs908e#1", other: str = "sim:gs908e#2") -> Any:
    """A configuration of two ports, p1 and p2."""
    config = snappi.Config()
    config.ports.port(name="p1", location=one).port(name="p2", location=other)
    return config


def udp_flow(config: Any, name: str = "f1", tx: str = "p1", rx: str = "p2", packets: int = 100, size: int = 128) -> Any:
    """A measured flow of Ethernet, IPv4 and UDP, of so many frames."""
    flow = config.flows.flow(name=name)[-1]
    flow.tx_rx.port.tx_name = tx
    flow.tx_rx.port.rx_names = [rx]
    ethernet, ip, udp = flow.packet.ethernet().ipv4().udp()
    ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
    ip.src.value, ip.dst.value = "198.18.1.2", "198.18.2.2"
    udp.src_port.value, udp.dst_port.value = 5000, 6000
    flow.size.fixed = size
    flow.rate.pps = 1000
    flow.duration.fixed_packets.packets = packets
    flow.metrics.enable = True
    flow.metrics.loss = True
    return flow


def both_ways(api: Any, one: str, other: str) -> list[Any]:
    """A script that does not know what its ports are: a flow each way, until both have stopped; their metrics."""
    config = two_ports(one, other)
    macs = ["02:00:00:00:0a:01", "02:00:00:00:0a:02"]
    for name, ports in {"there": ("p1", "p2"), "back": ("p2", "p1")}.items():
        flow = udp_flow(config, name, *ports, packets=50)
        source, destination = macs if name == "there" else reversed(macs)
        flow.packet[0].src.value, flow.packet[0].dst.value = source, destination
        flow.rate.pps = 20_000
        flow.metrics.latency.enable, flow.metrics.latency.mode = True, "cut_through"
    api.set_config(config)
    set_traffic(api, "start")
    return until_stopped(api)


def set_traffic(api: Any, state: str, names: list[str] | None = None) -> Any:
    """Starts or stops flows, all without names."""
    control = snappi.ControlState()
    control.traffic.flow_transmit.state = state
    if names:
        control.traffic.flow_transmit.flow_names = names
    return api.set_control_state(control)


def flow_metrics(api: Any, *names: str) -> list[Any]:
    """Metrics of flows, all without names."""
    request = snappi.MetricsRequest()
    request.flow.flow_names = list(names)
    return list(api.get_metrics(request).flow_metrics)


def until_stopped(api: Any, *names: str) -> list[Any]:
    """Metrics once no flow transmits any more; a script polls like this, and the server lets it wait a moment."""
    return until(api, lambda found: all(metric.transmit == "stopped" for metric in found), *names)


def until(api: Any, wanted: Callable[[list[Any]], bool], *names: str) -> list[Any]:
    """Likewise metrics once they are as wanted."""
    while True:
        found = flow_metrics(api, *names)
        if wanted(found):
            return found
