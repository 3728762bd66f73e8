"""`Protocols`: the devices of a configuration that speak protocols, from their start to their stop.

keisoku translates; FRR, lldpd, Open vSwitch, dhcpcd and Kea speak. Nothing runs before `start`, and nothing after
`stop`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from keisoku._core import HAS_BPF
from keisoku.errors import PlanError
from keisoku.faces.otg.bgp.peers import BgpPeer, listening
from keisoku.faces.otg.bgp.states import bgp_metric, prefix_state
from keisoku.faces.otg.configuration import Configuration
from keisoku.faces.otg.device.device import Address, Interface
from keisoku.faces.otg.device.router import Router
from keisoku.faces.otg.dhcp.clients import DhcpClient
from keisoku.faces.otg.dhcp.parties import METRICS as DHCP_METRICS
from keisoku.faces.otg.dhcp.parties import STATES as DHCP_STATES
from keisoku.faces.otg.dhcp.parties import Parties
from keisoku.faces.otg.dhcp.states import Lease
from keisoku.faces.otg.lacp.aggregation import Aggregation
from keisoku.faces.otg.lldp.agents import Agents
from keisoku.faces.otg.metrics import chosen
from keisoku.faces.otg.reading.conformance import checked
from keisoku.faces.otg.reading.node import Node
from keisoku.faces.otg.routers import ROUTERS
from keisoku.faces.otg.speaking.speaker import Speaker
from keisoku.faces.otg.traffic.convergence import EventKind
from keisoku.ground.lab.frr import USER, other_user
from keisoku.ground.lab.tester_routers import TesterRouters
from keisoku.subjects.device.testbed.host_port import interface_ip, resolve_mac
from keisoku.subjects.device.testbed.testbed import Testbed

Document = dict[str, Any]
_Thing = TypeVar("_Thing")
_PARTS = {
    "prefixes": "bgp_prefixes",
    **{state.part: choice for protocol in ROUTERS.values() for choice, state in protocol.states.items()},
    "lldp_neighbours": "lldp_neighbors",
    **{state: state for state in DHCP_STATES},
}
"""Parts of gNMI's tree that are states (`telemetry.PARTS`), by OTG's names of them."""
_AGENT = "LLDP agent"


class Protocols:
    """The routers, LLDP agents and LAGs of the tester for one configuration."""

    def __init__(self, configuration: Configuration) -> None:
        spoken = [(one.interface, one.path) for one in configuration.bgp]
        for router in (router for routers in configuration.routers.values() for router in routers):
            spoken += [(one.interface, router.path) for one in router.interfaces]
        self._dhcp = Parties(configuration.dhcp_clients, configuration.dhcp_servers)
        of_kernel = [interface for interface in configuration.interfaces if interface.is_of_kernel]
        of_kernel += self._dhcp.interfaces
        self.interfaces = {one.name: one for one in (*(interface for interface, _ in spoken), *of_kernel)}
        """Those of the kernel: of routers, and those that can be no others."""
        self._paths = {interface.name: path for interface, path in spoken}
        self.lags = Aggregation(configuration.lags, configuration.interfaces)
        self._routers: TesterRouters | None = None
        silent = [one for one in dict.fromkeys(of_kernel) if one.name not in self._paths]
        alone = [one.device for one in self._dhcp.interfaces]
        self._speakers = _speakers(configuration, self.interfaces, silent, alone)
        self._agents = Agents(configuration.lldp)
        self._peers: dict[str, tuple[Speaker, int]] = {}
        self._routers_of: dict[str, dict[str, Speaker]] = {kind: {} for kind in ROUTERS}
        for speaker in self._speakers:
            self._peers |= {peer.name: (speaker, number) for number, peer in enumerate(speaker.peers)}
            for kind, router in speaker.routers.items():
                self._routers_of[kind][router.name] = speaker

    @property
    def run(self) -> bool:
        """Whether the routers were started."""
        return self._routers is not None

    def check(self, testbed: Testbed) -> None:
        """Raises PlanError, with the path, for LAGs, routers and agents that cannot be at these ports."""
        self.lags.check(testbed, self._agents.by_name.values())
        self._agents.check(testbed, list(self.interfaces.values()))
        self._dhcp.check()
        beside: dict[tuple[int, str], Interface] = {}
        for name, interface in self.interfaces.items():
            path = self._paths.get(name)
            if path is not None and (own := other_user()):
                problem = f"FRR's daemons do not run as this server's user, {own}"
                raise PlanError(path, problem, f"start the server with --user {USER}")
            if interface.tags and not HAS_BPF:
                problem = "this keisoku is built without clang, so without the programs that tag the kernel's frames"
                raise PlanError(f"{interface.path}.vlans", problem, "leave it out")
            if interface.lag is not None:
                continue
            place = testbed.interface(interface.port)
            if place is None:
                asking = self._dhcp.paths.get(name)
                words = "DHCP is spoken" if asking is not None else "the kernel answers with such tags"
                problem = f"there is no interface of this host at the port, and {words} at interfaces"
                if path is not None:
                    problem = "there is no interface of this host at the port, and FRR speaks at interfaces"
                raise PlanError(
                    path or asking or f"{interface.path}.vlans", problem, "use a lab, or ports of this host"
                )
            other = beside.setdefault((interface.port, interface.mac.lower()), interface)
            if other is not interface:
                problem = f"{other.name} has this address at the same port, and the kernel tells them apart by it"
                raise PlanError(f"{interface.path}.mac", problem, "give each its own")
            for address in interface.addresses:
                if not interface.tags and interface_ip(*place, address.version) == address.ip:
                    problem = f"the port's own interface has {address.ip}"
                    raise PlanError(f"{address.path}.address", problem, "give the device another address")

    def start(self, testbed: Testbed) -> None:
        """Starts all that are not running. Raises PlanError where a program is absent, EngineError if it does not
        start."""
        self.lags.start(testbed)
        try:
            self._start_routers(testbed)
            self._dhcp.start(self._in_kernel)
            self._agents.start(testbed)
        except BaseException:
            self.stop()
            raise

    def _start_routers(self, testbed: Testbed) -> None:
        if self.run or not self._speakers:
            return

        def where(interface: Interface) -> tuple[str, Path | None]:
            if interface.lag is not None:
                return self.lags.interface(interface.lag)
            place = testbed.interface(interface.port)
            assert place is not None, "such a configuration was refused"
            return place

        routers = TesterRouters([speaker.place(where) for speaker in self._speakers])
        routers.__enter__()
        self._routers = routers
        for number, speaker in enumerate(self._speakers):
            if speaker.speaks:
                speaker.ask, speaker.log = partial(routers.ask, number), partial(routers.log, number)
                speaker.lsas = partial(routers.lsas, number)

    def stop(self) -> None:
        """Ends all; no error if none runs."""
        self._agents.stop()
        self._dhcp.stop()
        routers, self._routers = self._routers, None
        for speaker in self._speakers:
            speaker.ask = speaker.log = speaker.lsas = None
        if routers is not None:
            routers.close()
        self.lags.stop()

    def _in_kernel(self, interface: Interface) -> tuple[str, Path]:
        """Of a router that runs: what the kernel calls an interface, and its namespace."""
        assert self._routers is not None, "the routers run"
        number = next(place for place, speaker in enumerate(self._speakers) if interface.name in speaker.names)
        return self._speakers[number].names[interface.name], self._routers.path(number)

    def lease(self, client: DhcpClient) -> Lease | None:
        """The address that a client of DHCP has now."""
        return self._dhcp.lease(client)

    def set_state(self, state: Node, whole: Node) -> list[tuple[EventKind, str]]:
        """Advertises or withdraws ranges of routes, or sets peers or routers up or down, by names, all without a name.
        Returns what became of which ranges.

        Raises PlanError for what is not there, and before the start.
        """
        match state.choice():
            case "route":
                asked = state.child("route")
                names, wanted = [str(name) for name in asked.scalar("names") or []], asked.scalar("state")
                whole.check_all_read()
                return self._set_routes(names, wanted == "advertise")
            case "bgp":
                state.child("bgp").choice()
                asked = state.child("bgp").child("peers")
                names, wanted = [str(name) for name in asked.scalar("peer_names") or []], asked.scalar("state")
                whole.check_all_read()
                peers = _chosen(names, self._peers, "protocol.bgp.peers.peer_names", "BGP peer")
                self._check_run("protocol.bgp.peers")
                for speaker in dict.fromkeys(speaker for speaker, _ in peers):
                    speaker.set_peers([number for each, number in peers if each is speaker], wanted == "up")
            case kind if kind in ROUTERS:
                inner = state.child(kind)
                if inner.choice() != "routers":
                    inner.refuse("there are no simulated links", "name routers", "simulated_links")
                asked = inner.child("routers")
                names, wanted = [str(name) for name in asked.scalar("router_names") or []], asked.scalar("state")
                whole.check_all_read()
                known = {name: (name, speaker) for name, speaker in self._routers_of[kind].items()}
                routers = _chosen(names, known, f"protocol.{kind}.routers.router_names", ROUTERS[kind].word)
                self._check_run(f"protocol.{kind}.routers")
                for name, speaker in routers:
                    speaker.set_router(name, wanted == "up")
            case "lacp":
                inner = state.child("lacp")
                choice = str(inner.choice())
                asked = inner.child(choice)
                names, wanted = [str(name) for name in asked.scalar("lag_member_names") or []], asked.scalar("state")
                whole.check_all_read()
                self.lags.set_members(names, f"protocol.lacp.{choice}.lag_member_names", wanted == "up")
            case other:
                *most, last = ROUTERS
                state.refuse(
                    "is not supported", f"use {', '.join(['all', 'route', 'lacp', 'bgp', *most])} or {last}", other
                )
        return []

    def _set_routes(self, names: Sequence[str], advertise: bool) -> list[tuple[EventKind, str]]:
        known = {name: (speaker, at) for speaker in self._speakers for name, at in speaker.routes().items()}
        found = _chosen(names, known, "protocol.route.names", "route range")
        self._check_run("protocol.route")
        for speaker in dict.fromkeys(speaker for speaker, _ in found):
            speaker.set_routes([at for each, at in found if each is speaker], advertise)
        return [("route_advertise" if advertise else "route_withdraw", name) for name in names or known]

    def link_changed(self, port: int, up: bool) -> None:
        """Ends what is spoken at a port whose link was set down, as routers do, or begins it again."""
        for speaker in self._speakers:
            speaker.link_changed(port, up)

    def is_there(self, interface: Interface) -> bool:
        """Whether an interface can ask for addresses: one of the kernel once the routers run."""
        return self.run or interface.name not in self.interfaces

    def question(self, interface: Interface, address: Address) -> Callable[[], str] | None:
        """Asks for the MAC address of the gateway of an address of a router; None: the interface is none of a running
        router, or nobody needs to be asked."""
        if self._routers is None or address.gateway_mac is not None:
            return None
        for number, speaker in enumerate(self._speakers):
            if interface.name in speaker.names:
                return partial(resolve_mac, speaker.names[interface.name], self._routers.path(number), address.gateway)
        return None

    def metrics(self, choice: str, request: Node) -> list[Document]:
        """Metrics of peers ("bgpv4" or "bgpv6"), routers (names of `ROUTERS`), agents ("lldp"), members of LAGs
        ("lacp"), or DHCP's clients and servers (`dhcp.parties.METRICS`), by names, all without a name. Raises PlanError
        for an unknown name."""
        asked = request.child(choice)
        if choice == "lacp":
            return self._lacp_metrics(asked, request)
        if choice in DHCP_METRICS:
            return self._dhcp_metrics(choice, asked, request)
        field = "lldp_names" if choice == "lldp" else "router_names" if choice in ROUTERS else "peer_names"
        names, columns = [str(name) for name in asked.scalar(field) or []], asked.scalar("column_names") or []
        request.check_all_read()
        if choice == "lldp":
            agents = _chosen(names, self._agents.by_name, f"lldp.{field}", _AGENT)
            return [chosen(self._agents.metric(agent), columns, {"name"}) for agent in agents]
        if choice in ROUTERS:
            protocol = ROUTERS[choice]
            speakers = _chosen(names, self._routers_of[choice], f"{choice}.{field}", protocol.word)
            made = [protocol.metric(speaker.routers[choice], speaker) for speaker in speakers]
            return [chosen(metric, columns, {"name"}) for metric in made]
        known = {name: at for name, at in self._peers.items() if at[0].peers[at[1]].version == int(choice[-1])}
        peers = _chosen(names, known, f"{choice}.{field}", "BGP peer")
        told = {speaker: speaker.neighbours() for speaker in dict.fromkeys(speaker for speaker, _ in peers)}
        found = []
        for speaker, number in peers:
            peer = speaker.peers[number]
            said = told[speaker][number]
            found.append(chosen(bgp_metric(peer, said), columns, {"name"}))
        return found

    def _dhcp_metrics(self, choice: str, asked: Node, request: Node) -> list[Document]:
        field = f"{choice.partition('_')[2]}_names"
        names, columns = asked.scalar(field) or [], asked.scalar("column_names") or []
        request.check_all_read()
        parties = _chosen(names, self._dhcp.parties(choice), f"{choice}.{field}", _dhcp_word(choice))
        return [chosen(self._dhcp.metric(party), columns, {"name"}) for party in parties]

    def _dhcp_states(self, choice: str, request: Node) -> list[Document]:
        field = f"dhcp_{DHCP_STATES[choice]}_names"
        names = request.child(choice).scalar(field) or []
        request.check_all_read()
        kind = f"{choice.partition('_')[0]}_{DHCP_STATES[choice]}"
        parties = _chosen(names, self._dhcp.parties(kind), f"{choice}.{field}", _dhcp_word(kind))
        return [self._dhcp.state(party) for party in parties]

    def _lacp_metrics(self, asked: Node, request: Node) -> list[Document]:
        names, ports = asked.scalar("lag_names") or [], asked.scalar("lag_member_port_names") or []
        columns = asked.scalar("column_names") or []
        request.check_all_read()
        of_lags = self.lags.named(names, "lacp.lag_names")
        known = {one.name for lag in self.lags.named([], "") for one in lag.members}
        for unknown in (name for name in ports if name not in known):
            raise PlanError("lacp.lag_member_port_names", f"{unknown} is in no LAG", "name a member")
        found = [metric for lag in of_lags for metric in self.lags.metrics(lag)]
        always = {"lag_name", "lag_member_port_name"}
        return [
            chosen(metric, columns, always) for metric in found if not ports or metric["lag_member_port_name"] in ports
        ]

    def states(self, choice: str, request: Node) -> list[Document]:
        """What was learned, by OTG's name of it. Raises PlanError for what is not supported, and for unknown names."""
        match choice:
            case "bgp_prefixes":
                return self.prefix_states(request)
            case "lldp_neighbors":
                return self.lldp_states(request)
        if choice in DHCP_STATES:
            return self._dhcp_states(choice, request)
        of_routers = [name for protocol in ROUTERS.values() for name in protocol.states]
        if choice in of_routers:
            return self.router_states(choice, request)
        others = f"{', '.join(['bgp_prefixes', *of_routers, *DHCP_STATES])} or lldp_neighbors"
        request.refuse("is not supported", f"ask for ipv4_neighbors, ipv6_neighbors, {others}", choice)

    def prefix_states(self, request: Node) -> list[Document]:
        """Learned prefixes of peers, by names, all without a name. Raises PlanError for an unknown name."""
        asked = request.child("bgp_prefixes")
        names, kinds = asked.scalar("bgp_peer_names") or [], asked.scalar("prefix_filters") or []
        request.check_all_read()
        versions = [version for version in (4, 6) if not kinds or f"ipv{version}_unicast" in kinds]
        found = []
        for speaker, number in _chosen(names, self._peers, "bgp_prefixes.bgp_peer_names", "BGP peer"):
            peer = speaker.peers[number]
            wanted = [version for version in versions if version in peer.learns]
            tables = {version: speaker.table(number, version) for version in wanted}
            found.append(prefix_state(peer, tables, wanted))
        return found

    def router_states(self, choice: str, request: Node) -> list[Document]:
        """What routers learned, by names, all without a name. Raises PlanError for an unknown name."""
        kind = next(name for name, protocol in ROUTERS.items() if choice in protocol.states)
        state = ROUTERS[kind].states[choice]
        names = request.child(choice).scalar(state.names) or []
        request.check_all_read()
        speakers = _chosen(names, self._routers_of[kind], f"{choice}.{state.names}", ROUTERS[kind].word)
        return [state.of(speaker.routers[kind], speaker) for speaker in speakers]

    def lldp_states(self, request: Node) -> list[Document]:
        """Neighbours of agents, by names, all without a name. Raises PlanError for an unknown name."""
        asked = request.child("lldp_neighbors")
        names, wanted = asked.scalar("lldp_names") or [], asked.scalar("neighbor_id_filters") or []
        request.check_all_read()
        agents = _chosen(names, self._agents.by_name, "lldp_neighbors.lldp_names", _AGENT)
        found = [state for agent in agents for state in self._agents.neighbours(agent)]
        return [state for state in found if not wanted or state["neighbor_id"] in wanted]

    def documents(self, part: str) -> list[Document]:
        """All metrics or states of a part of gNMI's tree (`telemetry.PARTS`)."""
        if part in _PARTS:
            return self.states(_PARTS[part], checked({_PARTS[part]: {}}, "StatesRequest"))
        names = ("bgpv4", "bgpv6") if part == "bgp" else (part,)
        asked = [(name, checked({name: {}}, "MetricsRequest")) for name in names]
        return [metric for name, node in asked for metric in self.metrics(name, node)]

    def _check_run(self, field: str) -> None:
        if not self.run:
            raise PlanError(field, "the protocols are not started", "start them first")


