"""`SystemLab`: servers with nginx and client hosts around a switch, with lines of known rates.

Load comes from `system/load`, limits from `system/shaping`. The switch's own ports have no queueing discipline: lines
with a rate are built behind them, in a namespace of their own (`edge`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.device.interface import disable_ipv6
from keisoku.ground.lab.lifetime import Lifetime
from keisoku.ground.lab.system import line as line
from keisoku.ground.lab.system import web_server
from keisoku.ground.lab.system.shape import LINE_BPS, SystemShape
from keisoku.ground.lab.system.web_server import PORT, WebServer


@dataclass(frozen=True)
class SystemPort:
    """A client in the network: the interface for its limit, and the port that delivers to it."""

    name: str
    address: str
    line_bps: int
    namespace_path: Path
    """Address of the client's host."""
    limit_interface: str
    limit_namespace: Path
    shared: bool
    """True if the interface to limit also carries other clients' frames."""
    seen_interface: str
    seen_namespace: Path


class SystemLab(Lifetime):
    """Servers 198.18.1.N and clients 198.18.2.N (RFC 2544 C.2.2); a context manager, removed on any exit.

    Raises PlanError for invalid settings, and where labs are not possible; EngineError if making it fails.
    """

    kind = "system"

    def __init__(self, shape: SystemShape) -> None:
        super().__init__()
        shape.check()
        self.shape = shape
        self.ports: list[SystemPort] = []
        self.servers: list[Namespace] = []
        self._web_servers: list[WebServer] = []

    @property
    def addresses(self) -> list[str]:
        """Addresses of the servers, each with its TCP port."""
        return [f"{_server(number)}:{PORT}" for number in range(1, self.shape.servers + 1)]

    def context(self) -> dict[str, object]:
        """The lab as a record must state it, ready for JSON."""
        return {
            "device": self.kind,
            **asdict(self.shape),
            "namespaces": [namespace.name for namespace in self._namespaces],
        }

    def _prepare(self) -> None:
        web_server.require()

    def _create(self, prefix: str) -> None:
        shape = self.shape
        switch = self._place(f"{prefix}-switch")
        switch.run(partial(line.bridge, "br"))
        has_edge = shape.uplink_bps is not None or shape.server_bps is not None or any(shape.rates_bps)
        edge = self._place(f"{prefix}-edge") if has_edge else None
        for number in range(1, shape.servers + 1):
            server = self._place(f"{prefix}-server{number}")
            if edge and shape.server_bps:
                self._line(switch, edge, number, server, shape.server_bps)
            else:
                self._plug(switch, f"s{number}", "br", server, _server(number))
            self.servers.append(server)
        if edge and shape.uplink_bps:
            self._uplink(switch, edge, shape.uplink_bps)
        for number, rate_bps in enumerate(shape.rates_bps, 1):
            self.ports.append(self._client(prefix, number, rate_bps, switch, edge))
        for number, server in enumerate(self.servers, 1):
            web = WebServer(server, _server(number), shape)
            self._web_servers.append(web)
            web.start()

    def _end(self) -> None:
        while self._web_servers:
            self._web_servers[-1].end()
            self._web_servers.pop()

    def _place(self, name: str) -> Namespace:
        namespace = self._add_namespace(name)
        namespace.run(disable_ipv6)
        return namespace

    def _plug(self, place: Namespace, name: str, bridge: str, host: Namespace, address: str) -> None:
        place.run(partial(line.pair, name, "host", host.path))
        host.run(partial(line.host, "host", address, self.shape.congestion))
        place.run(partial(line.join, name, bridge))

    def _line(self, switch: Namespace, edge: Namespace, number: int, server: Namespace, rate_bps: int) -> None:
        """A server behind a line with a rate."""
        name, near, far = f"served{number}", f"v{number}", f"w{number}"
        edge.run(partial(line.bridge, name))
        switch.run(partial(line.pair, f"s{number}", near, edge.path))
        switch.run(partial(line.join, f"s{number}", "br"))
        edge.run(partial(line.join, near, name))
        self._plug(edge, far, name, server, _server(number))
        for port in (near, far):
            edge.run(partial(line.limit_rate, port, rate_bps, self.shape.queue_bytes))

    def _uplink(self, switch: Namespace, edge: Namespace, rate_bps: int) -> None:
        """The switch's port `up`, and behind it the shared line to a second bridge, of which clients are ports."""
        switch.run(partial(line.pair, "up", "trunk", edge.path))
        edge.run(partial(line.pair, "near", "far"))
        for name, bridge in (("shared", ("trunk", "near")), ("access", ("far",))):
            edge.run(partial(line.bridge, name))
            for port in bridge:
                edge.run(partial(line.join, port, name))
        switch.run(partial(line.join, "up", "br"))
        for port in ("near", "trunk"):
            edge.run(partial(line.limit_rate, port, rate_bps, self.shape.queue_bytes))

    def _client(
        self, prefix: str, number: int, rate_bps: int | None, switch: Namespace, edge: Namespace | None
    ) -> SystemPort:
        host = self._place(f"{prefix}-client{number}")
        shared = self.shape.uplink_bps is not None
        limited, seen, interface = switch, switch, f"c{number}"
        if edge is None or (rate_bps is None and not shared):
            self._plug(switch, interface, "br", host, _client(number))
        else:
            seen, delivers = edge, f"d{number}"
            bridge = "access" if shared else f"line{number}"
            if not shared:
                edge.run(partial(line.bridge, bridge))
                switch.run(partial(line.pair, interface, f"u{number}", edge.path))
                switch.run(partial(line.join, interface, "br"))
                edge.run(partial(line.join, f"u{number}", bridge))
            self._plug(edge, delivers, bridge, host, _client(number))
            if rate_bps is not None:
                ends = [(edge, delivers)] + ([] if shared else [(edge, f"u{number}")])
                for place, port in ends:
                    place.run(partial(line.limit_rate, port, rate_bps, self.shape.queue_bytes))
        return SystemPort(
            name=f"client{number}",
            address=_client(number),
            line_bps=rate_bps or self.shape.uplink_bps or LINE_BPS,
            namespace_path=host.path,
            limit_interface="up" if shared else interface,
            limit_namespace=limited.path,
            shared=shared,
            seen_interface=interface if seen is switch else f"d{number}",
            seen_namespace=seen.path,
        )


def _server(number: int) -> str:
    return f"198.18.1.{number}"


def _client(number: int) -> str:
    return f"198.18.2.{number}"
