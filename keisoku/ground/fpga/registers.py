"""The FPGA's register map, as fpga/generate_registers.py makes it from registers.rdl: do not edit.

`REGISTERS.memory.control.enable` is a Field, `REGISTERS.memory.control.address` a byte address.
"""

# fmt: off

from keisoku.ground.fpga.register import Field, Memory, Register


class Value32(Register):
    """A register whose only field has 32 bits."""

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


class Value16(Register):
    """A register whose only field has 16 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 16)


class TimeRegisters:
    """Time base and its reference."""

    def __init__(self, base: int = 0) -> None:
        self.control = TimeControl(base + 0x0)
        self.status = TimeStatus(base + 0x4)
        self.set_high = Value16(base + 0x8)
        self.set_low = Value32(base + 0xC)
        self.now_high = Value16(base + 0x10)
        self.now_low = Value32(base + 0x14)
        self.edges = Value32(base + 0x18)
        self.timeout = Value32(base + 0x1C)
        self.mark_number = Value32(base + 0x20)
        self.mark_losses = Value16(base + 0x24)
        self.mark_ticks = Value32(base + 0x28)
        self.mark_high = Value16(base + 0x2C)
        self.mark_low = Value32(base + 0x30)


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


class BitmapRegisters:
    """Bitmap of a port's lost numbers."""

    def __init__(self, base: int = 0) -> None:
        self.first_high = Value16(base + 0x0)
        self.first_low = Value32(base + 0x4)
        self.end_high = Value16(base + 0x8)
        self.end_low = Value32(base + 0xC)


class MemoryRegisters:
    """Ring in the SDRAM."""

    def __init__(self, base: int = 0) -> None:
        self.control = MemoryControl(base + 0x0)
        self.status = MemoryStatus(base + 0x4)
        self.words = Value32(base + 0x8)
        self.capacity = Value32(base + 0xC)
        self.written = Value32(base + 0x10)
        self.taken = Value32(base + 0x14)
        self.dropped = Value32(base + 0x18)
        self.page = Value16(base + 0x1C)
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


class Value10(Register):
    """A register whose only field has 10 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 10)


class Value12(Register):
    """A register whose only field has 12 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 12)


class TransmitRegisters:
    """Generator of a port."""

    def __init__(self, base: int = 0) -> None:
        self.control = TransmitControl(base + 0x0)
        self.status = TransmitStatus(base + 0x4)
        self.last_entry = Value10(base + 0x8)
        self.stream = Value16(base + 0xC)
        self.frames_high = Value16(base + 0x10)
        self.frames_low = Value32(base + 0x14)
        self.burst_frames = Value32(base + 0x18)
        self.interval_bytes = Value32(base + 0x1C)
        self.interval_fraction = Value32(base + 0x20)
        self.start_high = Value16(base + 0x24)
        self.start_low = Value32(base + 0x28)
        self.mailbox_bytes = Value12(base + 0x2C)
        self.sent_frames_high = Value16(base + 0x30)
        self.sent_frames_low = Value32(base + 0x34)
        self.sent_bytes_high = Value16(base + 0x38)
        self.sent_bytes_low = Value32(base + 0x3C)
        self.signed_high = Value16(base + 0x40)
        self.signed_low = Value32(base + 0x44)
        self.first_high = Value16(base + 0x48)
        self.first_low = Value32(base + 0x4C)
        self.last_high = Value16(base + 0x50)
        self.last_low = Value32(base + 0x54)
        self.lag = Value32(base + 0x58)


class ReceiveControl(Register):
    """Actions, each done when a one is written."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.clear = Field(address, 0, 1)
        self.taken = Field(address, 1, 1)


class Bytes8(Register):
    """A register whose only field has 8 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.bytes = Field(address, 0, 8)


class Bytes15(Register):
    """A register whose only field has 15 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.bytes = Field(address, 0, 15)


class Bytes11(Register):
    """A register whose only field has 11 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.bytes = Field(address, 0, 11)


class Compare1(Register):
    """A register whose only field has 1 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.compare = Field(address, 0, 1)


class Digest32(Register):
    """A register whose only field has 32 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.digest = Field(address, 0, 32)


class Count32(Register):
    """A register whose only field has 32 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 32)


class Count16(Register):
    """A register whose only field has 16 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.count = Field(address, 0, 16)


