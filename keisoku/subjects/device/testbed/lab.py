"""Ports of a device that keisoku makes in network namespaces."""

from __future__ import annotations

import time
from contextlib import ExitStack

from keisoku.errors import EngineError, PlanError
from keisoku.ground.lab.device.catalogue import find_device
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.passage import Passage
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.virtual_kernel.inside import is_inside
from keisoku.subjects.device.engine.device_events import DeviceEvents
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.engine.stamps import StampOffer, Wanted, choose
from keisoku.subjects.device.engine.traffic import Addressing, Route
from keisoku.subjects.device.engine.wired import WiredEngine
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.plan.uri import is_virtual_lab
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.testbed.device_port import device_and_numbers
from keisoku.subjects.device.testbed.host_port import set_interface
from keisoku.subjects.device.testbed.requirements import WantedTestbed, WantedTraffic
from keisoku.subjects.device.testbed.wired import WiredTestbed

MOST_XDP_BYTES = 3304
"""What the engine xdp sends: a frame is in one page."""
_LINK_S = 3.0
_LINK_LOOK_S = 0.02


class LabTestbed(WiredTestbed):
    """A testbed on an existing lab; `close` removes the lab if it is the testbed's `own`."""

    def __init__(self, wanted: WantedTestbed, lab: Lab, own: bool = False) -> None:
        self._dut, self._numbers = device_and_numbers(wanted)
        self._lab, self._own = lab, own
        self._ends = [lab.ports[number - 1] for number in self._numbers]
        by_xdp = max(wanted.frame_bytes, default=0) <= MOST_XDP_BYTES and not is_inside()
        engine = wanted.engine or ("xdp" if by_xdp else "packet")
        super().__init__([{engine: lab_port(end, engine, wanted.stamps)} for end in self._ends])
        self.resets = lab.reset if lab.device.resets else None
        self.rewrites = lab.rewrite if lab.device.rewrites else None
        self.events = DeviceEvents(lab.device.offered, lab.happen)

    def line_rate(self, port: int) -> float | None:
        """A veth has no rate."""
        return None

    def set_link(self, port: int, up: bool) -> None:
        """The state of its interface."""
        own = self.ports[port]
        set_interface(own.interface, own.namespace, up)
        deadline = time.monotonic() + _LINK_S
        while up and not self.link_is_up(port):
            if time.monotonic() > deadline:
                raise EngineError(f"{own.interface} has no carrier {_LINK_S:g} s after it was set up")
            time.sleep(_LINK_LOOK_S)

    def engine(self, wanted: WantedTraffic, capture: PortCapture | None = None) -> WiredEngine:
        """After the device has its routes to destination networks."""
        if wanted.networks > 1 and self._lab.l3:
            self._lab.lead_networks(self._numbers[wanted.pairs[0][1]], wanted.networks)
        return super().engine(wanted, capture)

    def routes(self, wanted: WantedTraffic) -> list[Route]:
        """Routes through the device; frames that flows define themselves are sent even if it does not forward them."""

        def addressing(transmit: int, receive: int) -> Addressing:
            passage = self._passage(transmit, receive)
            one, other = self._ends[transmit], self._ends[receive]
            ips = {"ipv4": (one.ipv4, other.ipv4), "ipv6": (one.ipv6, other.ipv6)}
            stacks = passage.sent if wanted.contents else {}
            device_ip = one.dut_ipv4 if self._lab.l3 else None
            return Addressing(one.mac, passage.next_hop_mac, other.mac, ips, stacks, device_ip)

        return [
            Route(
                one,
                other,
                addressing(one, other),
                addressing(other, one),
                self._passage(one, other).growth_bytes,
                self._passage(one, other).arrives,
            )
            for one, other in wanted.pairs
        ]

    def context(self) -> dict[str, object]:
        """The device, its programs and its namespaces."""
        _, _, parameters = self._lab.device.name.partition("?")
        title = ", ".join(part for part in (self._lab.device.title, parameters.replace("&", ", ")) if part)
        return {"device": title, "dut": self._dut, "lab": self._lab.context()}

    def _passage(self, transmit: int, receive: int) -> Passage:
        return self._lab.passage(self._numbers[transmit], self._numbers[receive])

    def close(self) -> None:
        """Removes the lab last."""
        super().close()
        if self._own:
            self._lab.close()


def lab_port(end: LabPort, engine: PortEngine, stamps: Wanted = "best") -> WiredPort:
    """A lab's port as an engine opens it. Raises PlanError for hardware timestamps, which a veth does not have."""
    choice = choose(StampOffer(), engine, stamps)
    peer = None
    if end.dut_interface is not None and end.dut_namespace_path is not None:
        peer = end.dut_interface, end.dut_namespace_path
    return WiredPort(engine, end.interface, end.namespace_path, end.mac, end.mtu_bytes, peer, choice)


def open_lab(wanted: WantedTestbed) -> LabTestbed:
    """Makes a testbed on a lab of its own. Raises PlanError for what no lab offers, EngineError if making it fails."""
    name, numbers = device_and_numbers(wanted)
    if is_virtual_lab(name) and not is_inside():
        raise PlanError(
            wanted.ports[0].field, f"{name} is in virtual time, where nothing of this host is", "give --dut"
        )
    device = find_device(name.partition(":")[2], "dut")
    rules = getattr(device, "rules", 0)
    if wanted.filters not in (None, rules):
        remedy = f"use lab:firewall?rules={wanted.filters}" if wanted.filters else "leave it out"
        raise PlanError("filters", f"{device.name} has {rules}, not {wanted.filters}", remedy)
    with ExitStack() as stack:
        testbed = LabTestbed(wanted, stack.enter_context(Lab(device, ports=max(2, *numbers))), own=True)
        stack.pop_all()
        return testbed
