"""The FPGA's register map, as fpga/generate_registers.py makes it from registers.rdl: do not edit.

`REGISTERS.memory.control.enable` is a Field, `REGISTERS.memory.control.address` a byte address.
"""

# fmt: off

from keisoku.ground.fpga.register import Field, Memory, Register


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
    """Mark: ticks of the time base since the one before; 2^32 - 1 if more or not known."""

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


class ReceiveHeaders(Register):
    """Headers that are compared."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.compare = Field(address, 0, 1)


class ReceiveExpectedHeader(Register):
    """The header that is expected."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.digest = Field(address, 0, 32)


class ReceiveCountsFramesLow(Register):
    """Frames, good or bad, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCountsFramesHigh(Register):
    """Frames, good or bad, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 16)


class ReceiveCountsBytesLow(Register):
    """Bytes of these, FCS included, bits 31..0."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCountsBytesHigh(Register):
    """Bytes of these, FCS included, bits 47..32."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 16)


class ReceiveCountsFcsBad(Register):
    """Frames with a wrong FCS, with an error of the PHY, or cut in the middle of a byte."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCountsMisaligned(Register):
    """Of these, cut in the middle of a byte."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCountsUndersize(Register):
    """Frames of less than 64 byte with a right FCS."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCountsOversize(Register):
    """Frames of more than max_frame_bytes with a right FCS."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCountsFragments(Register):
    """Frames of less than 64 byte in fcs_bad."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCountsJabbers(Register):
    """Frames of more than max_frame_bytes in fcs_bad."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCountsLostArrivals(Register):
    """Frames that no other count knows of."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCountsMailboxMissed(Register):
    """Frames for the mailbox that found it full."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class ReceiveCounts:
    """What a port received, since control.clear."""

    def __init__(self, base: int = 0) -> None:
        self.frames_low = ReceiveCountsFramesLow(base + 0x0)
        self.frames_high = ReceiveCountsFramesHigh(base + 0x4)
        self.bytes_low = ReceiveCountsBytesLow(base + 0x8)
        self.bytes_high = ReceiveCountsBytesHigh(base + 0xC)
        self.fcs_bad = ReceiveCountsFcsBad(base + 0x10)
        self.misaligned = ReceiveCountsMisaligned(base + 0x14)
        self.undersize = ReceiveCountsUndersize(base + 0x18)
        self.oversize = ReceiveCountsOversize(base + 0x1C)
        self.fragments = ReceiveCountsFragments(base + 0x20)
        self.jabbers = ReceiveCountsJabbers(base + 0x24)
        self.lost_arrivals = ReceiveCountsLostArrivals(base + 0x28)
        self.mailbox_missed = ReceiveCountsMailboxMissed(base + 0x2C)


class ReceiveRegisters:
    """Receiver of a port."""

    def __init__(self, base: int = 0) -> None:
        self.control = ReceiveControl(base + 0x0)
        self.checked_from = ReceiveCheckedFrom(base + 0x4)
        self.max_frame_bytes = ReceiveMaxFrameBytes(base + 0x8)
        self.mailbox = ReceiveMailbox(base + 0xC)
        self.headers = ReceiveHeaders(base + 0x10)
        self.expected_header = ReceiveExpectedHeader(base + 0x14)
        self.counts = ReceiveCounts(base + 0x40)


class AccountControl(Register):
    """Commands."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.reset = Field(address, 0, 1)
        self.swap = Field(address, 1, 1)
        self.flush = Field(address, 2, 1)


class AccountStatus(Register):
    """State."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.busy = Field(address, 0, 1)
        self.settled = Field(address, 1, 1)
        self.finished = Field(address, 2, 1)
        self.bank = Field(address, 3, 1)
        self.triggered = Field(address, 4, 1)


class AccountStream(Register):
    """Stream of the trial."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class AccountFrameBytes(Register):
    """Bytes of an intact frame with its FCS."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.least = Field(address, 0, 15)
        self.most = Field(address, 16, 15)


class AccountSetting(Register):
    """A word that the host sets."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class AccountPlannedHigh(Register):
    """Frames that the trial may send; greater numbers are foreign."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class AccountOfferedHigh(Register):
    """Frames that were sent, for the flush."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class AccountShift(Register):
    """A bin of the histogram is 2^value ns wide."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 5)


