"""The tester's own loop through its registers: a cable between both ports, delays of their pins, and frames that
arrive.

It is the `Loop` of eye.py, which decides what is tried. Delays that did not work are undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from keisoku.errors import EngineError
from keisoku.ground.fpga.expectation import Expectation
from keisoku.ground.fpga.instrument import Delays, Instrument
from keisoku.ground.fpga.program import PlannedFrame, encode

FRAME_BYTES = 512
"""Size of the frames. Their filler counts, so each value of a byte goes over the pins."""
_HEADER = bytes.fromhex("02000000000202000000000188b5")
_CHECKED_FROM = 14
_STREAM = 0xFFFE
_SETTLE_NS = 20_000
"""An element moves a tap in 16 clocks: 127 taps in 16.3 µs."""
_DRAIN_NS = 20_000
_MOST_LOOKS = 10_000


class PinLoop:
    """Two ports of `instrument` with a cable between them."""

    def __init__(self, instrument: Instrument) -> None:
        self._instrument = instrument
        self._program = encode([PlannedFrame(_HEADER, FRAME_BYTES)])

    def set_receive_taps(self, port: int, taps: int) -> None:
        """Delays what the port receives by 0 to 127 taps."""
        now = self._instrument.delays(port)
        self._set(port, Delays(taps, now.transmit, now.transmit_clock))

    def set_transmit_skew(self, port: int, taps: int) -> None:
        """Sends the clock `taps` later than the data; if negative, the data later than the clock."""
        now = self._instrument.delays(port)
        self._set(port, Delays(now.receive, max(-taps, 0), max(taps, 0)))

    def damaged(self, sender: int, receiver: int, frames: int) -> int:
        """Sends `frames` and returns how many did not arrive whole, with a right FCS.

        Raises EngineError if they could not be sent.
        """
        instrument = self._instrument
        sizes = FRAME_BYTES, FRAME_BYTES
        instrument.expect(receiver, Expectation(_STREAM, sizes, frames, _CHECKED_FROM, origin_ns=0, shift=3))
        instrument.arm(sender, self._program, _STREAM, frames, None, 0, 0)
        for _ in range(_MOST_LOOKS):
            generated = instrument.generated(sender)
            if not generated.running and generated.frames >= frames:
                break
            instrument.let_pass(instrument.least_pause_ns)
        else:
            raise EngineError(f"{instrument.name}: port {sender} does not send its frames")
        instrument.let_pass(_DRAIN_NS)
        return frames - instrument.counted(receiver).forwarded_frames

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """An exception inside restores the delays of both ports."""
        before = [self._instrument.delays(port) for port in (0, 1)]
        try:
            yield
        except BaseException:
            for port, delays in enumerate(before):
                self._instrument.set_delays(port, delays)
            raise

    def _set(self, port: int, delays: Delays) -> None:
        self._instrument.set_delays(port, delays)
        self._instrument.let_pass(_SETTLE_NS)
