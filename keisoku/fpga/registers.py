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


class TransmitControl(Register):
    """Commands."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.start = Field(address, 0, 1)
        self.stop = Field(address, 1, 1)
        self.timed = Field(address, 2, 1)
        self.mailbox_send = Field(address, 4, 1)


class TransmitStatus(Register):
    """Status."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.running = Field(address, 0, 1)
        self.waiting = Field(address, 1, 1)
        self.mailbox_busy = Field(address, 4, 1)


class TransmitLastEntry(Register):
    """Last entry of the program; entry 0 follows it."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 10)


class TransmitStream(Register):
    """Stream, for the signatures."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TransmitFramesHigh(Register):
    """Frames to send, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TransmitFramesLow(Register):
    """Frames to send, bits 31..0; with frames_high 0: until it is stopped."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitBurstFrames(Register):
    """Frames from one scheduled start to the next."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitIntervalBytes(Register):
    """From one scheduled start to the next, in byte times."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitIntervalFraction(Register):
    """And 2^-32 byte times."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitStartHigh(Register):
    """When to start, ns modulo 2^48, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TransmitStartLow(Register):
    """When to start, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitMailboxBytes(Register):
    """Bytes of the mailbox's frame before its FCS, 1 to 2048."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 12)


class TransmitSentFramesHigh(Register):
    """Frames sent since start, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TransmitSentFramesLow(Register):
    """Frames sent since start, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitSentBytesHigh(Register):
    """Their bytes with FCS, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TransmitSentBytesLow(Register):
    """Their bytes with FCS, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitSignedHigh(Register):
    """Signatures written, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TransmitSignedLow(Register):
    """Signatures written, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitFirstHigh(Register):
    """Stamp of the first SFD in ns, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TransmitFirstLow(Register):
    """Stamp of the first SFD, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitLastHigh(Register):
    """Stamp of the last SFD in ns, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TransmitLastLow(Register):
    """Stamp of the last SFD, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitLag(Register):
    """Lag."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class TransmitRegisters:
    """Generator of a port."""

    def __init__(self, base: int = 0) -> None:
        self.control = TransmitControl(base + 0x0)
        self.status = TransmitStatus(base + 0x4)
        self.last_entry = TransmitLastEntry(base + 0x8)
        self.stream = TransmitStream(base + 0xC)
        self.frames_high = TransmitFramesHigh(base + 0x10)
        self.frames_low = TransmitFramesLow(base + 0x14)
        self.burst_frames = TransmitBurstFrames(base + 0x18)
        self.interval_bytes = TransmitIntervalBytes(base + 0x1C)
        self.interval_fraction = TransmitIntervalFraction(base + 0x20)
        self.start_high = TransmitStartHigh(base + 0x24)
        self.start_low = TransmitStartLow(base + 0x28)
        self.mailbox_bytes = TransmitMailboxBytes(base + 0x2C)
        self.sent_frames_high = TransmitSentFramesHigh(base + 0x30)
        self.sent_frames_low = TransmitSentFramesLow(base + 0x34)
        self.sent_bytes_high = TransmitSentBytesHigh(base + 0x38)
        self.sent_bytes_low = TransmitSentBytesLow(base + 0x3C)
        self.signed_high = TransmitSignedHigh(base + 0x40)
        self.signed_low = TransmitSignedLow(base + 0x44)
        self.first_high = TransmitFirstHigh(base + 0x48)
        self.first_low = TransmitFirstLow(base + 0x4C)
        self.last_high = TransmitLastHigh(base + 0x50)
        self.last_low = TransmitLastLow(base + 0x54)
        self.lag = TransmitLag(base + 0x58)


class PortRegisters:
    """A port."""

    def __init__(self, base: int = 0) -> None:
        self.transmit = TransmitRegisters(base + 0x0)


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
        self.transmit_memory = (Memory(base + 0x10000, 4096), Memory(base + 0x20000, 4096),)
        self.window = Memory(base + 0x40000, 1024)


REGISTERS = Registers()
