"""The interface that the engine needs of an instrument, a board or its Verilated model. Holds no logic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from keisoku.ground.fpga.events import Event
from keisoku.ground.fpga.expectation import Expectation
from keisoku.ground.fpga.program import Program
from keisoku.ground.fpga.reading import Counted, Generated, Latencies
from keisoku.ground.fpga.sim import Rewriting


class Tester(Protocol):
    """An instrument. Ports are those of the board, from 0; all calls come from one thread."""

    @property
    def name(self) -> str:
        """Name of the instrument and its build."""
        ...

    @property
    def simulated(self) -> bool:
        """True of the Verilated model."""
        ...

    @property
    def least_pause_ns(self) -> int:
        """How long to wait between two readings during a trial."""
        ...

    def now_ns(self) -> int:
        """The instrument's clock, modulo 2^48."""
        ...

    def let_pass(self, ns: int) -> None:
        """Returns when so much of the instrument's time has passed."""
        ...

    def link_bits_per_second(self, port: int) -> int | None:
        """What the port and its neighbour have agreed on; None if there is no link."""
        ...

    def send(self, port: int, frame: bytes) -> None:
        """Sends one frame of any content, without its FCS."""
        ...

    def receive(self, port: int) -> bytes | None:
        """The oldest frame in the port's mailbox that is no test frame, without its FCS. None if there is none."""
        ...

    def changed_frames(self, port: int) -> list[bytes]:
        """Test frames with another header than expected that were in the port's mailbox since the last call, without
        FCS: not all of them, as many as found room."""
        ...

    def rewrite(self, port: int, rewritings: Sequence[Rewriting]) -> None:
        """Makes the device between the ports of a model rewrite headers of what this port sends, until the next
        call."""
        ...

    def arm(
        self,
        port: int,
        program: Program,
        stream: int,
        frames: int,
        start_at_ns: int,
        interval_bytes: Fraction,
        burst_frames: int,
    ) -> None:
        """Starts a generator's program when the clock reaches `start_at_ns`; it ends after `frames`.

        A burst of `burst_frames` begins every `interval_bytes` byte times; with 0 the program's gaps say it all.
        """
        ...

    def halt(self, port: int) -> None:
        """Stops a generator after the frame that it sends."""
        ...

    def generated(self, port: int) -> Generated:
        """How far a generator has come in its program."""
        ...

    def expect(self, port: int, expectation: Expectation) -> None:
        """Prepares a receiver for a trial and sets all its counts and latencies to zero."""
        ...

    def swap(self, port: int) -> Latencies:
        """Returns the latencies since the last swap and begins a new count."""
        ...

    def flush(self, port: int, frames: int) -> None:
        """Makes the receiver report all that is missing of the `frames` that were sent."""
        ...

    def counted(self, port: int) -> Counted:
        """What arrived since `expect`."""
        ...

    def clear_events(self) -> None:
        """Forgets the events of all ports."""
        ...

    def events(self) -> list[tuple[int, Event]]:
        """Events since the last call, each with its port, in order for each port."""
        ...

    def event_room(self, duration_ns: int) -> int:
        """How many events the memory and the link can carry in a trial of this length."""
        ...

    def dropped_events(self) -> int:
        """Events that found no room in the memory since `clear_events`."""
        ...

    def lost_in_bitmaps(self) -> list[tuple[int, Event]]:
        """After `flush`: losses that were too many for single events."""
        ...

    def close(self) -> None:
        """Stops the generators and lets go of the link."""
        ...
