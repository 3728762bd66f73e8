"""What a plan or an OTG configuration wants of a tester. Plain values; opens nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from keisoku.device.engine.traffic import Route, Traffic
from keisoku.device.plan.content import Content
from keisoku.errors import PlanError
from keisoku.frame.modifying import Modifying

if TYPE_CHECKING:
    from keisoku.device.engine.stamps import Wanted as WantedStamps  # it asks the kernel, as few testbeds do

_NAMED_BY_FLOWS = Content(headers="ethernet")
"""Stands for frames that flows name themselves; it is never sent."""


@dataclass(frozen=True)
class WantedPort:
    """A port by its URI: 'xdp:eth1', 'lab:bridge#1', 'sim:gs908e#2', 'fpga:sim#0'."""

    name: str
    field: str
    """What the user must correct where the port cannot be had."""
    receives: bool = True

    @property
    def scheme(self) -> str:
        """What the port's variant of a testbed is found by."""
        return self.name.partition(":")[0]


@dataclass(frozen=True)
class WantedTestbed:
    """Ports in order, and how they are to be opened. Indices of ports are those of this order."""

    ports: tuple[WantedPort, ...]
    device: str | None = None
    """What the user says is between the ports: 'lab:bridge', 'sim:gs908e'."""
    engine: Literal["xdp", "packet"] | None = None
    """How a lab's ports are driven; xdp if not given."""
    frame_bytes: tuple[int, ...] = ()
    """Sizes that ports of this host must be able to send, with FCS."""
    force: bool = False
    """Use a port of this host even if it carries the default route."""
    stamps: WantedStamps = "best"
    addresses: tuple[str, ...] = ()
    """The tester's own IP address or range at each port; none: those that the ports have."""
    gateways: tuple[str, ...] = ()
    """The DUT's IP address at the first port, the second and so on."""
    filters: int | None = None
    """How many filters the device is said to have."""
    cable_m: float | None = None
    """Length of the cables of a simulated device; None: its own."""
    seed: int = 0
    """Of an instrument's model."""

    def check_apart(self, places: Sequence[object], names: Sequence[str]) -> None:
        """Raises PlanError if two of the ports are at one place; `names` are for the sentence."""
        for number, place in enumerate(places):
            if place in places[:number]:
                raise PlanError(self.ports[number].field, f"is {names[number]}, as another one is", "use another port")


@dataclass(frozen=True)
class WantedTraffic:
    """Which ports send to which, and what. Without `contents`, nothing is sent but flows that name their frames."""

    pairs: tuple[tuple[int, int], ...]
    contents: tuple[Content, ...] = ()
    seed: int = 0
    modifiers: tuple[Modifying, ...] = ()
    """Frames beside the test frames (RFC 2544 §11)."""
    networks: int = 1
    """Destination networks behind the receiving port (RFC 2544 §12)."""
    frames_every: int = 1
    """Where single frames are told of, one in so many that arrive whole."""

    def on(self, routes: Sequence[Route]) -> Traffic:
        """The traffic on these routes."""
        return Traffic(routes, self.contents or (_NAMED_BY_FLOWS,), self.seed, self.modifiers)