class AccountTrigger(Register):
    """What fires the trigger."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.on_skip = Field(address, 0, 1)
        self.on_latency = Field(address, 1, 1)


class AccountFigure(Register):
    """A word of what was counted."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class AccountLatenciesFigure(Register):
    """A word of what was counted."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class AccountLatencies:
    """Latencies of the bank that is not counted in."""

    def __init__(self, base: int = 0) -> None:
        self.count_low = AccountLatenciesFigure(base + 0x0)
        self.count_high = AccountLatenciesFigure(base + 0x4)
        self.least_low = AccountLatenciesFigure(base + 0x8)
        self.least_high = AccountLatenciesFigure(base + 0xC)
        self.most_low = AccountLatenciesFigure(base + 0x10)
        self.most_high = AccountLatenciesFigure(base + 0x14)
        self.sum_low = AccountLatenciesFigure(base + 0x18)
        self.sum_high = AccountLatenciesFigure(base + 0x1C)
        self.squares_low = AccountLatenciesFigure(base + 0x20)
        self.squares_middle = AccountLatenciesFigure(base + 0x24)
        self.squares_high = AccountLatenciesFigure(base + 0x28)


class AccountCountsFigure(Register):
    """A word of what was counted."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 32)


class AccountCounts:
    """What arrived and what became of it."""

    def __init__(self, base: int = 0) -> None:
        self.received_low = AccountCountsFigure(base + 0x0)
        self.received_high = AccountCountsFigure(base + 0x4)
        self.first_low = AccountCountsFigure(base + 0x8)
        self.first_high = AccountCountsFigure(base + 0xC)
        self.duplicated_low = AccountCountsFigure(base + 0x10)
        self.duplicated_high = AccountCountsFigure(base + 0x14)
        self.reordered_low = AccountCountsFigure(base + 0x18)
        self.reordered_high = AccountCountsFigure(base + 0x1C)
        self.late_low = AccountCountsFigure(base + 0x20)
        self.late_high = AccountCountsFigure(base + 0x24)
        self.untracked_low = AccountCountsFigure(base + 0x28)
        self.untracked_high = AccountCountsFigure(base + 0x2C)
        self.corrupt_low = AccountCountsFigure(base + 0x30)
        self.corrupt_high = AccountCountsFigure(base + 0x34)
        self.foreign_low = AccountCountsFigure(base + 0x38)
        self.foreign_high = AccountCountsFigure(base + 0x3C)
        self.other_low = AccountCountsFigure(base + 0x40)
        self.other_high = AccountCountsFigure(base + 0x44)
        self.lost_low = AccountCountsFigure(base + 0x48)
        self.lost_high = AccountCountsFigure(base + 0x4C)
        self.dropped_low = AccountCountsFigure(base + 0x50)
        self.dropped_high = AccountCountsFigure(base + 0x54)


class AccountRegisters:
    """Accounting of a port's arrivals."""

    def __init__(self, base: int = 0) -> None:
        self.control = AccountControl(base + 0x0)
        self.status = AccountStatus(base + 0x4)
        self.stream = AccountStream(base + 0x8)
        self.frame_bytes = AccountFrameBytes(base + 0xC)
        self.planned_low = AccountSetting(base + 0x10)
        self.planned_high = AccountPlannedHigh(base + 0x14)
        self.offered_low = AccountSetting(base + 0x18)
        self.offered_high = AccountOfferedHigh(base + 0x1C)
        self.origin_ns = AccountSetting(base + 0x20)
        self.shift = AccountShift(base + 0x24)
        self.sample_every = AccountSetting(base + 0x28)
        self.trigger = AccountTrigger(base + 0x2C)
        self.trigger_latency_ns = AccountSetting(base + 0x30)
        self.trigger_frames = AccountSetting(base + 0x34)
        self.expected_low = AccountFigure(base + 0x38)
        self.expected_high = AccountFigure(base + 0x3C)
        self.last_low = AccountFigure(base + 0x40)
        self.last_high = AccountFigure(base + 0x44)
        self.latencies = AccountLatencies(base + 0x80)
        self.counts = AccountCounts(base + 0x100)


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
        self.transmit = TransmitRegisters(base + 0x0)
        self.receive = ReceiveRegisters(base + 0x100)
        self.account = AccountRegisters(base + 0x200)
        self.phy = PhyRegisters(base + 0x400)


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
        self.transmit_memory = (Memory(base + 0x10000, 4096), Memory(base + 0x20000, 4096),)
        self.mailbox = (Memory(base + 0x14000, 512), Memory(base + 0x24000, 512),)
        self.histogram = (Memory(base + 0x18000, 4096), Memory(base + 0x28000, 4096),)
        self.window = Memory(base + 0x40000, 1024)


REGISTERS = Registers()
