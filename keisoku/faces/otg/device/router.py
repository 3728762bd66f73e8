"""`RouterProtocol`: all that is known of a protocol that routers speak among themselves. Knows none of them.

Each has a folder with one such entry, and `keisoku/faces/otg/routers.py` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from keisoku.faces.otg.device.device import Interface
from keisoku.faces.otg.device.route_range import Prefixes
from keisoku.faces.otg.leaf import Leaves
from keisoku.faces.otg.reading.node import Node
from keisoku.ground.host.program import Program
from keisoku.ground.lab.lsa_count import Kind

Document = dict[str, Any]


class RouterRoutes(Protocol):
    """A range of prefixes that a router says it can reach."""

    @property
    def name(self) -> str:
        """OTG's, of the range."""

    @property
    def path(self) -> str:
        """Where it is in the configuration."""

    @property
    def prefixes(self) -> tuple[Prefixes, ...]:
        """At least one; all of one version."""


class RouterAt(Protocol):
    """An interface at which a router looks for neighbours."""

    @property
    def interface(self) -> Interface:
        """The interface of its device."""


class Router(Protocol):
    """A router that a device plays, as plain values."""

    @property
    def name(self) -> str:
        """OTG's, of the router."""

    @property
    def path(self) -> str:
        """Where it is in the configuration."""

    @property
    def device(self) -> str:
        """The path of its device."""

    @property
    def interfaces(self) -> Sequence[RouterAt]:
        """At least one."""

    @property
    def routes(self) -> Sequence[RouterRoutes]:
        """Its ranges."""


class RouterText(Protocol):
    """A router in the words of FRR, and what FRR was told of it so far."""

    program: Program
    """The daemon that speaks the protocol."""

    def static(self) -> list[str]:
        """Lines for the daemon of static routes."""

    def networks(self) -> dict[str, list[str]]:
        """Addresses at interfaces that end nowhere, by these interfaces' names."""

    def links(self) -> list[str]:
        """Lines for the daemon of interfaces."""

    def whole(self) -> str:
        """The configuration with which the protocol's daemon starts; all routes are advertised."""

    def advertise(self, gone: frozenset[int]) -> list[str]:
        """Commands after which all ranges but those are advertised, which are given by their places."""

    def set_interface(self, one: Any, up: bool) -> Iterable[str]:
        """Commands by which the router speaks at an interface, or does not."""


class Answers(Protocol):
    """What FRR says in the namespace of a router; all of it is empty before the protocols are started."""

    interfaces: Mapping[str, Interface]
    """By the names that they have in the kernel."""

    def answer(self, command: str) -> Mapping[str, Any]:
        """The answer to a command as JSON."""

    def printed(self, command: str) -> str:
        """The answer to a command as text."""

    def logged(self, program: Program) -> str:
        """What a daemon logged."""

    def counted_lsas(self) -> Mapping[Kind, int] | None:
        """How many of OSPF's LSAs passed its interfaces; None if that is not known."""


R = TypeVar("R", bound=Router)


@dataclass(frozen=True)
class RouterState(Generic[R]):
    """A choice of OTG's StatesRequest: something that routers learned."""

    names: str
    """The field with the names of routers."""
    of: Callable[[R, Answers], Document]
    part: str
    """Its name among the parts of gNMI's tree."""
    place: tuple[str, ...]
    """Where the part is, below the state of a router."""


@dataclass(frozen=True)
class RouterProtocol(Generic[R]):
    """One protocol: how it is read, spoken, and told to clients."""

    name: str
    """OTG's, of its metrics, of its states of control, and of its YANG module."""
    word: str
    """A router that speaks it, in an error's sentence."""
    read: Callable[[Node, Sequence[Interface]], tuple[R, ...]]
    """All its routers of a configuration. Raises PlanError, with the path, for what FRR cannot do as written."""
    text: Callable[[R, Mapping[str, str]], RouterText]
    """A router in the words of FRR, with the kernel's names of interfaces by OTG's."""
    metric: Callable[[R, Answers], Document]
    states: Mapping[str, RouterState[R]]
    """By the choice of OTG's StatesRequest."""
    leaves: Callable[..., Leaves]
    """Leaves of gNMI's tree, of all metrics, and of all documents of each of the states, in their order."""
    counts_lsas: bool = False
    """Whether LSAs are counted at its interfaces."""

    @property
    def root(self) -> str:
        """The container at the top of gNMI's tree."""
        return f"{self.name}-routers"

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """Its parts of gNMI's tree, and where they are."""
        state = (self.root, f"{self.name}-router", "state")
        return {self.name: (*state, "counters")} | {one.part: (*state, *one.place) for one in self.states.values()}
