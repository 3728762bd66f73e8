"""The drivers of the guest's ports, and what each is known to offer: the truth that cases compare with."""

from __future__ import annotations

from dataclasses import dataclass

ENDS = 2


@dataclass(frozen=True)
class Driver:
    """A Linux driver, and the emulated card that it drives. Each has two ports, which a hub of QEMU joins."""

    name: str
    """As the kernel calls the driver."""
    model: str
    """As QEMU calls the card."""
    number: int
    native_xdp: bool
    """It runs XDP programs itself; without this it cannot send XDP frames."""
    speed_mbps: int | None
    """None: the driver says that it does not know."""
    resets: bool = False
    """Attaching an XDP program resets the link."""
    counts_taken: bool = False
    """Frames that an XDP program takes are among `rx_dropped`."""
    one_queue: str = ""
    """Why all frames come by one receive queue here; empty: RSS spreads streams over two."""
    clock: float | None = None
    """The true rate of its PTP hardware clock here, against the host's time; None: it has no such clock."""
    stamps: str = "none"
    """Received frames that it offers to stamp: none, PTP or all."""
    options: str = ""
    """Of the card, for QEMU."""

    def port(self, end: int) -> str:
        """The interface's name."""
        return f"{self.model.removesuffix('-net-pci')}{end}"

    def mac(self, end: int) -> str:
        """By which the guest finds the interface, whatever its name is."""
        return f"52:54:00:12:{self.number:02x}:{end:02x}"


DRIVERS = (
    Driver("igb", "igb", 1, native_xdp=True, speed_mbps=1000, resets=True, clock=1.0, stamps="PTP"),
    # QEMU steps all Intel clocks every 16 ns; by what the driver tells the card, an 82574L steps every 40 ns.
    Driver(
        "e1000e", "e1000e", 2, native_xdp=False, speed_mbps=1000, clock=2.5, stamps="all",
        one_queue="the driver gives an 82574L one receive queue",
    ),
    Driver(
        "virtio_net", "virtio-net-pci", 3, native_xdp=True, speed_mbps=None, counts_taken=True,
        one_queue="QEMU's hub, which is the cable, has one queue",
    ),
    Driver(
        "vmxnet3", "vmxnet3", 4, native_xdp=True, speed_mbps=1000,
        one_queue="QEMU's card has no RSS and puts all frames into its first queue",
    ),
)  # fmt: skip
BY_NAME = {driver.name: driver for driver in DRIVERS}