class ReceiveCounts:
    """What a port received, since control.clear."""

    def __init__(self, base: int = 0) -> None:
        self.frames_low = Count32(base + 0x0)
        self.frames_high = Count16(base + 0x4)
        self.bytes_low = Count32(base + 0x8)
        self.bytes_high = Count16(base + 0xC)
        self.fcs_bad = Count32(base + 0x10)
        self.misaligned = Count32(base + 0x14)
        self.undersize = Count32(base + 0x18)
        self.oversize = Count32(base + 0x1C)
        self.fragments = Count32(base + 0x20)
        self.jabbers = Count32(base + 0x24)
        self.lost_arrivals = Count32(base + 0x28)
        self.mailbox_missed = Count32(base + 0x2C)


class ReceiveRegisters:
    """Receiver of a port."""

    def __init__(self, base: int = 0) -> None:
        self.control = ReceiveControl(base + 0x0)
        self.checked_from = Bytes8(base + 0x4)
        self.max_frame_bytes = Bytes15(base + 0x8)
        self.mailbox = Bytes11(base + 0xC)
        self.headers = Compare1(base + 0x10)
        self.expected_header = Digest32(base + 0x14)
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


class AccountFrameBytes(Register):
    """Bytes of an intact frame with its FCS."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.least = Field(address, 0, 15)
        self.most = Field(address, 16, 15)


class Value5(Register):
    """A register whose only field has 5 bits."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.value = Field(address, 0, 5)


class AccountTrigger(Register):
    """What fires the trigger."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.on_skip = Field(address, 0, 1)
        self.on_latency = Field(address, 1, 1)


class AccountLatencies:
    """Latencies of the bank that is not counted in."""

    def __init__(self, base: int = 0) -> None:
        self.count_low = Value32(base + 0x0)
        self.count_high = Value32(base + 0x4)
        self.least_low = Value32(base + 0x8)
        self.least_high = Value32(base + 0xC)
        self.most_low = Value32(base + 0x10)
        self.most_high = Value32(base + 0x14)
        self.sum_low = Value32(base + 0x18)
        self.sum_high = Value32(base + 0x1C)
        self.squares_low = Value32(base + 0x20)
        self.squares_middle = Value32(base + 0x24)
        self.squares_high = Value32(base + 0x28)


class AccountCounts:
    """What arrived and what became of it."""

    def __init__(self, base: int = 0) -> None:
        self.received_low = Value32(base + 0x0)
        self.received_high = Value32(base + 0x4)
        self.first_low = Value32(base + 0x8)
        self.first_high = Value32(base + 0xC)
        self.duplicated_low = Value32(base + 0x10)
        self.duplicated_high = Value32(base + 0x14)
        self.reordered_low = Value32(base + 0x18)
        self.reordered_high = Value32(base + 0x1C)
        self.late_low = Value32(base + 0x20)
        self.late_high = Value32(base + 0x24)
        self.untracked_low = Value32(base + 0x28)
        self.untracked_high = Value32(base + 0x2C)
        self.corrupt_low = Value32(base + 0x30)
        self.corrupt_high = Value32(base + 0x34)
        self.foreign_low = Value32(base + 0x38)
        self.foreign_high = Value32(base + 0x3C)
        self.other_low = Value32(base + 0x40)
        self.other_high = Value32(base + 0x44)
        self.lost_low = Value32(base + 0x48)
        self.lost_high = Value32(base + 0x4C)
        self.dropped_low = Value32(base + 0x50)
        self.dropped_high = Value32(base + 0x54)


class AccountRegisters:
    """Accounting of a port's arrivals."""

    def __init__(self, base: int = 0) -> None:
        self.control = AccountControl(base + 0x0)
        self.status = AccountStatus(base + 0x4)
        self.stream = Value16(base + 0x8)
        self.frame_bytes = AccountFrameBytes(base + 0xC)
        self.planned_low = Value32(base + 0x10)
        self.planned_high = Value16(base + 0x14)
        self.offered_low = Value32(base + 0x18)
        self.offered_high = Value16(base + 0x1C)
        self.origin_ns = Value32(base + 0x20)
        self.shift = Value5(base + 0x24)
        self.sample_every = Value32(base + 0x28)
        self.trigger = AccountTrigger(base + 0x2C)
        self.trigger_latency_ns = Value32(base + 0x30)
        self.trigger_frames = Value32(base + 0x34)
        self.expected_low = Value32(base + 0x38)
        self.expected_high = Value32(base + 0x3C)
        self.last_low = Value32(base + 0x40)
        self.last_high = Value32(base + 0x44)
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


class Count12(Register):
    """A register whose only field has 12 bits."""

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
        self.rx_clock = Count12(base + 0xC)
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
        self.id = Value32(base + 0x0)
        self.version = Value32(base + 0x4)
        self.build = Value32(base + 0x8)
        self.ports = Value32(base + 0xC)
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
