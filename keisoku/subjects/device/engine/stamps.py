"""Which timestamps a port's driver offers, and which of them a trial uses, with the reason.

The facts come from `ethtool` and `xdp_features`. It never chooses a timestamp that the engine cannot take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from keisoku.errors import PlanError
from keisoku.ground.host.ethtool import Timestamping
from keisoku.ground.host.xdp_features import XdpFeatures
from keisoku.language import join_texts, phrase

if TYPE_CHECKING:  # `keisoku ports` needs no records, which load numpy
    from keisoku.subjects.device.record.interference import PortEngine

# include/uapi/linux/net_tstamp.h
_TX_HARDWARE, _TX_SOFTWARE, _RX_HARDWARE, _RX_SOFTWARE = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_SOFTWARE, _RAW_HARDWARE = 1 << 4, 1 << 6
_TX_ON, _FILTER_ALL = 1 << 1, 1 << 1

Wanted: TypeAlias = Literal["best", "software", "hardware"]


@dataclass(frozen=True)
class StampOffer:
    """Timestamps that a driver offers for every frame, not only for PTP messages."""

    rx_hardware_xdp: bool = False
    """To an XDP program, as receive metadata."""
    tx_hardware_xsk: bool = False
    """To an AF_XDP socket, at transmit completion."""
    launch_time: bool = False
    """The driver can send each frame of an AF_XDP socket at a given time (launch time)."""
    rx_hardware_socket: bool = False
    tx_hardware_socket: bool = False
    rx_software: bool = False
    tx_software: bool = False
    phc_index: int | None = None
    """Number of the PTP hardware clock of the hardware timestamps, /dev/ptpN."""
    rx_hardware_ptp_only: bool = False
    """The hardware timestamps some frames, but not all."""

    def text(self) -> str:
        """For a column: 'software (rx, tx)' or 'hardware (rx, tx, XDP rx) on ptp0; software (rx, tx)'."""
        hardware = {
            "rx": self.rx_hardware_socket,
            "tx": self.tx_hardware_socket,
            "XDP rx": self.rx_hardware_xdp,
            "AF_XDP tx": self.tx_hardware_xsk,
            "launch time": self.launch_time,
        }
        software = {"rx": self.rx_software, "tx": self.tx_software}
        kinds = [
            f"{kind} ({', '.join(name for name, offered in names.items() if offered)})"
            for kind, names in (("hardware", hardware), ("software", software))
            if any(names.values())
        ]
        if kinds and any(hardware.values()) and self.phc_index is not None:
            kinds[0] += f" on ptp{self.phc_index}"
        return join_texts("; ", kinds) or "the tester only"


@dataclass(frozen=True)
class StampChoice:
    """Where the frames of a sending port and of a receiving port are timestamped."""

    transmit: Literal["program", "user space"]
    receive: Literal["program", "kernel", "hardware"]
    reason: str
    """Why hardware timestamps are not used, or how they are converted; one clause."""
    asked: bool = False
    """The user asked for hardware timestamps, so no others may take their place."""
    kernel_instead: bool = False
    """If the hardware stamps no frame at all, the kernel's timestamps of a trial are accepted."""

    @property
    def same_clock(self) -> bool:
        """True if both are on CLOCK_MONOTONIC, or differ from it by a constant that the kernel knows."""
        return self.receive != "hardware"


def offered(timestamping: Timestamping | None, features: XdpFeatures | None) -> StampOffer:
    """The offer according to the kernel's answers; empty where the kernel does not answer."""
    known = timestamping or Timestamping(0, 0, 0, None)
    xdp = features or XdpFeatures()

    def can(*bits: int) -> bool:
        return all(known.capabilities & bit for bit in bits)

    receives = can(_RX_HARDWARE, _RAW_HARDWARE) and known.phc_index is not None
    every_frame = bool(known.receive_filters & _FILTER_ALL)
    return StampOffer(
        rx_hardware_xdp="timestamp" in xdp.receive_metadata and receives and every_frame,
        tx_hardware_xsk="transmit timestamp" in xdp.socket,
        launch_time="launch time" in xdp.socket,
        rx_hardware_socket=receives and every_frame,
        tx_hardware_socket=can(_TX_HARDWARE, _RAW_HARDWARE) and bool(known.transmit_types & _TX_ON),
        rx_software=can(_RX_SOFTWARE, _SOFTWARE),
        tx_software=can(_TX_SOFTWARE, _SOFTWARE),
        phc_index=known.phc_index,
        rx_hardware_ptp_only=receives and not every_frame,
    )


def choose(offer: StampOffer, engine: PortEngine, wanted: Wanted = "best") -> StampChoice:
    """The timestamps that a port of this engine uses.

    Frames carry their transmit timestamp, so it is always taken by software before they are sent. Raises PlanError
    naming 'stamps' if hardware is asked for and the driver or the engine has none.
    """
    if wanted == "software":
        refusal = phrase("software timestamps were asked for")
    elif engine != "packet" and offer.rx_hardware_xdp:
        refusal = phrase(
            "the driver gives timestamps to XDP programs, but this tester cannot bind its program to a device"
        )
    elif offer.rx_hardware_ptp_only:
        refusal = phrase("the hardware timestamps PTP messages only")
    elif not offer.rx_hardware_socket:
        refusal = phrase("the driver offers no hardware timestamps")
    elif engine != "packet":
        refusal = phrase("the driver offers hardware timestamps to sockets only, not to XDP programs")
    else:
        how = f"converted from ptp{offer.phc_index} to CLOCK_MONOTONIC"
        return StampChoice("user space", "hardware", how, asked=wanted == "hardware")
    if wanted == "hardware":
        remedy = (
            "use packet:INTERFACE" if offer.rx_hardware_socket else "use a port with hardware timestamps of every frame"
        )
        raise PlanError("stamps", refusal, f"{remedy}, or leave out --stamps hardware")
    if engine == "xdp":
        return StampChoice("program", "program", refusal)
    if engine == "afxdp":
        return StampChoice("user space", "program", refusal)
    return StampChoice("user space", "kernel", refusal)
