"""What every tester offers a plan or an OTG configuration: its ports, and an engine on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from keisoku.device.engine.engine import Engine
from keisoku.device.engine.port_capture import PortCapture
from keisoku.device.record.trial import NS_PER_S
from keisoku.device.testbed.wanted import WantedTraffic
from keisoku.errors import PlanError
from keisoku.frame.host_range import HostRange


class Testbed(ABC):
    """Ports by index, in the order in which they were wanted. An engine is closed before the next, and before this.

    What is not abstract here is true of most testers; a variant says what is different.
    """

    captures = False
    """Whether frames pass this host, so that they can be captured."""
    has_hosts = False
    """Whether the tester can have hosts there, with addresses of their own."""
    counts_flows_live = True
    """Whether single flows are counted, and their first and last frames timed, while they run."""
    drain_ns = NS_PER_S // 2
    """How long frames may be under way after the last was sent."""

    @abstractmethod
    def line_rate(self, port: int) -> float | None:
        """In bit/s; None where the line has no rate of its own."""

    @abstractmethod
    def mtu_bytes(self, port: int) -> int:
        """Of its link layer's payload."""

    @abstractmethod
    def engine(self, wanted: WantedTraffic, capture: PortCapture | None = None) -> Engine:
        """An engine for this traffic; the caller closes it. Raises PlanError for what it cannot send or capture,
        EngineError if a port or a gateway fails."""

    def link_is_up(self, port: int) -> bool:
        """Whether a port has a carrier now."""
        return True

    def set_link(self, port: int, up: bool) -> None:
        """Takes a port's link down, or up again. Raises PlanError where it cannot, EngineError if it stays down."""
        raise PlanError("link", "the tester does not switch its links", "have the device's port do it")

    def answer(self, hosts: Mapping[int, Sequence[HostRange]]) -> None:
        """Answers ARP and neighbour discovery for these hosts, by port, from now on, and for no others."""
        return

    def resolve(self, port: int, host: HostRange, gateway: str) -> str | None:
        """MAC address of a gateway, asked for from a host; None where nobody need be asked.

        Raises EngineError if it does not answer.
        """
        return None

    def close(self) -> None:
        """Leaves the host as it was found; may be called twice."""
        return
