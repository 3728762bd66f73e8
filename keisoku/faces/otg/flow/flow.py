"""One OTG flow as keisoku sends it: between which ports, which frames, how many, when. Plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from itertools import product
from typing import Literal, Self

from keisoku.faces.otg.bgp.peers import BgpPeer
from keisoku.faces.otg.device.device import Address, Interface
from keisoku.faces.otg.device.lag import Lag
from keisoku.faces.otg.device.route_range import hosts
from keisoku.faces.otg.device.router import Router
from keisoku.faces.otg.dhcp.clients import DhcpClient
from keisoku.faces.otg.flow.egress import Egress, egress
from keisoku.faces.otg.flow.header import Packet, packet
from keisoku.faces.otg.flow.rate import Timing, frames_per_second, timing
from keisoku.faces.otg.flow.size import frame_bytes
from keisoku.faces.otg.flow.tag import TagClass, classes
from keisoku.faces.otg.reading.node import Node
from keisoku.subjects.device.record.trial import Bursts

LatencyMode = Literal["store_forward", "cut_through"]


@dataclass(frozen=True)
class End:
    """Where frames enter or leave: a port or a LAG, and the tester's host there if the flow is between devices."""

    port: int
    """Its index; of a LAG that of the first member."""
    interface: Interface | None = None
    address: Address | None = None
    behind: tuple[str, ...] = ()
    """Addresses behind the host, if the end is a range of routes that it advertises."""
    lag: Lag | None = None
    client: DhcpClient | None = None
    """Of DHCP, which has the address only when it was given one."""

    @classmethod
    def at_interface(cls, interface: Interface, address: Address | None, behind: tuple[str, ...] = ()) -> Self:
        """An end at an interface of a device."""
        return cls(interface.port, interface, address, behind, interface.lag)

    @property
    def ports(self) -> tuple[int, ...]:
        """The port, or all of the LAG."""
        return (self.port,) if self.lag is None else self.lag.ports

    @property
    def ips(self) -> tuple[str, ...]:
        """The addresses of frames that leave or enter here."""
        return self.behind or (() if self.address is None else (self.address.ip,))


@dataclass(frozen=True)
class Flow:
    """A flow of a configuration."""

    name: str
    path: str
    ways: tuple[tuple[End, End], ...]
    """Pairs of ends; a flow between devices may have many, which share its frames evenly."""
    receivers: tuple[int, ...]
    """Ports at any of which its frames may arrive; empty: each frame at those of its way's end."""
    receiving_lags: tuple[Lag, ...]
    """LAGs among its receiving ends."""
    packet: Packet
    frame_bytes: tuple[int, ...]
    timing: Timing
    measured: bool
    """Whether the script wants metrics of it."""
    loss: bool
    latency: LatencyMode | None
    tagged: tuple[TagClass, ...]
    """Classes of its frames by the values of its tags; one class without a key if it has none."""
    egress: Egress | None
    """What it counts by the headers that arrive."""
    timestamps: bool
    """Whether the script wants the times when the first and the last frame arrived."""
    by_receiver: bool
    """Whether the script wants counters by the port at which frames arrived."""

    def arrives_at(self, receive: End) -> tuple[int, ...]:
        """Ports at any of which the frames of a way to this end may arrive; first that of the end itself."""
        return tuple(dict.fromkeys((*receive.ports, *self.receivers)))

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """All pairs of ports by which a frame may leave and arrive."""
        ways = [(transmit.ports, self.arrives_at(receive)) for transmit, receive in self.ways]
        return tuple(dict.fromkeys(pair for sides in ways for pair in product(*sides)))


