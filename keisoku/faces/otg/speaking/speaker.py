"""`Speaker`: the devices of a configuration whose protocols are spoken in one namespace, and what FRR is told for them.

Devices that only have BGP share one: each of their peers has a table of routes of its own. A device with IS-IS or OSPF
has one for itself, as a router of FRR has one identifier, and routes of the kernel; so has one that listens for BGP
sessions, as a kernel sends nothing on a wire from one of its addresses to another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from keisoku.errors import EngineError
from keisoku.faces.otg.bgp.frr import BgpText, view
from keisoku.faces.otg.bgp.peers import BgpPeer
from keisoku.faces.otg.device.device import Interface
from keisoku.faces.otg.device.router import Router, RouterText
from keisoku.faces.otg.routers import ROUTERS
from keisoku.ground.host.program import Program
from keisoku.ground.lab.frr import BGPD, STATICD, ZEBRA
from keisoku.ground.lab.lsa_count import Kind
from keisoku.ground.lab.tester_routers import RouterInterface, RouterPlace

_NO_LISTENING = ("-p", "0")
_NO_KERNEL = ("-n",)
"""What peers learn is not for the kernel of their namespace."""
_LOGGING = ("--log", "stdout", "--log-level", "informational")

Ask = Callable[..., str]
"""What FRR's daemons of the namespace answer to commands."""
Where = Callable[[Interface], tuple[str, Path | None]]
"""The interface of the kernel on which an interface of a device is, and its namespace."""


