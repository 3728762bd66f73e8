"""The instrument's own RTL under Verilator, with a simulated device or a cable between its two ports.

Virtual time passes only in calls of `Model`: while `read` waits for bytes of the link, and in `run`. Settings that the
model of the device does not support are refused, never ignored. It never uses a network or a real port.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from types import TracebackType

import numpy as np

from keisoku.errors import EngineError, PlanError
from keisoku.ground.fpga.sim_build import build_library
from keisoku.ground.simulated_device.device import Forwarding, Pair, SimulatedDevice
from keisoku.ground.simulated_device.faults import Loss
from keisoku.ground.statistics.seed import DEFAULT

PICOSECONDS_PER_NS = 1000
_CUT_HEADER_BYTES = 14
_LONGEST_FRAME_BYTES = 16_387
# After a stored frame's last byte the preamble precedes the SFD: no frame leaves sooner after its end.
_LEAST_BYTE_TIMES_AFTER_END = 9
_LONGEST_CABLE_NS = 500_000.0

PASSAGE = np.dtype(
    [
        ("number", "<i8"),
        ("sent_ps", "<i8"),
        ("received_ps", "<i8"),
        ("signed_ns", "<i8"),
        ("gap_bytes", "<u4"),
        ("frame_bytes", "<u4"),
        ("stream", "<u2"),
        ("verdict", "u1"),
        ("from_port", "u1"),
        ("preamble_bytes", "u1"),
        ("is_copy", "u1"),
        ("reserved", "V2"),
    ]
)
"""A row of the truth: one for each frame that a port sent and for each copy that the device made of one.

`number` is the signature's sequence number, -1 without one. `sent_ps` and `received_ps` are the times of the SFD at the
two GMIIs, the latter -1 if it never came. `gap_bytes` counts the byte times from the end of the port's frame before.
"""

VERDICTS = (
    "under way",
    "forwarded",
    "lost",
    "dropped",
    "oversize",
    "errored",
    "corrupt",
    "bad FCS",
    "duplicate",
    "reordered",
    "reset",
)
"""The outcome of a frame, by `PASSAGE`'s verdict; see `fpga/sim/config.h`."""


class _Way(ctypes.Structure):
    _fields_ = [
        *(
            (name, ctypes.c_double)
            for name in (
                "ns_per_byte",
                "constant_ns",
                "decision_ns",
                "service_bits_per_second",
                "jitter_ns",
                "loss_ratio",
                "loss_above_ratio",
                "duplicate_ratio",
                "reorder_ratio",
                "reorder_above_fps",
                "corrupt_ratio",
                "bad_fcs_ratio",
                "byte_ps",
                "output_ppm",
            )
        ),
        *(
            (name, ctypes.c_int64)
            for name in (
                "buffer_bytes",
                "max_frame_bytes",
                "loss_above_bytes",
                "header_bytes",
                "corrupt_from",
                "stall_first_ns",
                "stall_period_ns",
                "stall_duration_ns",
                "reset_duration_ns",
                "reset_at_ns",
            )
        ),
        ("mode", ctypes.c_int32),
        ("jitter", ctypes.c_int32),
    ]


