"""One end of the tester at an interface of this host. Opens nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.link import speed_mbps
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.language import phrase
from keisoku.subjects.device.capture.port import CapturePort
from keisoku.subjects.device.engine.port_counters import Counters, KernelCounters
from keisoku.subjects.device.engine.stamps import StampChoice
from keisoku.subjects.device.record.interference import PortEngine

TRANSMIT_STAMPS = {
    "xdp": phrase("CLOCK_MONOTONIC in BPF"),
    "afxdp": phrase("CLOCK_MONOTONIC before the AF_XDP socket"),
    "packet": phrase("CLOCK_MONOTONIC at the packet socket"),
}
"""The clock of software timestamps, and the point where they are taken."""
RECEIVE_STAMPS = TRANSMIT_STAMPS | {"afxdp": phrase("CLOCK_MONOTONIC in BPF")}
"""A program takes them before a frame goes to its AF_XDP socket."""


@dataclass(frozen=True)
class WiredPort:
    """A port, ready to be opened."""

    engine: PortEngine
    interface: str
    namespace: Path | None
    mac: str
    mtu_bytes: int
    peer: tuple[str, Path] | None = None
    """The lab device's end of the veth, and its namespace."""
    stamps: StampChoice | None = None
    """Where its frames are timestamped, and why; None: in the engine's software."""
    phc: int | None = None
    """Number of the hardware clock of receive timestamps, /dev/ptpN; None: software timestamps."""
    speed_mbps: int | None = None
    """Speed of its link when it was found; None: it has none that is known."""
    removes_tags: bool = False
    """It takes VLAN tags out of received frames (an offload), so that no XDP program sees them."""
    views: bool = False
    """Its program shall compute what changes of frames are told by, which costs a few ns a frame."""
    lots: int = 1
    """How many times 16 MiB of different frames its sender can hold."""
    on_host: bool = True
    """What is behind it works on CPUs of this host."""
    counts_refusals: bool = False
    """Count the XDP frames that its driver has no room for. Not for a veth, where they are the device's losses."""

    def open_counters(self) -> Counters:
        """The kernel's counters of it. Raises EngineError if it is gone."""
        return KernelCounters(self.engine, self.interface, self.namespace, self.peer)

    def check_speed(self) -> None:
        """Raises EngineError if the link has another speed than when the port was found: percentages would be wrong."""
        if self.speed_mbps is None:
            return
        now = run_in_namespace(self.namespace, lambda: speed_mbps(self.interface))
        if now is not None and now != self.speed_mbps:
            raise EngineError(
                f"{self.interface}: the link now runs at {now} Mb/s, and at {self.speed_mbps} Mb/s when the run began; "
                "bring it back to that speed, or start a new run"
            )

    def place(self, capture_bytes: int = 0) -> dict[str, object]:
        """As `core/src/port/opening.rs` reads it; `capture_bytes` of each frame are kept for a capture."""
        namespace = None if self.namespace is None else str(self.namespace)
        return {
            "engine": self.engine,
            "interface": self.interface,
            "namespace": namespace,
            "capture_bytes": capture_bytes,
            "phc": self.phc,
            "removes_tags": self.removes_tags,
            "views": self.views,
            "lots": self.lots,
            "counts_refusals": self.counts_refusals,
        }

    @property
    def receive_stamp(self) -> str:
        """Clock and point of the timestamps; it identifies a calibration."""
        if self.phc is None:
            return RECEIVE_STAMPS[self.engine]
        return f"hardware clock ptp{self.phc} at the port, converted to CLOCK_MONOTONIC"

    def captured(self, transmits: bool, receives: bool) -> CapturePort:
        """As it appears in a capture."""
        duties = [duty for duty, has in (("transmits", transmits), ("receives", receives)) if has]
        return CapturePort(self.interface, self.namespace, " and ".join(duties))
