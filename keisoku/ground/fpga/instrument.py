"""An instrument by its registers: programs for its generators, settings and counts of its receivers, its events.

The same for a board and for the Verilated model. It decides nothing about trials. One thread may use it at a time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from keisoku.errors import EngineError
from keisoku.ground.fpga.cable import model_of
from keisoku.ground.fpga.events import Event
from keisoku.ground.fpga.expectation import Expectation
from keisoku.ground.fpga.link import Link
from keisoku.ground.fpga.mailbox import PortMailbox
from keisoku.ground.fpga.program import Program, interval, mailbox
from keisoku.ground.fpga.reading import Counted, Generated, Latencies
from keisoku.ground.fpga.register import Field, Register
from keisoku.ground.fpga.registers import REGISTERS, PortRegisters
from keisoku.ground.fpga.ring import Ring
from keisoku.ground.fpga.sim import Model, Rewriting
from keisoku.ground.frame.payload import MAGIC, SIGNATURE_BYTES
from keisoku.ground.simulated_device.device import SimulatedDevice

BINS = 2048
_MOST_AT_ONCE = 64
"""Frames that are read from a mailbox in one go, and kept of those that nobody asked for."""
_BITS_PER_SECOND = {0: 10_000_000, 1: 100_000_000, 2: 1_000_000_000}


_TRIES = 100_000
"""How often a register that must change soon is read; each reading takes at least some hundred nanoseconds."""
_BOARD_PAUSE_NS = 20_000_000
_LOOKS = 8
"""A pause is so many times as long as a reading of the clock, but not longer than a board's."""
_MODEL_PAUSE_NS = 20_000
_MODEL_TIMEOUT_S = 1e-3
"""Limit in virtual time; an answer takes some microseconds."""
_NS_BITS = 48
_PROBED_RECORDS = 50
"""Words that are read once to measure the speed of the link."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An edge of the reference: `number` since it was chosen, `losses` of the reference before it."""

    number: int
    losses: int
    time_ns: int
    """On the instrument's clock, modulo 2^48."""


@dataclass(frozen=True, slots=True)
class Delays:
    """Of a port's pins, in taps of about 25 ps, 0 to 127."""

    receive: int
    transmit: int
    """Of sent control and data."""
    transmit_clock: int


