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
    queues: int = 1
    """Receive queues that it can have here."""
    clock: bool = False
    """It has a PTP hardware clock."""
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
    Driver("igb", "igb", 1, native_xdp=True, speed_mbps=1000, resets=True, queues=2, clock=True, stamps="PTP"),
    Driver("e1000e", "e1000e", 2, native_xdp=False, speed_mbps=1000, clock=True, stamps="all"),
    Driver("virtio_net", "virtio-net-pci", 3, native_xdp=True, speed_mbps=None, counts_taken=True),
    Driver("vmxnet3", "vmxnet3", 4, native_xdp=True, speed_mbps=1000, queues=2),
)
BY_NAME = {driver.name: driver for driver in DRIVERS}
