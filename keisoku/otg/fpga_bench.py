"""The ports of an FPGA instrument as a configuration's: a board, or its Verilated model with a cable between its ports.

Flows name their ports and headers; the instrument has no hosts here, and no frame of it passes this host.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.device.engine.engine import Engine
from keisoku.device.engine.fpga.engine import FpgaEngine
from keisoku.device.engine.fpga.hosts import FpgaHosts
from keisoku.device.engine.fpga.load import MOST_BYTES
from keisoku.device.engine.fpga.port import PORTS, FpgaAddress
from keisoku.device.engine.port import HEADER_AND_FCS_BYTES
from keisoku.device.engine.port_capture import PortCapture
from keisoku.device.engine.traffic import Traffic
from keisoku.device.plan.content import Content
from keisoku.errors import PlanError
from keisoku.fpga.cable import bare_cable
from keisoku.fpga.instrument import Instrument
from keisoku.otg.bench import Bench, Pairs
from keisoku.otg.device import Address, Interface

_MODEL_SEED = 0
_MODEL_DRAIN_NS = 100_000


class FpgaBench(Bench):
    """Ports by index, of one instrument. Raises EngineError if it does not answer."""

    def __init__(self, addresses: Sequence[FpgaAddress]) -> None:
        self._addresses = list(addresses)
        instrument = self._open()
        try:
            self._rates = [instrument.link_bits_per_second(port) for port in range(PORTS)]
        finally:
            instrument.close()

    def line_rate(self, port: int) -> float | None:
        """As it was when the ports were opened; None without a link, which an engine refuses."""
        return self._rates[self._addresses[port].number]

    def mtu_bytes(self, port: int) -> int:
        """Of the instrument's largest frame."""
        return MOST_BYTES - HEADER_AND_FCS_BYTES

    def link_is_up(self, port: int) -> bool:
        """As it was when the ports were opened: during a trial the instrument is the engine's alone."""
        return self._rates[self._addresses[port].number] is not None

    def set_link(self, port: int, up: bool) -> None:
        """The instrument leaves its PHYs alone."""
        raise PlanError("port.link.state", "the instrument does not switch its links", "have the device's port do it")

    @property
    def captures(self) -> bool:
        """No frame of the instrument passes this host."""
        return False

    @property
    def hosts(self) -> bool:
        """There are none."""
        return False

    @property
    def drain_ns(self) -> int:
        """What passes the model's cable is there at once, and each of its milliseconds takes long to compute."""
        return _MODEL_DRAIN_NS if self._addresses[0].simulated else super().drain_ns

    @property
    def watches(self) -> bool:
        """Generators start and end together, and are told apart at the end."""
        return False

    def engine(self, pairs: Pairs, capture: PortCapture | None = None) -> Engine:
        """Opens the instrument, which the engine lets go of when it is closed."""
        instrument = self._open()
        try:
            ports = [address.number for address in self._addresses]
            simulated = self._addresses[0].simulated
            routes = FpgaHosts(instrument, ports, [], []).routes(pairs)
            context: dict[str, object] = {"device": "a cable" if simulated else "what the ports are plugged into"}
            return FpgaEngine(instrument, ports, Traffic(routes, [Content(headers="ethernet")]), context, simulated)
        except BaseException:
            instrument.close()
            raise

    def answer(self, hosts: Sequence[Interface]) -> None:
        """Nobody is there."""

    def resolve(self, host: Interface, address: Address) -> str | None:
        """Only what a script says itself."""
        return address.gateway_mac

    def close(self) -> None:
        """The instrument is open only while an engine has it."""

    def _open(self) -> Instrument:
        address = self._addresses[0]
        if address.simulated:
            return Instrument.simulated_with(bare_cable(0.0), _MODEL_SEED)
        return Instrument.at(address.target)