class Instrument:
    """Ports are those of the board, from 0. Raises EngineError wherever the link fails."""

    def __init__(
        self, link: Link, name: str, let_pass: Callable[[int], None] | None = None, model: Model | None = None
    ) -> None:
        """`let_pass` returns after so many ns of the instrument's time; without it that clock itself is read."""
        self._link, self._let_pass, self._model = link, let_pass, model
        self.version, self.build = link.read(REGISTERS.version.address)[0], link.read(REGISTERS.build.address)[0]
        self.name = f"{name}, map {self.version}, build {self.build:08x}"
        self._ring = Ring(link)
        self._origins: dict[int, tuple[int, int]] = {}
        self._strangers: list[deque[bytes]] = [deque(maxlen=_MOST_AT_ONCE) for _ in REGISTERS.port]
        """Frames by port that were read from its mailbox and not asked for yet."""
        self._changed: list[list[bytes]] = [[] for _ in REGISTERS.port]
        self._reference = 0
        """The input chosen, in the register whose other bits are commands."""
        self._pause_ns: int | None = None
        self._events_per_ns: float | None = None
        self._closed = False

    @classmethod
    def connect(cls, target: str) -> Instrument:
        """A board at a serial device or on JTAG, or an instrument that answers at HOST:PORT."""
        return cls(Link.open(target, "tx"), target)

    @classmethod
    def simulated_with(
        cls, device: SimulatedDevice, seed: int, reference_ppm: float | None = None, pulse_ns: float = 1e9
    ) -> Instrument:
        """The Verilated model with `device` between its ports, and perhaps a reference that runs `reference_ppm` fast.

        Raises PlanError for settings that the model does not support.
        """
        model = model_of(device, seed, reference_ppm, pulse_ns)
        return cls(
            Link(model, "the Verilated model", timeout_s=_MODEL_TIMEOUT_S),
            "Verilated model",
            lambda ns: model.run(ns),
            model,
        )

    @property
    def simulated(self) -> bool:
        """True of the Verilated model."""
        return self._model is not None

    @property
    def least_pause_ns(self) -> int:
        """How long to wait between two readings during a trial."""
        if self.simulated:
            return _MODEL_PAUSE_NS
        if self._pause_ns is None:  # by its own clock: a model that serves other programs is a slow board
            before_ns = self.now_ns()
            look_ns = (self.now_ns() - before_ns) % 2**_NS_BITS
            self._pause_ns = min(max(_LOOKS * look_ns, _MODEL_PAUSE_NS), _BOARD_PAUSE_NS)
        return self._pause_ns

    def close(self) -> None:
        """Stops the generators and closes the link; twice is no error."""
        if self._closed:
            return
        self._closed = True
        try:
            for port in range(len(REGISTERS.port)):
                self.halt(port)
        finally:
            self._link.close()
            if self._model is not None:
                self._model.close()

    def let_pass(self, ns: int) -> None:
        """Returns when so much of the instrument's time has passed."""
        if self._let_pass is not None:
            self._let_pass(ns)
            return
        begun_ns, passed_ns = self.now_ns(), 0
        while passed_ns < ns:
            time.sleep((ns - passed_ns) / 1e9)
            passed_ns = (self.now_ns() - begun_ns) % 2**_NS_BITS

    def now_ns(self) -> int:
        """The instrument's clock, modulo 2^48. Raises EngineError if it does not run."""
        registers = REGISTERS.time_base
        before = registers.status.captured.extract(self._read(registers.status.address))
        self._write(registers.control.capture, self._reference)
        for _ in range(_TRIES):
            if registers.status.captured.extract(self._read(registers.status.address)) != before:
                high, low = self._link.read(registers.now_high.address, 2)
                return high << 32 | low
        raise EngineError(f"{self.name}: its clock does not run")

    # ---- Reference

    def watch_reference(self, ten_mhz: bool, edges: int, timeout_ticks: int) -> None:
        """Makes a mark at every `edges`-th edge of PPS or 10 MHz; after `timeout_ticks` without an edge the reference
        is lost."""
        registers = REGISTERS.time_base
        self._reference = registers.control.ten_mhz.insert(int(ten_mhz))
        self._set(registers.edges.value, edges)
        self._set(registers.timeout.value, timeout_ticks)
        self._write(registers.control.restart, self._reference)
        while self.next_mark() is not None:  # of the reference before
            pass

    def next_mark(self) -> Mark | None:
        """The oldest mark that was not read yet; None if there is none."""
        registers = REGISTERS.time_base
        if not registers.status.mark.extract(self._read(registers.status.address)):
            return None
        number, losses, _, high, low = self._link.read(registers.mark_number.address, 5)
        self._write(registers.control.take, self._reference)
        return Mark(number, losses, high << 32 | low)

    def link_bits_per_second(self, port: int) -> int | None:
        """What the port and its neighbour have agreed on; None if there is no link."""
        status = self._port(port).phy.status
        word = self._read(status.address)
        return _BITS_PER_SECOND.get(status.running.extract(word)) if status.link.extract(word) else None

    def _byte_ns(self, port: int) -> float:
        return 8e9 / (self.link_bits_per_second(port) or 1e9)

    # ---- Generators

    def send(self, port: int, frame: bytes) -> None:
        """Sends one frame of any content, without its FCS, in the next gap that it fits into."""
        transmit = self._port(port).transmit
        at, words = mailbox(frame)
        self._wait_while(transmit.status.mailbox_busy, "sends no single frame")
        self._link.write(REGISTERS.transmit_memory[port].address + at, words)
        self._set(transmit.mailbox_bytes.value, len(frame))
        self._write(transmit.control.mailbox_send)
        self._wait_while(transmit.status.mailbox_busy, "sends no single frame")

    def receive(self, port: int) -> bytes | None:
        """The oldest frame in the port's mailbox that is no test frame, without its FCS. None if there is none."""
        if not self._strangers[port]:
            self._sort(port)
        return self._strangers[port].popleft() if self._strangers[port] else None

    def changed_frames(self, port: int) -> list[bytes]:
        """Test frames with another header than expected that were in the port's mailbox since the last call, without
        FCS: not all of them, as many as found room."""
        self._sort(port)
        found, self._changed[port] = self._changed[port], []
        return found

    def _sort(self, port: int) -> None:
        """Empties the mailbox, up to so many frames that a flood of them does not block the caller."""
        box = PortMailbox(self._link, port, lambda reply: self.send(port, reply))
        for _ in range(_MOST_AT_ONCE):
            frame = box.receive()
            if frame is None:
                return
            is_test = len(frame) >= SIGNATURE_BYTES and frame[-SIGNATURE_BYTES:].startswith(MAGIC)
            (self._changed[port] if is_test else self._strangers[port]).append(frame)

    def arm(
        self,
        port: int,
        program: Program,
        stream: int,
        frames: int,
        start_at_ns: int | None,
        interval_bytes: Fraction | int,
        burst_frames: int,
    ) -> None:
        """Starts a generator's program when the clock reaches `start_at_ns` (None: now); it ends after `frames`.

        A burst of `burst_frames` begins every `interval_bytes` byte times; with 0 the program's gaps alone set the
        times.
        """
        transmit = self._port(port).transmit
        self.halt(port)
        for at, words in program.writes:
            self._link.write(REGISTERS.transmit_memory[port].address + at, words)
        whole, fraction = interval(Fraction(interval_bytes)) if burst_frames else (0, 0)
        self._set(transmit.stream.value, stream)
        self._set(transmit.last_entry.value, program.last_entry)
        self._set_pair(transmit.frames_high.value, transmit.frames_low.value, frames)
        self._set(transmit.burst_frames.value, burst_frames)
        self._set(transmit.interval_bytes.value, whole)
        self._set(transmit.interval_fraction.value, fraction)
        self._set_pair(transmit.start_high.value, transmit.start_low.value, start_at_ns or 0)
        self._write(transmit.control.start, transmit.control.timed.insert(int(start_at_ns is not None)))

    def halt(self, port: int) -> None:
        """Stops a generator after the frame that it sends."""
        transmit = self._port(port).transmit
        self._write(transmit.control.stop)
        self._wait_while(transmit.status.running, "does not stop sending")

    def generated(self, port: int) -> Generated:
        """How far a generator has come in its program."""
        transmit = self._port(port).transmit
        status = self._read(transmit.status.address)
        words = self._link.read(transmit.sent_frames_high.address, 11)
        frames, bytes_, _, first_ns, last_ns = (words[place] << 32 | words[place + 1] for place in range(0, 10, 2))
        return Generated(
            running=bool(transmit.status.running.extract(status)),
            frames=frames,
            bytes=bytes_,
            first_ns=first_ns if frames else None,
            last_ns=last_ns if frames else None,
            lag_max_ns=round(words[10] * self._byte_ns(port)),
        )

    # ---- Receivers

    def expect(self, port: int, expectation: Expectation) -> None:
        """Prepares a receiver for a trial and sets all its counts and latencies to zero."""
        account, receive = self._port(port).account, self._port(port).receive
        self._set(receive.checked_from.bytes, expectation.checked_from)
        header = expectation.header
        self._set(receive.headers.compare, int(header is not None))
        if header is not None:
            self._set(receive.expected_header.digest, header.digest)
        least, most = expectation.sizes
        frame_bytes = account.frame_bytes
        self._link.write(frame_bytes.address, [frame_bytes.least.insert(least, frame_bytes.most.insert(most))])
        self._set(account.stream.value, expectation.stream)
        self._set_pair(account.planned_high.value, account.planned_low.value, expectation.planned_frames)
        self._set(account.origin_ns.value, expectation.origin_ns % 2**32)
        self._set(account.shift.value, expectation.shift)
        self._set(account.sample_every.value, expectation.sample_every)
        self._write(receive.control.clear)
        self._write(account.control.reset)
        self._wait_while(account.status.busy, "does not reset")
        self._origins[port] = expectation.origin_ns, expectation.shift

    def swap(self, port: int) -> Latencies:
        """Returns the latencies since the last swap and begins a new count."""
        account = self._port(port).account
        self._write(account.control.swap)
        self._wait_while(account.status.busy, "does not change its banks")
        idle = 1 - account.status.bank.extract(self._read(account.status.address))
        words = self._link.read(account.latencies.count_low.address, 11)
        count = words[0] | words[1] << 32
        least, most = _signed(words[2] | words[3] << 32, _NS_BITS), _signed(words[4] | words[5] << 32, _NS_BITS)
        total = _signed(words[6] | words[7] << 32, 64)
        squares = words[8] | words[9] << 32 | words[10] << 64
        origin, shift = self._origins.get(port, (0, 0))
        bins: dict[int, int] = {}
        if count:
            # Only bins between the extremes can be occupied.
            first, last = (min(max((value - origin) >> shift, 0), BINS - 1) for value in (least, most))
            place = REGISTERS.histogram[port].address + 4 * (idle * BINS + first)
            counts = self._link.read(place, last - first + 1)
            bins = {first + number: frames for number, frames in enumerate(counts) if frames}
        # The hardware sums squares of distances from the origin, which are short numbers.
        squares += 2 * origin * total - count * origin * origin
        return Latencies(count, least, most, total, squares, origin, 1 << shift, bins)

    def flush(self, port: int, frames: int) -> None:
        """Makes the receiver report all that is missing of the `frames` that were sent.

        Raises EngineError if its events do not end.
        """
        account = self._port(port).account
        self._wait_until(account.status.settled, "does not settle")
        self._set_pair(account.offered_high.value, account.offered_low.value, frames)
        self._write(account.control.flush)
        self._wait_until(account.status.finished, "does not end its accounting")
        for _ in range(_TRIES):
            if self._ring.idle:
                return
        raise EngineError(f"{self.name}: its events do not end")

    def counted(self, port: int) -> Counted:
        """What arrived since `expect`."""
        account, receive = self._port(port).account, self._port(port).receive
        counts = account.counts
        first = counts.received_low.address
        words = self._link.read(first, (counts.dropped_high.address - first) // 4 + 1)
        last_low, last_high = self._link.read(account.last_low.address, 2)

        def count(register: Register) -> int:
            place = (register.address - first) // 4
            return words[place] | words[place + 1] << 32

        lost_arrivals = self._read(receive.counts.lost_arrivals.address)
        return Counted(
            received_frames=count(counts.received_low),
            forwarded_frames=count(counts.first_low),
            duplicated_frames=count(counts.duplicated_low),
            reordered_frames=count(counts.reordered_low),
            late_frames=count(counts.late_low),
            corrupt_frames=count(counts.corrupt_low),
            foreign_frames=count(counts.foreign_low),
            other_frames=count(counts.other_low),
            lost_frames=count(counts.lost_low),
            dropped_frames=count(counts.untracked_low) + lost_arrivals,
            last_ns=last_low | last_high << 32 if count(counts.first_low) else None,
        )

    def clear_events(self) -> None:
        """Forgets the events of all ports."""
        self._ring.clear()

    def events(self) -> list[tuple[int, Event]]:
        """Events since the last call, each with its port, in order for each port."""
        return self._ring.drain()

    def event_room(self, duration_ns: int) -> int:
        """How many events the memory and the link can carry in a trial of this length.

        Half of the memory is left for losses, and half of the link's time for all other requests.
        """
        if self._events_per_ns is None:
            before_ns = self.now_ns()
            self._ring.look(_PROBED_RECORDS)
            self._events_per_ns = _PROBED_RECORDS / max(1, (self.now_ns() - before_ns) % 2**_NS_BITS)
        return self._ring.capacity // 2 + int(self._events_per_ns * duration_ns / 2)

    def dropped_events(self) -> int:
        """Events that found no room in the memory since `clear_events`."""
        return self._read(REGISTERS.memory.dropped.address)

    def rewrite(self, port: int, rewritings: Sequence[Rewriting]) -> None:
        """Makes the device between the model's ports rewrite headers of what this port sends, until the next call.
        Does nothing on a board, whose device does as it likes."""
        if self._model is not None:
            self._model.rewrite(port, rewritings)

    def lost_in_bitmaps(self) -> list[tuple[int, Event]]:
        """After `flush`: losses that were too many for single events."""
        return self._ring.lost_in_bitmaps()

    # ---- Pins

    def delays(self, port: int) -> Delays:
        """Of a port's pins, as they are set."""
        fields = self._port(port).phy.delays
        word = self._read(fields.address)
        return Delays(fields.rx.extract(word), fields.tx.extract(word), fields.tx_clock.extract(word))

    def set_delays(self, port: int, delays: Delays) -> None:
        """Sets the delays of a port's pins, which change by one tap at a time, within 17 µs."""
        fields = self._port(port).phy.delays
        word = fields.rx.insert(delays.receive, fields.tx.insert(delays.transmit))
        self._link.write(fields.address, [fields.tx_clock.insert(delays.transmit_clock, word)])

    def mdio_read(self, port: int, phy: int, register: int) -> int:
        """A register of the PHY at an address (IEEE 802.3 clause 22). Raises EngineError if there is none."""
        return self._mdio(port, phy, register, None)

    def mdio_write(self, port: int, phy: int, register: int, value: int) -> None:
        """Writes 16 bits to it."""
        self._mdio(port, phy, register, value)

    def _mdio(self, port: int, phy: int, register: int, value: int | None) -> int:
        fields, answer = self._port(port).phy.mdio, self._port(port).phy.mdio_answer
        self._wait_while(answer.busy, "does not end a request to a PHY")
        word = fields.phy.insert(phy, fields.register.insert(register, fields.data.insert(value or 0)))
        self._link.write(fields.address, [fields.write.insert(int(value is not None), word)])
        self._wait_while(answer.busy, "does not end a request to a PHY")
        found = self._read(answer.address)
        if answer.missing.extract(found) and value is None:
            raise EngineError(f"{self.name}: no PHY has address {phy}")
        return answer.data.extract(found)

    # ---- Words

    def _port(self, port: int) -> PortRegisters:
        return REGISTERS.port[port]

    def _read(self, address: int) -> int:
        return self._link.read(address)[0]

    def _write(self, field: Field, word: int = 0) -> None:
        """Sets the one bit of a command."""
        self._link.write(field.address, [field.insert(1, word)])

    def _set(self, field: Field, value: int) -> None:
        """Writes a register of one field."""
        self._link.write(field.address, [field.insert(value)])

    def _set_pair(self, high: Field, low: Field, value: int) -> None:
        self._set(high, value >> 32)
        self._set(low, value & 0xFFFF_FFFF)

    def _wait_while(self, field: Field, problem: str) -> None:
        for _ in range(_TRIES):
            if not field.extract(self._read(field.address)):
                return
        raise EngineError(f"{self.name} {problem}")

    def _wait_until(self, field: Field, problem: str) -> None:
        for _ in range(_TRIES):
            if field.extract(self._read(field.address)):
                return
        raise EngineError(f"{self.name} {problem}")


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (value >> (bits - 1) << bits)