_CHOICE = (ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
"""Which frames are rewritten: the first, one in so many, and numbers with their count."""


class _Config(ctypes.Structure):
    _fields_ = [
        ("ways", _Way * 2),
        ("phy_tx_ns", ctypes.c_double * 2),
        ("phy_rx_ns", ctypes.c_double * 2),
        ("cable_ns", ctypes.c_double * 2),
        ("reference_ppm", ctypes.c_double),
        ("pulse_ps", ctypes.c_double),
        ("transmit_pins_ps", ctypes.c_double * 2),
        ("receive_pins_ps", ctypes.c_double * 2),
        ("pin_edge_ps", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("link_ps_per_byte", ctypes.c_int64),
        ("phase_ps", ctypes.c_int64 * 4),
        ("memory_latency", ctypes.c_int32),
        ("memory_every", ctypes.c_int32),
        ("has_reference", ctypes.c_int32),
    ]


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of the instrument besides the device: links, PHYs, cables. By port where there are two
    values."""

    seed: int = DEFAULT
    link_baud: float | None = None
    """Baud rate of a UART with 10 bits a byte; None: a byte for each clock of the instrument."""
    phy_tx_ns: tuple[float, float] = (0.0, 0.0)
    """From a port's GMII to its cable."""
    phy_rx_ns: tuple[float, float] = (0.0, 0.0)
    cable_m: tuple[float, float] = (0.0, 0.0)
    """Of each port's cable to the device, besides the device's own `cable`."""
    ns_per_m: float = 5.0
    device_ports: tuple[int, int] = (1, 2)
    """The device's ports that the instrument's ports are connected to."""
    phases_ps: tuple[int, int, int, int] = (1000, 300, 2500, 6100)
    """First rising edge of clk, time_clk and the two receive clocks (these two are not used on a cable)."""
    memory_latency: int = 8
    """Clocks from a read of the memory to its answer."""
    memory_every: int = 1
    """Clocks from one access of the memory to the next at least."""
    reference_ppm: float | None = None
    """How much faster PPS and 10 MHz are than the tester's clock; None: nothing is connected."""
    pulse_ns: float = 1e9
    """From a PPS to the next, by the reference."""
    transmit_pins_ps: tuple[float, float] = (2000.0, 2200.0)
    """When a port's PHY samples what the instrument sends, after the half of the clock began; with no delay set."""
    receive_pins_ps: tuple[float, float] = (3700.0, 3950.0)
    """When the instrument samples what the PHY sends."""
    pin_edge_ps: float = 700.0
    """So near to a change of the pins a sampled bit may have either value."""
    corrupt_from: int = 42
    """First byte of a frame that `corrupt_ratio` may change: the start of the checked region or later."""
    bad_fcs_ratio: float = 0.0
    """Share of the corrupt frames that keep their old FCS."""
    faults_from: tuple[bool, bool] = field(default=(True, True))
    """Whether loss and faults apply to frames from port 0, and from port 1."""


@dataclass(frozen=True)
class Rewriting:
    """A header that the device puts in place of the one that was sent, in chosen frames of a stream."""

    stream: int
    header_bytes: int
    """Of the header that was sent."""
    header: bytes
    frames: frozenset[int] | None = None
    """Numbers of frames; None: no frame is excluded by its number."""
    first: int = 0
    every: int = 1


class Model:
    """An instrument in virtual time and a device between its ports. Close it, or use it in `with`.

    Its link is a transport like a serial port (`fpga.link`): `write` takes bytes to the instrument, `read`
    returns those from it and lets virtual time pass meanwhile. Raises PlanError for a device that the model does not
    support, EngineError if the library cannot be built.
    """

    def __init__(self, device: SimulatedDevice, surroundings: Surroundings = Surroundings()) -> None:
        config = _config(device, surroundings)
        self.device, self.surroundings = device, surroundings
        self._library = _library()
        self._model: int | None = self._library.keisoku_open(ctypes.byref(config))
        if not self._model:
            raise EngineError("the model of the instrument cannot be opened; check that enough memory is free")
        self.run(1000)  # past the resets

    def close(self) -> None:
        """Frees the model; twice is no error."""
        if self._model:
            self._library.keisoku_close(self._model)
            self._model = None

    def __enter__(self) -> Model:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def now_ps(self) -> int:
        """Virtual time since the start in ps."""
        return int(self._library.keisoku_now_ps(self._model))

    @property
    def cycles(self) -> int:
        """Rising edges of the instrument's clock since the start."""
        return int(self._library.keisoku_cycles(self._model))

    def run(self, ns: float) -> None:
        """Lets so much virtual time pass."""
        self._library.keisoku_run(self._model, self.now_ps + round(ns * PICOSECONDS_PER_NS), 0)

    def write(self, data: bytes) -> int:
        """Queues bytes to the instrument, which arrive as time passes; returns their number."""
        self._library.keisoku_write(self._model, data, len(data))
        return len(data)

    def read(self, count: int, timeout_s: float = 0.0) -> bytes:
        """Up to `count` bytes from the instrument; virtual time passes until they have arrived, `timeout_s` at most."""
        until_ps = self.now_ps + round(timeout_s * 1e12)
        self._library.keisoku_run(self._model, until_ps, count)
        buffer = ctypes.create_string_buffer(count)
        got = self._library.keisoku_read(self._model, buffer, count)
        return buffer.raw[:got]

    @property
    def waiting(self) -> int:
        """Bytes from the instrument that `read` would return at once."""
        return int(self._library.keisoku_waiting(self._model))

    def truth(self, since: int = 0) -> np.ndarray:
        """The rows (`PASSAGE`) logged from number `since` on, in the order in which frames were sent or copied.

        Their times are in ns.
        """
        count = max(int(self._library.keisoku_passages(self._model)) - since, 0)
        rows = np.zeros(count, PASSAGE)
        self._library.keisoku_log(self._model, rows.ctypes.data, since, count)
        return rows

    def rewrite(self, port: int, rewritings: Sequence[Rewriting]) -> None:
        """The device rewrites headers of what this port sends, and nothing that an earlier call asked for. Of several
        rewritings that choose a frame the first one counts."""
        if not self.device.rewrite:
            return
        self._library.keisoku_rewrite_nothing(self._model, port)
        for one in rewritings:
            numbers = None if one.frames is None else (ctypes.c_int64 * len(one.frames))(*sorted(one.frames))
            self._library.keisoku_rewrite(
                self._model, port, one.stream, one.header_bytes, one.header, len(one.header), one.first, one.every,
                numbers, -1 if one.frames is None else len(one.frames),
            )  # fmt: skip

    def reset_device(self) -> None:
        """The device resets now. Raises PlanError if it has no reset."""
        if self.device.reset is None:
            raise PlanError("device", f"{self.device.name} cannot be reset", "add a [reset] to the device file")
        self._library.keisoku_reset_device(self._model)

    def set_link_up(self, port: int, is_up: bool) -> None:
        """Connects or disconnects a port's cable."""
        self._library.keisoku_set_link_up(self._model, port, is_up)


def check_device(device: SimulatedDevice, surroundings: Surroundings = Surroundings()) -> None:
    """Raises PlanError, naming the key of the device file, if the model does not support its value."""
    _config(device, surroundings)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(build_library()))
    pointer, size = ctypes.c_void_p, ctypes.c_uint64
    for name, result, arguments in (
        ("config_bytes", ctypes.c_uint32, []),
        ("passage_bytes", ctypes.c_uint32, []),
        ("open", pointer, [pointer]),
        ("close", None, [pointer]),
        ("run", ctypes.c_int32, [pointer, ctypes.c_int64, size]),
        ("now_ps", ctypes.c_int64, [pointer]),
        ("cycles", size, [pointer]),
        ("write", None, [pointer, ctypes.c_char_p, size]),
        ("read", size, [pointer, ctypes.c_char_p, size]),
        ("waiting", size, [pointer]),
        ("passages", size, [pointer]),
        ("log", None, [pointer, pointer, size, size]),
        ("reset_device", None, [pointer]),
        ("rewrite_nothing", None, [pointer, ctypes.c_int32]),
        (
            "rewrite",
            None,
            [pointer, ctypes.c_int32, ctypes.c_uint16, size, ctypes.c_char_p, size, *_CHOICE],
        ),
        ("set_link_up", None, [pointer, ctypes.c_int32, ctypes.c_int32]),
    ):
        function = getattr(library, f"keisoku_{name}")
        function.restype, function.argtypes = result, arguments
    if (library.keisoku_config_bytes(), library.keisoku_passage_bytes()) != (ctypes.sizeof(_Config), PASSAGE.itemsize):
        raise EngineError("fpga/sim/config.h and keisoku/ground/fpga/sim.py do not agree on the model's structures")
    return library


def _config(device: SimulatedDevice, around: Surroundings) -> _Config:
    _refuse(device, around)
    config = _Config()
    for sender, (from_port, to_port) in enumerate((around.device_ports, around.device_ports[::-1])):
        config.ways[sender] = _way(device, around, from_port, to_port, around.faults_from[sender])
    if {way.mode for way in config.ways} == {_CABLE, _STORE} or {way.mode for way in config.ways} == {_CABLE, _CUT}:
        raise PlanError("pair", "makes only one direction a cable", "set both directions alike")
    for port in range(2):
        config.phy_tx_ns[port] = around.phy_tx_ns[port]
        config.phy_rx_ns[port] = around.phy_rx_ns[port]
        config.cable_ns[port] = around.cable_m[port] * around.ns_per_m
    config.reference_ppm = around.reference_ppm or 0.0
    config.has_reference = around.reference_ppm is not None
    config.pulse_ps = around.pulse_ns * PICOSECONDS_PER_NS
    config.transmit_pins_ps[:], config.receive_pins_ps[:] = around.transmit_pins_ps, around.receive_pins_ps
    config.pin_edge_ps = around.pin_edge_ps
    config.seed = around.seed % 2**64
    config.link_ps_per_byte = 0 if around.link_baud is None else round(10e12 / around.link_baud)
    config.phase_ps[:] = around.phases_ps
    config.memory_latency, config.memory_every = around.memory_latency, around.memory_every
    return config


_STORE, _CUT, _CABLE = range(3)


def _refuse(device: SimulatedDevice, around: Surroundings) -> None:
    if device.link_bits_per_second not in (1e7, 1e8, 1e9):
        problem = f"{device.link_bits_per_second:g} is no speed of the instrument's ports"
        raise PlanError("link_bits_per_second", problem, "use 1e7, 1e8 or 1e9")
    for section in ("input", "address_table", "connections"):
        if getattr(device, section) is not None:
            remedy = "remove it, or measure with the simulated engine"
            raise PlanError(section, "is not supported by the device model of the FPGA instrument", remedy)
    if any(rule.ratio is not None for rule in device.rewrite):
        problem = "is not supported by the device model of the FPGA instrument, which chooses frames by their numbers"
        raise PlanError("rewrite.ratio", problem, "give frames, or every and first")
    for port in around.device_ports:
        if not 1 <= port <= device.ports:
            raise PlanError("ports", f"the device has no port {port}", f"use 1 to {device.ports}")
    if around.device_ports[0] == around.device_ports[1]:
        raise PlanError("ports", "are the same port of the device", "use two")


def _way(device: SimulatedDevice, around: Surroundings, from_port: int, to_port: int, has_faults: bool) -> _Way:
    pair = next((p for p in device.pairs if from_port in p.from_ports and to_port in p.to_ports), None)
    pair = pair or Pair(from_ports=[from_port], to_ports=[to_port])
    forwarding = pair.forwarding or device.forwarding
    loss, faults = pair.loss or device.loss, device.faults
    cable_ns = device.cable.length_m * device.cable.ns_per_m if device.cable else 0.0
    way = _Way()
    way.ns_per_byte = forwarding.ns_per_byte
    way.constant_ns = forwarding.constant_ns + pair.extra_latency_ns + cable_ns
    way.decision_ns = forwarding.decision_ns + pair.extra_latency_ns + cable_ns if forwarding.decision_ns else 0.0
    way.header_bytes = forwarding.header_bytes or _CUT_HEADER_BYTES
    way.byte_ps = 8e12 / device.link_bits_per_second
    way.output_ppm = device.clock_offset_ppm.get(to_port, 0.0)
    way.buffer_bytes = device.output.buffer_bytes
    service = device.output.service_bits_per_second or 0.0
    way.service_bits_per_second = service * (1 + way.output_ppm * 1e-6)
    way.max_frame_bytes = pair.max_frame_bytes or device.max_frame_bytes or 0
    way.corrupt_from, way.bad_fcs_ratio = around.corrupt_from, around.bad_fcs_ratio
    if device.jitter is not None:
        way.jitter, way.jitter_ns = 1 if device.jitter.distribution == "uniform" else 2, device.jitter.spread_ns
    if device.stall is not None:
        way.stall_period_ns = device.stall.period_ns or 0
        first_ns = device.stall.first_ns
        way.stall_first_ns = way.stall_period_ns if first_ns is None else first_ns
        way.stall_duration_ns = device.stall.duration_ns
    if device.reset is not None:
        way.reset_duration_ns = device.reset.duration_ns
        way.reset_at_ns = -1 if device.reset.at_ns is None else device.reset.at_ns
    if has_faults:
        way.loss_ratio = loss.ratio
        way.loss_above_bytes = loss.above_frame_bytes or 0
        way.loss_above_ratio = 1.0 if loss.above_ratio is None else loss.above_ratio
        way.duplicate_ratio, way.reorder_ratio = faults.duplicate_ratio, faults.reorder_ratio
        way.reorder_above_fps = faults.reorder_above_fps or 0.0
        way.corrupt_ratio = faults.corrupt_ratio
    way.mode = _mode(device, forwarding, loss, way, around)
    return way


def _mode(device: SimulatedDevice, forwarding: Forwarding, loss: Loss, way: _Way, around: Surroundings) -> int:
    byte_ns = way.byte_ps / PICOSECONDS_PER_NS
    if forwarding.mode == "store-and-forward":
        # A line: checking its two ends is enough.
        for frame_bytes in (64, way.max_frame_bytes or _LONGEST_FRAME_BYTES):
            latency_ns = max(way.ns_per_byte * frame_bytes + way.constant_ns, way.decision_ns)
            least_ns = byte_ns * (frame_bytes + _LEAST_BYTE_TIMES_AFTER_END)
            if latency_ns < least_ns:
                problem = f"lets a frame of {frame_bytes} byte leave before it is stored"
                remedy = f"ns_per_byte × {frame_bytes} + constant_ns must be {least_ns:g} or more"
                raise PlanError("forwarding.constant_ns", problem, remedy)
        return _STORE
    for name, is_set in (
        ("max_frame_bytes", way.max_frame_bytes),
        ("loss.above_frame_bytes", loss.above_frame_bytes is not None),
        ("faults.corrupt_ratio", way.corrupt_ratio),
        ("faults.reorder_ratio", way.reorder_ratio),
        ("rewrite", device.rewrite),
    ):
        if is_set:
            problem = "has no meaning for the model's cut-through device, which forwards before a frame ends"
            raise PlanError(name, problem, "remove it, or set forwarding.mode to 'store-and-forward'")
    if device.cable is not None and way.ns_per_byte == 0:
        return _cable(device, way, around)
    latency_ns = max(way.ns_per_byte * way.header_bytes + way.constant_ns, way.decision_ns)
    least_ns = byte_ns * (way.header_bytes + _LEAST_BYTE_TIMES_AFTER_END)
    if latency_ns < least_ns:
        problem = f"makes {latency_ns:g} ns with the header, before the header has arrived"
        remedy = f"ns_per_byte × header_bytes + constant_ns must be {least_ns:g} ns or more"
        raise PlanError("forwarding.constant_ns", problem, remedy)
    return _CUT


def _cable(device: SimulatedDevice, way: _Way, around: Surroundings) -> int:
    for name, is_set in (
        ("loss.ratio", way.loss_ratio),
        ("faults.duplicate_ratio", way.duplicate_ratio),
        ("jitter", device.jitter),
        ("stall", device.stall),
        ("reset", device.reset),
        ("clock_offset_ppm", device.clock_offset_ppm),
        ("output.service_bits_per_second", device.output.service_bits_per_second),
        ("forwarding.decision_ns", way.decision_ns),
        ("link_bits_per_second", device.link_bits_per_second != 1e9),
    ):
        if is_set:
            raise PlanError(name, "has no meaning for a cable", "remove it, or remove [cable]")
    ends_ns = [sum(pair) for pair in zip(around.phy_tx_ns, around.phy_rx_ns, strict=True)]
    delay_ns = way.constant_ns + min(ends_ns) + sum(around.cable_m) * around.ns_per_m
    if not 8 <= delay_ns <= _LONGEST_CABLE_NS:
        problem = f"with the PHYs the cable delays by {delay_ns:g} ns"
        raise PlanError("forwarding.constant_ns", problem, f"use 8 to {_LONGEST_CABLE_NS:g} ns")
    return _CABLE
