"""Ports of an FPGA instrument: of a board, or of its Verilated model with a simulated DUT or a cable between them."""

from __future__ import annotations

from functools import cached_property

from keisoku.errors import PlanError
from keisoku.ground.fpga.cable import bare_cable, free_running
from keisoku.ground.fpga.instrument import Instrument
from keisoku.ground.frame.rates import HEADER_AND_FCS_BYTES
from keisoku.ground.simulated_device.device import SimulatedDevice, find_device
from keisoku.subjects.device.engine.fpga.engine import FpgaEngine
from keisoku.subjects.device.engine.fpga.load import MOST_BYTES
from keisoku.subjects.device.engine.fpga.port import PORTS, FpgaAddress
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.testbed.fpga_hosts import FpgaHosts
from keisoku.subjects.device.testbed.requirements import WantedTestbed, WantedTraffic
from keisoku.subjects.device.testbed.testbed import Testbed

_MODEL_DRAIN_NS = 100_000


class FpgaTestbed(Testbed):
    """The instrument is open only while an engine uses it. Its frames do not pass this host."""

    counts_flows_live = False
    """Generators start and end together, and are counted separately only at the end."""

    def __init__(self, wanted: WantedTestbed) -> None:
        self._wanted = wanted
        self._addresses = _addresses(wanted)
        if wanted.stamps == "software":
            raise PlanError("stamps", "the instrument always has hardware timestamps", "leave it out")
        if wanted.engine is not None:
            raise PlanError("engine", "the port's name contains the engine", "leave it out")
        self._device = _device(wanted, self._addresses[0].simulated)
        if self._device is not None:
            # Frames pass the model's cable without delay, and each millisecond of the model takes long to compute.
            self.drain_ns = _MODEL_DRAIN_NS

    def line_rate(self, port: int) -> float | None:
        """The rate in bit/s when it was first read; None without a link, which an engine refuses."""
        return self._rates[self._addresses[port].number]

    def mtu_bytes(self, port: int) -> int:
        """MTU for the instrument's largest frame."""
        return MOST_BYTES - HEADER_AND_FCS_BYTES

    def link_is_up(self, port: int) -> bool:
        """The state when rates were first read: during a trial only the engine may use the instrument."""
        return self.line_rate(port) is not None

    def engine(self, wanted: WantedTraffic, capture: PortCapture | None = None) -> FpgaEngine:
        """Opens the instrument, which the engine closes."""
        instrument = self._open()
        try:
            ports = [address.number for address in self._addresses]
            hosts = FpgaHosts(instrument, ports, self._wanted.addresses, self._wanted.gateways)
            traffic, answer, simulated = wanted.on(hosts.routes(wanted)), hosts.answer, self._device is not None
            rewrite = self._device.rewrite if self._device is not None else ()
            own = self._context(), simulated, answer, wanted.frames_every, rewrite
            return FpgaEngine(instrument, ports, traffic, *own)
        except BaseException:
            instrument.close()
            raise

    @cached_property
    def _rates(self) -> list[int | None]:
        instrument = self._open()
        try:
            return [instrument.link_bits_per_second(port) for port in range(PORTS)]
        finally:
            instrument.close()

    def _open(self) -> Instrument:
        if self._device is None:
            return Instrument.connect(self._addresses[0].target)
        return Instrument.simulated_with(self._device, self._wanted.seed)

    def _context(self) -> dict[str, object]:
        device, wanted = self._device, self._wanted
        known = {"dut": wanted.device, "address": wanted.addresses, "gateway": wanted.gateways}
        if device is None:
            return {"device": f"{wanted.ports[0].name} to {wanted.ports[-1].name}", **known}
        between = f"simulated {device.title} between the ports of the instrument's RTL"
        return {"device": between, **known, "model": device.model_dump(mode="json", by_alias=True)}


def _addresses(wanted: WantedTestbed) -> list[FpgaAddress]:
    found = [FpgaAddress.parse(port.name, port.field) for port in wanted.ports]
    for port, address in zip(wanted.ports, found, strict=True):
        if address.target != found[0].target:
            problem = f"{address.target} and {found[0].target} are two instruments without a common clock"
            raise PlanError(port.field, problem, "use both ports of one instrument")
    wanted.check_apart(found, [f"port {address.number}" for address in found])
    return found


def _device(wanted: WantedTestbed, simulated: bool) -> SimulatedDevice | None:
    """The device between the model's ports; None for a board."""
    kind, _, name = (wanted.device or "").partition(":")
    if wanted.device is not None and not (simulated and kind == "sim"):
        remedy = (
            "leave it out: the DUT is the device that the ports are connected to" if not simulated else "use sim:NAME"
        )
        raise PlanError("dut", f"{wanted.device} cannot be between an instrument's ports", remedy)
    if not simulated:
        return None
    if wanted.device is None:
        return bare_cable(wanted.cable_m or 0.0)
    device = free_running(find_device(name))
    return device if wanted.cable_m is None else device.with_cable(wanted.cable_m)