class Names:
    """The names that a flow's ends may have: of ports, LAGs, Ethernet interfaces, their addresses, ranges of routes."""

    def __init__(
        self,
        ports: Mapping[str, int],
        lags: Mapping[str, Lag],
        interfaces: Sequence[Interface],
        peers: Sequence[BgpPeer],
        routers: Sequence[Router],
        clients: Sequence[DhcpClient] = (),
    ) -> None:
        self._ports = {name: End(port) for name, port in ports.items()}
        self._ports |= {name: End(lag.members[0].port, lag=lag) for name, lag in lags.items() if lag.members}
        self._without_ports = {name for name, lag in lags.items() if not lag.members}
        self._ends: dict[str, End] = {}
        for interface in interfaces:
            self._ends[interface.name] = End.at_interface(interface, next(iter(interface.addresses), None))
            for address in interface.addresses:
                self._ends[address.name] = End.at_interface(interface, address)
        for client in clients:
            self._ends[client.name] = replace(End.at_interface(client.interface, None), client=client)
            if not client.interface.addresses and self._ends[client.interface.name].client is None:
                self._ends[client.interface.name] = self._ends[client.name]
        self._empty: set[str] = set()
        for peer in peers:
            own = {address.version: address for address in reversed(peer.interface.addresses)}
            for routes in peer.routes:
                address = own.get(routes.version, peer.address)
                if routes.prefixes:
                    self._ends[routes.name] = End.at_interface(peer.interface, address, hosts(routes.prefixes))
                else:
                    self._empty.add(routes.name)
        for router in routers:
            first = router.interfaces[0].interface
            for reached in router.routes:
                version = reached.prefixes[0].version
                via = next((each for each in first.addresses if each.version == version), None)
                self._ends[reached.name] = End.at_interface(first, via, hosts(reached.prefixes))

    def port(self, node: Node, name: str, field: str) -> End:
        """Raises PlanError with the field's path if there is no port or LAG of that name."""
        if name in self._without_ports:
            node.refuse(f"the LAG {name} has no port", "give it one, or name another", field)
        if name not in self._ports:
            node.refuse(f"there is no port or LAG {name}", "name one of ports[].name or lags[].name", field)
        return self._ports[name]

    def elsewhere(self, sender: End) -> list[End]:
        """Where frames may arrive that name no receiver, as OTG allows: all other ports, or the own one without any."""
        return [end for end in self._ports.values() if not {*end.ports} & {*sender.ports}] or [sender]

    def host(self, node: Node, name: str, field: str) -> End:
        """Raises PlanError with the field's path if there is no interface, address or range of that name."""
        if name in self._empty:
            node.refuse(f"the range {name} has no addresses", "give it one, or name another end", field)
        if name not in self._ends:
            remedy = "name one of devices[].ethernets[], a DHCP client, or routes of a BGP peer"
            node.refuse(f"there is no interface, address or route range {name}", remedy, field)
        return self._ends[name]


def flow(
    node: Node,
    names: Names,
    line_rate: Callable[[int], float | None],
    own_rate: Callable[[int], float | None],
    by_size: bool,
    seed: int,
    payload_start: bytes = b"",
) -> Flow:
    """A flow of a document; `line_rate` is that of a port in bit/s, which the script may have given, `own_rate` that of
    its line; None if there is none. `by_size`: it needs a class of its own for each size, because headers are compared.

    Raises PlanError, with the path, for fields that keisoku does not support.
    """
    ways, ends = _ways(node.child("tx_rx"), names)
    if node.has("payload"):
        node.refuse("keisoku's test frames have a payload of their own", "leave it out", "payload")
    rates = [_rate(transmit, line_rate) for transmit, _ in ways]
    speed = None if None in rates else min(rate for rate in rates if rate is not None)
    headers = packet(node, payload_start, _version(ways))
    _check_leases(node, ways)
    sizes = frame_bytes(node.child("size"), seed, headers.headers)
    rate = frames_per_second(node.child("rate"), sizes, speed)
    metrics = node.child("metrics")
    # The address of a host leads a frame to its port; one that the script gives may lead it to any of the ports.
    if len(ends) == 1 or (ways[0][1].interface is not None and not headers.is_addressed):
        ends = ()
    receivers = tuple(dict.fromkeys(port for end in ends for port in end.ports))
    has_several = bool(receivers) or any(len(receive.ports) > 1 for _, receive in ways)
    when = timing(node.child("duration"), rate, max(sizes), speed)
    # A conversation has one member of a LAG, and a burst as well.
    lanes = 1 if isinstance(when.pacing, Bursts) else max(len(transmit.ports) for transmit, _ in ways)
    lags = [end.lag for end in (*ends, *(receive for _, receive in ways)) if end.lag is not None]
    found = Flow(
        name=str(node.scalar("name")),
        path=node.path,
        ways=ways,
        receivers=receivers,
        receiving_lags=tuple(dict.fromkeys(lags)),
        packet=headers,
        frame_bytes=sizes,
        timing=when,
        measured=bool(metrics.scalar("enable")),
        loss=bool(metrics.scalar("loss")),
        latency=_latency(metrics.child("latency"), sizes, own_rate(ways[0][0].port)),
        tagged=classes(headers, sizes, node.path, by_size or has_several, lanes),
        egress=egress(node),
        timestamps=bool(metrics.scalar("timestamps")),
        by_receiver=bool(metrics.child("predefined_metric_tags").scalar("rx_name")),
    )
    if len(found.tagged) > 1 and isinstance(found.timing.pacing, Bursts):
        what = "tags" if found.tagged[0].key else "what arrives and where, unless they have one size"
        node.refuse(f"bursts are not counted by {what}", "leave the tags or the bursts out", "packet")
    return found


