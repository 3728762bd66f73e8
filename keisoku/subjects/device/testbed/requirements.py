"""What a plan or an OTG configuration asks of a tester. Plain values; opens nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from keisoku.errors import PlanError
from keisoku.ground.frame.modifying import Modifying
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.subjects.device.engine.traffic import Route, Traffic
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.record.interference import PortEngine

if TYPE_CHECKING:
    from keisoku.ground.host.claim import Claim
    from keisoku.subjects.device.engine.stamps import (
        Wanted as WantedStamps,  # it reads from the kernel, which few testbeds need
    )

_NAMED_BY_FLOWS = Content(headers="ethernet")
"""Placeholder for frames that flows define themselves; it is never sent."""


_BARE = re.compile(r"[A-Za-z][^\s/:@#]{0,14}(@\S+)?")


def is_interface(name: str) -> bool:
    """Whether a name may be that of an interface of this host, perhaps with its namespace. Numbers are ports of
    devices."""
    return _BARE.fullmatch(name) is not None


@dataclass(frozen=True)
class WantedPort:
    """A port by its URI: 'eth1', 'xdp:eth1', 'lab:bridge#1', 'sim:gs908e#2', 'fpga:sim#0'."""

    name: str
    field: str
    """The field that the user must correct if the port cannot be used."""
    receives: bool = True
    stamps: WantedStamps | None = None
    """Its receive timestamps; None: those of the testbed."""

    @property
    def scheme(self) -> str:
        """The scheme, which selects the variant of the testbed; 'auto' for the bare name of an interface."""
        scheme, colon, _ = self.name.partition(":")
        return scheme if colon or not is_interface(self.name) else "auto"

    def as_opened(self, opened: OpenedPort | None) -> Self:
        """The same as it was opened before: with that engine, if it names none, and with those timestamps."""
        if opened is None:
            return self
        name = f"{opened.engine}:{self.name}" if self.scheme == "auto" else self.name
        return replace(self, name=name, stamps=opened.stamps)


@dataclass(frozen=True)
class OpenedPort:
    """What was chosen for a port in a run that is resumed: nothing is chosen again."""

    engine: str
    stamps: WantedStamps | None = None
    """None: a program's, which cannot be chosen."""


@dataclass(frozen=True)
class WantedTestbed:
    """Ports in order, and how they are to be opened. Indices of ports are those of this order."""

    ports: tuple[WantedPort, ...]
    device: str | None = None
    """What the user says is between the ports: 'lab:bridge', 'sim:gs908e'."""
    engine: PortEngine | None = None
    """Engine of a lab's ports; if not given, xdp, or packet for frames that xdp does not send."""
    frame_bytes: tuple[int, ...] = ()
    """Frame sizes with FCS that ports of this host must be able to send."""
    force: bool = False
    """Use a port of this host even if it carries the default route."""
    stamps: WantedStamps = "best"
    addresses: tuple[str, ...] = ()
    """The tester's own IP address or range at each port; none: those that the ports have."""
    gateways: tuple[str, ...] = ()
    """The DUT's IP address at the first port, the second and so on."""
    filters: int | None = None
    """How many filters the device has, according to the user."""
    cable_m: float | None = None
    """Length of the cables of a simulated device; None: its own."""
    seed: int = DEFAULT
    """The random seed of an instrument's model."""
    receiver: str | None = None
    """The host at which the last port is; None: this one."""
    clock: str | None = None
    """The PTP master by which the clocks of both hosts are related."""
    tag_bytes: int = 0
    """What of each frame is a VLAN tag, which no MTU counts."""
    held: Mapping[object, Claim] = field(default_factory=dict)
    """The interfaces of the testbed that this one will replace, by their places: they stay claimed."""

    def check_apart(self, places: Sequence[object], names: Sequence[str]) -> None:
        """Raises PlanError if two of the ports are the same; `names` are for the message."""
        for number, place in enumerate(places):
            if place in places[:number]:
                raise PlanError(
                    self.ports[number].field, f"is {names[number]}, which is given twice", "use another port"
                )


@dataclass(frozen=True)
class WantedTraffic:
    """Which ports send to which, and what. Without `contents`, only flows that define their frames are sent."""

    pairs: tuple[tuple[int, int], ...]
    contents: tuple[Content, ...] = ()
    seed: int = DEFAULT
    modifiers: tuple[Modifying, ...] = ()
    """Frames beside the test frames (RFC 2544 §11)."""
    networks: int = 1
    """Destination networks behind the receiving port (RFC 2544 §12)."""
    changes: bool = False
    """Whether trials may compare the headers of every frame that arrives."""
    why_lost: bool = False
    """Whether trials tell where this host's kernel dropped frames."""
    why_late: bool = False
    """Whether they tell where in it slow ones were."""
    connection_bytes: int = 0
    """Of the frames that open or answer all connections of a trial; 0: none is opened."""
    flow_bytes: int = 0
    """Of all different frames of all flows of a trial, which then share one room of that size; 0: each port has the
    room that it has."""
    listening: tuple[int, ...] = ()
    """Ports that receive although no frame is meant for them."""
    frames_every: int = 1
    """Where rows of single frames are kept: one in so many frames that arrive whole."""
    frame_bytes: tuple[int, ...] = ()
    """Sizes of trials that send all contents on all pairs; their frames are checked before any trial."""

    def on(self, routes: Sequence[Route]) -> Traffic:
        """The traffic on these routes. Raises PlanError for contents that cannot have the sizes."""
        contents = self.contents or (_NAMED_BY_FLOWS,)
        made = Traffic(routes, contents, self.seed, self.modifiers, self.listening, self.flow_bytes)
        made.check(self.frame_bytes)
        return made