def _speakers(
    configuration: Configuration,
    interfaces: Mapping[str, Interface],
    silent: Sequence[Interface],
    alone: Sequence[str],
) -> list[Speaker]:
    """That of devices that share a namespace, then that of each device with a router, of those that are `alone`, and of
    each whose gateway is another one, as a kernel sends nothing to itself by a wire. At `silent` interfaces FRR says
    nothing."""
    names = {name: f"e{number}" for number, name in enumerate(interfaces)}
    routers: dict[str, dict[str, Router]] = {}
    """By the path of the device, then by the protocol."""
    for kind, own_routers in configuration.routers.items():
        for router in own_routers:
            routers.setdefault(router.device, {})[kind] = router
    listen = listening(configuration.bgp, configuration.interfaces)
    own = {address.ip for one in interfaces.values() for address in one.addresses}
    facing = [one.device for one in silent if any(address.gateway in own for address in one.addresses)]

    def of(device: str | None, peers: Sequence[BgpPeer]) -> Speaker:
        own_routers = {} if device is None else routers.get(device, {})
        spoken = [peer.interface for peer in peers]
        spoken += [one.interface for router in own_routers.values() for one in router.interfaces]
        spoken += [one for one in silent if place(one.device) == device]
        port = None if device is None else listen.get(device)
        return Speaker({names[one.name]: one for one in spoken}, peers, own_routers, listen_port=port)

    devices: dict[str | None, list[BgpPeer]] = {None: []} | {
        device: [] for device in (*routers, *listen, *facing, *alone)
    }

    def place(device: str) -> str | None:
        return device if device in devices else None

    for peer in configuration.bgp:
        devices[place(peer.interface.device)].append(peer)
    found = {device: of(device, peers) for device, peers in devices.items()}
    return [speaker for device, speaker in found.items() if device is not None or speaker.interfaces]


def _dhcp_word(kind: str) -> str:
    """An entry of `dhcp.parties.METRICS` in an error's sentence."""
    return kind.replace("dhcp", "DHCP").replace("_", " ")


def _chosen(names: Sequence[str], known: Mapping[str, _Thing], field: str, what: str) -> list[_Thing]:
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise PlanError(field, f"there is no {what} {unknown}", "name one of the configuration")
    return [known[name] for name in names] if names else list(known.values())