def _version(ways: Sequence[tuple[End, End]]) -> int | None:
    """Of IP, if all ends have addresses, or ask for them, and these are of one version."""
    found = {_version_at(end) for way in ways for end in way}
    return found.pop() if len(found) == 1 else None


def _check_leases(node: Node, ways: Sequence[tuple[End, End]]) -> None:
    """Refuses addresses of DHCP where an end has no client of that version."""
    for place, header in enumerate(node.children("packet")):
        kind = str(header.choice())
        for side, field in enumerate(("src", "dst")):
            own = header.child(kind).child(field) if kind in ("ipv4", "ipv6") else None
            if own is None or own.choice() != "auto":
                continue
            clients = [way[side].client for way in ways]
            if place > 1 or any(client is None or client.version != int(kind[-1]) for client in clients):
                own.refuse(f"the flow has no DHCPv{kind[-1]} client at this end", "name one, or give a value")


def _version_at(end: End) -> int | None:
    if end.client is not None:
        return end.client.version
    return ip_address(end.ips[0]).version if end.ips else None


def _rate(end: End, line_rate: Callable[[int], float | None]) -> float | None:
    """Of the lines of its ports together, in bit/s; None if one has none."""
    rates = [rate for rate in map(line_rate, end.ports) if rate is not None]
    return sum(rates) if len(rates) == len(end.ports) else None


def _ways(node: Node, names: Names) -> tuple[tuple[tuple[End, End], ...], tuple[End, ...]]:
    """The ways, and the ends at any of which frames may arrive if their addresses allow it."""
    if node.choice() == "port":
        port = node.child("port")
        named = [str(name) for name in port.scalar("rx_names") or []]
        if port.has("rx_name"):
            named.append(str(port.scalar("rx_name")))
        sender = names.port(port, str(port.scalar("tx_name")), "tx_name")
        ends = [names.port(port, name, "rx_names") for name in dict.fromkeys(named)] or names.elsewhere(sender)
        return ((sender, ends[0]),), tuple(ends)
    device = node.child("device")
    senders = [names.host(device, str(name), "tx_names") for name in device.scalar("tx_names") or []]
    receivers_ = [names.host(device, str(name), "rx_names") for name in device.scalar("rx_names") or []]
    if device.scalar("bidirectional"):
        device.refuse("a flow has one direction", "write a flow for each direction", "bidirectional")
    paired = device.scalar("mode") == "one_to_one"
    if paired:
        if len(senders) != len(receivers_):
            device.refuse("has not as many names as rx_names", "pair them", "tx_names")
        pairs = list(zip(senders, receivers_, strict=True))
    else:
        pairs = list(product(senders, receivers_))
    if not pairs:
        device.refuse("names nothing", "name at least one interface", "tx_names")
    # Of several at one port or LAG one is enough.
    return tuple(pairs), () if paired else tuple({receive.ports: receive for _, receive in pairs}.values())


def _latency(node: Node, sizes: Sequence[int], own_rate: float | None) -> LatencyMode | None:
    mode: LatencyMode = node.scalar("mode")
    if not node.scalar("enable"):
        return None
    if mode == "store_forward" and own_rate is not None and len(set(sizes)) > 1:
        # RFC 1242 §3.8: from last bit in to first bit out, so a frame's own time on the line is subtracted.
        problem = "store_forward needs frames of one size, whose time on the line is subtracted"
        node.refuse(problem, "use cut_through, the latency that is measured", "mode")
    return mode
