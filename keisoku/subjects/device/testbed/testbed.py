"""The interface of every tester to a plan or an OTG configuration: its ports, and an engine on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from keisoku.errors import PlanError
from keisoku.ground.frame.host_range import HostRange
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.testbed.requirements import WantedTraffic

if TYPE_CHECKING:
    from keisoku.ground.host.claim import Claim  # sockets, which few testbeds need


class Testbed(ABC):
    """Ports have indices in the order in which they were asked for. An engine is closed before the next one is opened,
    and before the testbed is.

    Methods that are not abstract suit most testers; a variant overrides the others.
    """

    captures = False
    """Whether frames pass this host, so that they can be captured."""
    has_hosts = False
    """Whether the tester can have hosts at the ports, with addresses of their own."""
    returns = False
    """Whether a port may receive what it sends, by way of the device."""
    counts_flows_live = True
    """Whether single flows are counted, and their first and last frames timed, while they run."""
    drain_ns = NS_PER_S // 2
    """How long frames may still arrive after the last one was sent."""

    @property
    def claims(self) -> Mapping[object, Claim]:
        """The interfaces that it holds, by their places."""
        return {}

    @property
    def remarks(self) -> Sequence[str]:
        """What the user is to be told of how the ports were opened; complete once an engine is open."""
        return ()

    @abstractmethod
    def line_rate(self, port: int) -> float | None:
        """In bit/s; None where the line has no rate of its own."""

    @abstractmethod
    def mtu_bytes(self, port: int) -> int:
        """MTU of a port: the largest payload of its link layer, in bytes."""

    def interface(self, port: int) -> tuple[str, Path | None] | None:
        """The interface of this host at a port, and its namespace (None: that of this process); None: there is none."""
        return None

    @abstractmethod
    def engine(self, wanted: WantedTraffic, capture: PortCapture | None = None) -> Engine:
        """An engine for this traffic; the caller closes it. Raises PlanError if it cannot send or capture this traffic,
        EngineError if a port or a gateway fails."""

    def link_is_up(self, port: int) -> bool:
        """Whether a port has a carrier now."""
        return True

    def set_link(self, port: int, up: bool) -> None:
        """Sets a port's link down or up. Raises PlanError where this is impossible, EngineError if the link stays
        down."""
        raise PlanError("link", "the tester cannot set its links up or down", "do it at the device's port")

    def answer(self, hosts: Mapping[int, Sequence[HostRange]]) -> None:
        """Answers ARP and neighbour discovery for these hosts, by port, from now on, and for no others."""
        return

    def resolve(self, port: int, host: HostRange, gateway: str) -> str | None:
        """MAC address of a gateway, resolved from a host; None where it need not be resolved.

        Raises EngineError if it does not answer.
        """
        return None

    def close(self) -> None:
        """Leaves the host as it was found; may be called twice."""
        return
