"""`Protocols`: the devices of a configuration that speak protocols, from their start to their stop.

keisoku translates, FRR speaks. Nothing runs before `start`, and nothing after `stop`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from keisoku.device.testbed.host_port import interface_ip, resolve_mac
from keisoku.device.testbed.testbed import Testbed
from keisoku.errors import EngineError, PlanError
from keisoku.lab.frr import BGPD, USER, ZEBRA, other_user
from keisoku.lab.tester_routers import RouterInterface, TesterRouters
from keisoku.otg.bgp_states import bgp_metric, prefix_state
from keisoku.otg.configuration import Configuration
from keisoku.otg.device import Address, Interface
from keisoku.otg.frr_bgp import BgpText, view
from keisoku.otg.metrics import chosen
from keisoku.otg.node import Node

Document = dict[str, Any]
_Thing = TypeVar("_Thing")
_NO_LISTENING = ("-p", "0")


class Protocols:
    """The routers of the tester for one configuration."""

    def __init__(self, configuration: Configuration) -> None:
        self.peers = configuration.bgp
        self.interfaces = {peer.interface.name: peer.interface for peer in self.peers}
        self._names = {name: f"e{number}" for number, name in enumerate(self.interfaces)}
        self._routers: TesterRouters | None = None
        self._bgp = BgpText(self.peers, self._names)
        self._gone: dict[int, frozenset[int]] = {}
        self._down: set[int] = set()

    @property
    def run(self) -> bool:
        """Whether they were started."""
        return self._routers is not None

    def check(self, testbed: Testbed) -> None:
        """Raises PlanError, with the path, for routers that cannot be at these ports."""
        for peer in self.peers:
            if own := other_user():
                problem = f"FRR's daemons do not run as this server's user, {own}"
                raise PlanError(peer.path, problem, f"start the server with --user {USER}")
            place = testbed.interface(peer.interface.port)
            if place is None:
                problem = "there is no interface of this host at the port, and FRR speaks at interfaces"
                raise PlanError(peer.path, problem, "use a lab, or ports of this host")
            address = peer.address
            if interface_ip(*place, address.version) == address.ip:
                problem = f"the port's own interface has {address.ip}"
                raise PlanError(f"{address.path}.address", problem, "give the device another address")

    def start(self, testbed: Testbed) -> None:
        """Starts all that are not running. Raises PlanError where there is no FRR, EngineError if it does not start."""
        if self.run or not self.interfaces:
            return
        interfaces = [self._placed(testbed, interface) for interface in self.interfaces.values()]
        self._gone, self._down = {}, set()
        texts = {ZEBRA: "", BGPD: self._bgp.whole()}
        routers = TesterRouters(interfaces, texts, {BGPD: _NO_LISTENING})
        routers.__enter__()
        self._routers = routers

    def stop(self) -> None:
        """Ends all; no error if none runs."""
        routers, self._routers = self._routers, None
        if routers is not None:
            routers.close()

    def set_state(self, state: Node, whole: Node) -> None:
        """Advertises or withdraws ranges of routes, or sets peers up or down, by names, all without a name.

        Raises PlanError for what is not there, and before the start.
        """
        match state.choice():
            case "route":
                asked = state.child("route")
                names, wanted = [str(name) for name in asked.scalar("names") or []], asked.scalar("state")
                whole.check_all_read()
                self._set_routes(names, wanted == "advertise")
            case "bgp":
                state.child("bgp").choice()
                asked = state.child("bgp").child("peers")
                names, wanted = [str(name) for name in asked.scalar("peer_names") or []], asked.scalar("state")
                whole.check_all_read()
                self._set_peers(names, wanted == "up")
            case other:
                state.refuse("is not supported", "use all, route or bgp", other)

    def _set_routes(self, names: Sequence[str], advertise: bool) -> None:
        known = {
            each.name: (number, place)
            for number, peer in enumerate(self.peers)
            for place, each in enumerate(peer.routes)
        }
        numbers = _chosen(names, known, "protocol.route.names", "route range")
        self._check_run("protocol.route")
        changed: dict[int, frozenset[int]] = {}
        for number, place in numbers:
            gone = changed.get(number, self._gone.get(number, frozenset()))
            changed[number] = gone - {place} if advertise else gone | {place}
        self._tell(self._bgp.withdraw(changed))
        self._gone |= changed

    def _set_peers(self, names: Sequence[str], up: bool) -> None:
        known = {peer.name: number for number, peer in enumerate(self.peers)}
        numbers = _chosen(names, known, "protocol.bgp.peers.peer_names", "BGP peer")
        self._check_run("protocol.bgp.peers")
        self._tell(self._bgp.set_peers(numbers, up))
        self._down = self._down - set(numbers) if up else self._down | set(numbers)

    def link_changed(self, port: int, up: bool) -> None:
        """Ends the sessions at a port whose link was set down, as routers do, or begins them again."""
        if self.run:
            at_port = [number for number, peer in enumerate(self.peers) if peer.interface.port == port]
            self._tell(self._bgp.set_peers([number for number in at_port if number not in self._down], up))

    def next_hop(self, interface: Interface, address: Address) -> str | None:
        """MAC address of the gateway of an address of a router; None: the interface is none of a running router."""
        if self._routers is None or interface.name not in self._names:
            return None
        return resolve_mac(self._names[interface.name], self._routers.path, address.gateway)

    def metrics(self, choice: str, request: Node) -> list[Document]:
        """Metrics of peers ("bgpv4" or "bgpv6"), by names, all without a name. Raises PlanError for an unknown name."""
        asked = request.child(choice)
        names, columns = [str(name) for name in asked.scalar("peer_names") or []], asked.scalar("column_names") or []
        request.check_all_read()
        numbers = self._numbers(names, f"{choice}.peer_names", int(choice[-1]))
        told = json.loads(self._asked("show bgp vrf all neighbors json")) if self.run else {}
        peers = [(self.peers[number], told.get(view(number), {})) for number in numbers]
        return [chosen(bgp_metric(peer, said.get(peer.far)), columns, {"name"}) for peer, said in peers]

    def prefix_states(self, request: Node) -> list[Document]:
        """Learned prefixes of peers, by names, all without a name. Raises PlanError for an unknown name."""
        asked = request.child("bgp_prefixes")
        names, kinds = asked.scalar("bgp_peer_names") or [], asked.scalar("prefix_filters") or []
        request.check_all_read()
        versions = [version for version in (4, 6) if not kinds or f"ipv{version}_unicast" in kinds]
        found = []
        for number in self._numbers(names, "bgp_prefixes.bgp_peer_names"):
            peer = self.peers[number]
            wanted = [version for version in versions if version in peer.learns]
            tables = {}
            for version in wanted if self.run else ():
                said = self._asked(f"show bgp view {view(number)} ipv{version} unicast json detail")
                tables[version] = json.loads(said) if said.strip() else {}
            found.append(prefix_state(peer, tables, wanted))
        return found

    def _numbers(self, names: Sequence[str], field: str, version: int | None = None) -> list[int]:
        known = {
            peer.name: number for number, peer in enumerate(self.peers) if version is None or peer.version == version
        }
        return _chosen(names, known, field, "BGP peer")

    def _placed(self, testbed: Testbed, interface: Interface) -> RouterInterface:
        place = testbed.interface(interface.port)
        assert place is not None, "such a configuration was refused"
        addresses = interface.addresses
        return RouterInterface(
            self._names[interface.name],
            *place,
            interface.mac,
            tuple(f"{address.ip}/{address.prefix}" for address in addresses),
            tuple(dict.fromkeys(address.gateway for address in addresses)),
        )

    def _check_run(self, field: str) -> None:
        if not self.run:
            raise PlanError(field, "the protocols are not started", "start them first")

    def _tell(self, commands: Iterable[str]) -> None:
        """Changes the configuration. Raises EngineError for a command that FRR refuses."""
        words = list(commands)
        if words and (said := self._asked("configure terminal", *words).strip()):
            raise EngineError(f"FRR refuses a change of its configuration: {said.splitlines()[0]}")

    def _asked(self, *commands: str) -> str:
        assert self._routers is not None, "only while the protocols run"
        return self._routers.ask(*commands)


def _chosen(names: Sequence[str], known: Mapping[str, _Thing], field: str, what: str) -> list[_Thing]:
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise PlanError(field, f"there is no {what} {unknown}", "name one of the configuration")
    return [known[name] for name in names] if names else list(known.values())
