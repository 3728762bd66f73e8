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


class TimeControl(Register):
    """Control."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.capture = Field(address, 0, 1)
        self.set = Field(address, 1, 1)
        self.restart = Field(address, 2, 1)
        self.take = Field(address, 3, 1)
        self.ten_mhz = Field(address, 4, 1)


class TimeStatus(Register):
    """Status."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.mark = Field(address, 0, 1)
        self.present = Field(address, 1, 1)
        self.captured = Field(address, 2, 1)


class TimeSetHigh(Register):
    """Time to set, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TimeSetLow(Register):
    """Time to set, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TimeNowHigh(Register):
    """Captured time, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TimeNowLow(Register):
    """Captured time, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TimeEdges(Register):
    """Edges of the reference from one mark to the next; 0 turns the reference off."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TimeTimeout(Register):
    """Ticks without an edge by which the reference is lost."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TimeMarkNumber(Register):
    """Mark: its number since restart."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TimeMarkLosses(Register):
    """Mark: losses of the reference before it, since restart."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TimeMarkTicks(Register):
    """Mark: ticks of the time base since the one before, at most 2^32 - 1."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TimeMarkHigh(Register):
    """Mark: its time, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TimeMarkLow(Register):
    """Mark: its time, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TimeRegisters:
    """Time base and its reference."""

    def __init__(self, base: int = 0) -> None:
        self.control = TimeControl(base + 0x0)
        self.status = TimeStatus(base + 0x4)
        self.set_high = TimeSetHigh(base + 0x8)
        self.set_low = TimeSetLow(base + 0xC)
        self.now_high = TimeNowHigh(base + 0x10)
        self.now_low = TimeNowLow(base + 0x14)
        self.edges = TimeEdges(base + 0x18)
        self.timeout = TimeTimeout(base + 0x1C)
        self.mark_number = TimeMarkNumber(base + 0x20)
        self.mark_losses = TimeMarkLosses(base + 0x24)
        self.mark_ticks = TimeMarkTicks(base + 0x28)
        self.mark_high = TimeMarkHigh(base + 0x2C)
        self.mark_low = TimeMarkLow(base + 0x30)


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


class ReceiveControl(Register):
    """Actions, each done when a one is written."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.clear = Field(address, 0, 1)
        self.taken = Field(address, 1, 1)


class ReceiveCheckedFrom(Register):
    """First byte of the frames' checked region."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.bytes = Field(address, 0, 8)


class ReceiveMaxFrameBytes(Register):
    """Largest frame that is not counted as oversize, FCS included."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.bytes = Field(address, 0, 15)


class ReceiveMailbox(Register):
    """The frame in the mailbox."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.bytes = Field(address, 0, 11)


class ReceiveFramesLow(Register):
    """Frames, good or bad, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveFramesHigh(Register):
    """Frames, good or bad, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 16)


class ReceiveBytesLow(Register):
    """Bytes of these, FCS included, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveBytesHigh(Register):
    """Bytes of these, FCS included, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 16)


class ReceiveFcsBad(Register):
    """Frames with a wrong FCS, with an error of the PHY, or cut in the middle of a byte."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveMisaligned(Register):
    """Of these, cut in the middle of a byte."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveUndersize(Register):
    """Frames of less than 64 byte with a right FCS."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveOversize(Register):
    """Frames of more than max_frame_bytes with a right FCS."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveFragments(Register):
    """Frames of less than 64 byte in fcs_bad."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveJabbers(Register):
    """Frames of more than max_frame_bytes in fcs_bad."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveLostArrivals(Register):
    """Frames that no other count knows of."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveMailboxMissed(Register):
    """Frames for the mailbox that found it full."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveRegisters:
    """Receiver of a port."""

    def __init__(self, base: int = 0) -> None:
        self.control = ReceiveControl(base + 0x0)
        self.checked_from = ReceiveCheckedFrom(base + 0x4)
        self.max_frame_bytes = ReceiveMaxFrameBytes(base + 0x8)
        self.mailbox = ReceiveMailbox(base + 0xC)
        self.frames_low = ReceiveFramesLow(base + 0x10)
        self.frames_high = ReceiveFramesHigh(base + 0x14)
        self.bytes_low = ReceiveBytesLow(base + 0x18)
        self.bytes_high = ReceiveBytesHigh(base + 0x1C)
        self.fcs_bad = ReceiveFcsBad(base + 0x20)
        self.misaligned = ReceiveMisaligned(base + 0x24)
        self.undersize = ReceiveUndersize(base + 0x28)
        self.oversize = ReceiveOversize(base + 0x2C)
        self.fragments = ReceiveFragments(base + 0x30)
        self.jabbers = ReceiveJabbers(base + 0x34)
        self.lost_arrivals = ReceiveLostArrivals(base + 0x38)
        self.mailbox_missed = ReceiveMailboxMissed(base + 0x3C)


class PortRegisters:
    """A port."""

    def __init__(self, base: int = 0) -> None:
        self.receive = ReceiveRegisters(base + 0x100)


class Registers:
    """keisoku instrument."""

    def __init__(self, base: int = 0) -> None:
        self.id = Id(base + 0x0)
        self.version = Version(base + 0x4)
        self.build = Build(base + 0x8)
        self.ports = Ports(base + 0xC)
        self.time_base = TimeRegisters(base + 0x40)
        self.memory = MemoryRegisters(base + 0x80)
        self.port = (
            PortRegisters(base + 0x1000),
            PortRegisters(base + 0x2000),
        )
        self.mailbox = (Memory(base + 0x14000, 512), Memory(base + 0x24000, 512),)
        self.window = Memory(base + 0x40000, 1024)


REGISTERS = Registers()
