"""The FPGA's register map, as fpga/generate_registers.py makes it from registers.rdl: do not edit.

`REGISTERS.memory.control.enable` is a Field, `REGISTERS.memory.control.address` a byte address.
"""

# fmt: off

from keisoku.fpga.register import Field, Memory, Register


class Id(Register):
    """The letters KEIS."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class Version(Register):
    """Version of this map."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class Build(Register):
    """Build, as the board says."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class Ports(Register):
    """Ports."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class MemoryControl(Register):
    """Control."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.enable = Field(address, 0, 1)
        self.overwrite = Field(address, 1, 1)
        self.clear = Field(address, 2, 1)


class MemoryStatus(Register):
    """Status."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.ready = Field(address, 0, 1)
        self.full = Field(address, 1, 1)
        self.idle = Field(address, 2, 1)
        self.bitmap = Field(address, 4, 2)
        self.bitmap_full = Field(address, 8, 2)


class MemoryWords(Register):
    """Words of 32 bit in the memory."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class MemoryCapacity(Register):
    """Records that the ring holds."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class MemoryWritten(Register):
    """Records written since the last clear, modulo 2^32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class MemoryTaken(Register):
    """Records that the host has read, modulo 2^32: their room may be used again."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class MemoryDropped(Register):
    """Events that had no room, since the last clear."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class MemoryPage(Register):
    """Page of 4 KiB that the window shows."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class BitmapFirstHigh(Register):
    """First number that the bitmap tells of, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class BitmapFirstLow(Register):
    """First number that the bitmap tells of, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class BitmapEndHigh(Register):
    """One after the last number that the bitmap tells of, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class BitmapEndLow(Register):
    """One after the last number that the bitmap tells of, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class BitmapRegisters:
    """Bitmap of a port's lost numbers."""

    def __init__(self, base: int = 0) -> None:
        self.first_high = BitmapFirstHigh(base + 0x0)
        self.first_low = BitmapFirstLow(base + 0x4)
        self.end_high = BitmapEndHigh(base + 0x8)
        self.end_low = BitmapEndLow(base + 0xC)


class MemoryRegisters:
    """Ring in the SDRAM."""

    def __init__(self, base: int = 0) -> None:
        self.control = MemoryControl(base + 0x0)
        self.status = MemoryStatus(base + 0x4)
        self.words = MemoryWords(base + 0x8)
        self.capacity = MemoryCapacity(base + 0xC)
        self.written = MemoryWritten(base + 0x10)
        self.taken = MemoryTaken(base + 0x14)
        self.dropped = MemoryDropped(base + 0x18)
        self.page = MemoryPage(base + 0x1C)
        self.bitmap = (
            BitmapRegisters(base + 0x20),
            BitmapRegisters(base + 0x30),
        )


class PhyStatus(Register):
    """What the PHY says between frames, and the speed in use."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.link = Field(address, 0, 1)
        self.speed = Field(address, 1, 2)
        self.full_duplex = Field(address, 3, 1)
        self.running = Field(address, 8, 2)


class PhyControl(Register):
    """Speed."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.speed = Field(address, 0, 2)
        self.follow = Field(address, 8, 1)


class PhyDelays(Register):
    """Delays of the pins in taps of about 25 ps."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.rx = Field(address, 0, 7)
        self.tx = Field(address, 8, 7)
        self.tx_clock = Field(address, 16, 7)


class PhyRxClock(Register):
    """Receive clock: its periods / 64 within 2^17 periods of 125 MHz."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 12)


class PhyMdio(Register):
    """A request to a PHY by MDIO (IEEE 802.3 clause 22): writing starts it."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.data = Field(address, 0, 16)
        self.register = Field(address, 16, 5)
        self.phy = Field(address, 21, 5)
        self.write = Field(address, 26, 1)


class PhyMdioAnswer(Register):
    """What came of it."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.data = Field(address, 0, 16)
        self.busy = Field(address, 16, 1)
        self.missing = Field(address, 17, 1)


class PhyRegisters:
    """PHY and pins of a port."""

    def __init__(self, base: int = 0) -> None:
        self.status = PhyStatus(base + 0x0)
        self.control = PhyControl(base + 0x4)
        self.delays = PhyDelays(base + 0x8)
        self.rx_clock = PhyRxClock(base + 0xC)
        self.mdio = PhyMdio(base + 0x10)
        self.mdio_answer = PhyMdioAnswer(base + 0x14)


class PortRegisters:
    """A port."""

    def __init__(self, base: int = 0) -> None:
        self.phy = PhyRegisters(base + 0x300)


class Registers:
    """keisoku instrument."""

    def __init__(self, base: int = 0) -> None:
        self.id = Id(base + 0x0)
        self.version = Version(base + 0x4)
        self.build = Build(base + 0x8)
        self.ports = Ports(base + 0xC)
        self.memory = MemoryRegisters(base + 0x80)
        self.port = (
            PortRegisters(base + 0x1000),
            PortRegisters(base + 0x2000),
        )
        self.window = Memory(base + 0x40000, 1024)


REGISTERS = Registers()
