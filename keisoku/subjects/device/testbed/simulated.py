"""Ports of a simulated device, in virtual time."""

from __future__ import annotations

from keisoku.errors import PlanError
from keisoku.ground.frame.rates import HEADER_AND_FCS_BYTES
from keisoku.ground.simulated_device.device import find_device
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.engine.simulated import MAX_FRAME_BYTES, SimulatedEngine, check_ports, routes_between
from keisoku.subjects.device.testbed.device_port import device_and_numbers
from keisoku.subjects.device.testbed.requirements import WantedTestbed, WantedTraffic
from keisoku.subjects.device.testbed.testbed import Testbed


class SimulatedTestbed(Testbed):
    """The device knows every address, so no address is ever resolved."""

    has_hosts = True

    def __init__(self, wanted: WantedTestbed) -> None:
        name, self._numbers = device_and_numbers(wanted)
        if wanted.stamps != "best":
            raise PlanError("stamps", "a simulated device has exact timestamps", "leave it out")
        if wanted.engine is not None:
            raise PlanError("engine", "a simulated device has no ports of the kernel", "leave it out, or use a lab")
        device = find_device(name.partition(":")[2])
        self._device = device if wanted.cable_m is None else device.with_cable(wanted.cable_m)
        check_ports(self._device, self._numbers)

    def line_rate(self, port: int) -> float | None:
        """Its own, in bit/s."""
        return self._device.link_bits_per_second

    def mtu_bytes(self, port: int) -> int:
        """A simulated tester can send larger frames than most devices forward."""
        return MAX_FRAME_BYTES - HEADER_AND_FCS_BYTES

    def set_link(self, port: int, up: bool) -> None:
        """Accepts only up, the state in which the link always is. Raises PlanError for down."""
        if not up:
            raise PlanError("link", "a simulated device's links are always up", "use a lab or real ports")

    def engine(self, wanted: WantedTraffic, capture: PortCapture | None = None) -> SimulatedEngine:
        """No time: virtual time passes as fast as it is computed."""
        return SimulatedEngine(self._device, self._numbers, wanted.on(routes_between(wanted.pairs)))