class Speaker:
    """Knows nothing of FRR's processes: `ask` is None before they are started."""

    def __init__(
        self,
        interfaces: Mapping[str, Interface],
        peers: Sequence[BgpPeer],
        routers: Mapping[str, Router],
        listen_port: int | None = None,
    ) -> None:
        """`interfaces` by the names that they have in the kernel, `routers` by their protocols. `listen_port`: where
        others can begin sessions with the peers, which are then of one device; None: they cannot."""
        self.interfaces, self.peers, self.routers = interfaces, peers, routers
        self._listen_port = listen_port
        self.names = {interface.name: name for name, interface in interfaces.items()}
        self._bgp = BgpText(peers, self.names, listens=listen_port is not None)
        self._texts: dict[str, RouterText] = {
            router.name: ROUTERS[kind].text(router, self.names) for kind, router in routers.items()
        }
        self._named = {router.name: router for router in routers.values()}
        self.ask: Ask | None = None
        self.log: Callable[[Program], str] | None = None
        """What a daemon logged."""
        self.lsas: Callable[[], Mapping[Kind, int] | None] | None = None
        """How many of OSPF's LSAs passed its interfaces."""
        self._reset()

    def _reset(self) -> None:
        self._gone: dict[int | str, frozenset[int]] = {}
        self._down: set[int] = set()
        self._silent: set[str] = set()

    @property
    def speaks(self) -> bool:
        """Whether there is anything for FRR to say; else its interfaces only answer ARP and neighbour discovery."""
        return bool(self.peers or self._texts)

    def place(self, where: Where) -> RouterPlace:
        """Its namespace, in which everything is up and advertised."""
        self._reset()
        links = [line for text in self._texts.values() for line in text.links()]
        texts: dict[Program, str] = {ZEBRA: "".join(f"{line}\n" for line in links)} if self.speaks else {}
        options: dict[Program, Sequence[str]] = {}
        if self.peers:
            texts[BGPD] = self._bgp.whole()
            options[BGPD] = _NO_LISTENING if self._listen_port is None else ("-p", str(self._listen_port), *_NO_KERNEL)
        networks: dict[str, list[str]] = {}
        for text in self._texts.values():
            texts[text.program], options[text.program] = text.whole(), _LOGGING
            networks |= text.networks()
        if self._texts:
            texts[STATICD] = "".join(f"{line}\n" for text in self._texts.values() for line in text.static())
        placed = [_placed(where, name, interface) for name, interface in self.interfaces.items()]
        counted = [router for kind, router in self.routers.items() if ROUTERS[kind].counts_lsas]
        at = [self.names[one.interface.name] for router in counted for one in router.interfaces]
        return RouterPlace(placed, texts, options, networks, at)

    def routes(self) -> Mapping[str, tuple[int | str, int]]:
        """Its ranges of routes by their names: the number of the BGP peer or the name of the router, and the place."""
        found: dict[str, tuple[int | str, int]] = {}
        for number, peer in enumerate(self.peers):
            found |= {each.name: (number, place) for place, each in enumerate(peer.routes)}
        for name, router in self._named.items():
            found |= {each.name: (name, place) for place, each in enumerate(router.routes)}
        return found

    def set_routes(self, chosen: Sequence[tuple[int | str, int]], advertise: bool) -> None:
        """Ranges, as `routes` says which, are advertised or withdrawn."""
        changed: dict[int | str, frozenset[int]] = {}
        for owner, place in chosen:
            gone = changed.get(owner, self._gone.get(owner, frozenset()))
            changed[owner] = gone - {place} if advertise else gone | {place}
        peers = {owner: gone for owner, gone in changed.items() if isinstance(owner, int)}
        self._tell(self._bgp.withdraw(peers))
        self._gone |= {owner: gone for owner, gone in changed.items() if owner in peers}
        for owner, gone in changed.items():
            if isinstance(owner, str) and gone != self._gone.get(owner, frozenset()):
                self._tell(self._texts[owner].advertise(gone))
                self._gone[owner] = gone

    def set_peers(self, numbers: Iterable[int], up: bool) -> None:
        """BGP peers, by number, are up or down."""
        chosen = set(numbers)
        self._tell(self._bgp.set_peers(sorted(chosen), up))
        self._down = self._down - chosen if up else self._down | chosen

    def set_router(self, name: str, up: bool) -> None:
        """A router speaks, or does not."""
        text = self._texts[name]
        self._tell(line for one in self._named[name].interfaces for line in text.set_interface(one, up))
        self._silent = self._silent - {name} if up else self._silent | {name}

    def link_changed(self, port: int, up: bool) -> None:
        """Ends what is spoken at a port whose link was set down, as routers do, or begins it again. At a LAG it goes on
        by the other members."""
        at_port = [number for number, peer in enumerate(self.peers) if _is_only_at(peer.interface, port)]
        self._tell(self._bgp.set_peers([number for number in at_port if number not in self._down], up))
        for name, text in self._texts.items():
            if name not in self._silent:
                at = [one for one in self._named[name].interfaces if _is_only_at(one.interface, port)]
                self._tell(line for one in at for line in text.set_interface(one, up))

    def neighbours(self) -> Sequence[Mapping[str, Any]]:
        """FRR's account of each BGP peer; empty ones before it is started."""
        told = self.answer("show bgp vrf all neighbors json") if self.peers else {}
        return [told.get(self._view(number), {}).get(peer.far, {}) for number, peer in enumerate(self.peers)]

    def _view(self, number: int) -> str:
        return view(number) if self._listen_port is None else "default"

    def table(self, number: int, version: int) -> Mapping[str, Any]:
        """What a BGP peer learned."""
        if self._listen_port is None:
            return self.answer(f"show bgp view {view(number)} ipv{version} unicast json detail")
        whole, far = self.answer(f"show bgp ipv{version} unicast json detail"), self.peers[number].far
        of_peer = {
            network: [path for path in paths if path.get("peer", {}).get("peerId") == far]
            for network, paths in whole.get("routes", {}).items()
        }
        return {"routes": of_peer}

    def counted_lsas(self) -> Mapping[Kind, int] | None:
        """How many LSAs passed; none before it is started, and None if that is not known."""
        return {} if self.lsas is None else self.lsas()

    def logged(self, program: Program) -> str:
        """What a daemon logged; nothing before it is started."""
        return "" if self.log is None else self.log(program)

    def printed(self, command: str) -> str:
        """FRR's answer to a command as text; empty before it is started."""
        return "" if self.ask is None else self.ask(command)

    def answer(self, command: str) -> Mapping[str, Any]:
        """FRR's answer as JSON."""
        said = self.printed(command)
        found: Mapping[str, Any] = json.loads(said) if said.strip() else {}
        return found

    def _tell(self, commands: Iterable[str]) -> None:
        """Changes the configuration. Raises EngineError for a command that FRR refuses."""
        words = list(commands)
        if words and self.ask is not None and (said := self.ask("configure terminal", *words).strip()):
            raise EngineError(f"FRR refuses a change of its configuration: {said.splitlines()[0]}")


def _is_only_at(interface: Interface, port: int) -> bool:
    return interface.lag is None and interface.port == port


def _placed(where: Where, name: str, interface: Interface) -> RouterInterface:
    addresses = interface.addresses
    return RouterInterface(
        name,
        *where(interface),
        interface.mac,
        tuple(f"{address.ip}/{address.prefix}" for address in addresses),
        tuple(dict.fromkeys(address.gateway for address in addresses)),
        interface.tags,
        interface.asks_ipv6,
    )
