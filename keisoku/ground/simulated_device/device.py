"""A simulated device as a user describes it in TOML, and the devices that come with keisoku.

Every key carries its unit. Wrong input is refused here, naming the key and the remedy; what the
keys mean is in docs/devices.md, what they do is in `core/src/simulated`. Never runs a simulation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import tomlkit
from pydantic import Field, ValidationError, model_validator

from keisoku.errors import PlanError, excerpt, instead
from keisoku.ground.host.text_file import parse_toml, read_text
from keisoku.ground.simulated_device.faults import (
    Faults,
    Interruption,
    Jitter,
    Loss,
    Reset,
    Rewrite,
    Scatter,
    Stall,
)
from keisoku.ground.simulated_device.queueing import Bucket, Marking, Queue, Scheduler
from keisoku.ground.simulated_device.section import FrameBytes, Nanoseconds, PartsPerMillion, Port, Section
from keisoku.ground.simulated_device.spreading import Spread
from keisoku.ground.simulated_device.telemetry import Telemetry

_NOT_PART_OF_THE_MODEL = {
    "name",
    "title",
    "maker",
    "class_",
    "year",
    "published",
    "published_latency",
    "cable",
    "rewrite",
    "spread",
    "telemetry",
}


class Forwarding(Section):
    """Latency of a frame without queueing, from first bit in to first bit out (FIFO)."""

    mode: Literal["store-and-forward", "cut-through"] = "store-and-forward"
    """Whether the whole frame or only its header is read before it is forwarded."""
    ns_per_byte: float = Field(8.0, ge=0, le=1e6)
    """Latency for each byte: of the whole frame for store-and-forward, of its header for cut-through."""
    constant_ns: Nanoseconds = 0.0
    """Latency that does not depend on the size."""
    header_bytes: int | None = Field(None, ge=1, le=256)
    """Bytes that a cut-through device reads before it forwards (default: 14, the Ethernet header)."""
    decision_ns: Nanoseconds = 0.0
    """Time from a frame's first bit until the device knows its output: a longer frame is then still arriving."""

    @model_validator(mode="after")
    def _check(self) -> Forwarding:
        if self.mode == "store-and-forward" and self.header_bytes is not None:
            raise PlanError(
                "forwarding.header_bytes",
                "has no meaning for a store-and-forward device",
                "remove it, or set mode to 'cut-through'",
            )
        return self


class Output(Section):
    """An output port: one server and a tail-drop buffer."""

    buffer_bytes: int = Field(131_072, ge=64, le=1 << 30)
    """Size of the buffer, which holds the frame being sent and the waiting frames."""
    service_bits_per_second: float | None = Field(None, gt=0)
    """The link rate if absent."""


class Input(Section):
    """Each input has a queue: a frame that waits for room at its output blocks the frames behind it."""

    buffer_bytes: int = Field(131_072, ge=1024, le=1 << 30)
    """Size of an input queue; frames that do not fit are dropped."""
    back_pressure: bool = False
    """True if the sender is paused while the queue is more than half full."""


class AddressTable(Section):
    """The table of addresses that the device learns from the sources of frames; frames to other addresses go to all
    ports."""

    entries: int = Field(ge=1, le=1 << 24)
    """How many addresses it holds."""
    learning_per_second: float | None = Field(None, gt=0, le=1e9)
    """A new address that arrives sooner after the last one is not learned (default: every address is)."""
    ageing_s: float = Field(300.0, gt=0, le=1e6)
    """Ageing time: an address that is not seen again for so long is forgotten (IEEE 802.1D §7.9.2: 300 s)."""


class Connections(Section):
    """The table of a stateful device: a connection is opened by a frame from the tester's first port; what comes back
    passes only if its connection is known."""

    entries: int = Field(ge=1, le=1 << 24)
    """How many connections it holds."""
    timeout_s: float = Field(300.0, gt=0, le=1e6)
    """A connection that is not seen for so long is forgotten."""
    when_full: Literal["refuse", "evict"] = "refuse"
    """A new connection is dropped, or takes the place of the one that was not seen for the longest time."""
    new_per_second: float | None = Field(None, gt=0, le=1e9)
    """How many new connections it can take, one after the other (default: any number)."""
    waiting: int = Field(64, ge=0, le=1 << 24)
    """How many may wait for that; further ones are dropped."""
    forgotten_per_second: float | None = Field(None, gt=0, le=1e12)
    """How fast it removes all of them when it is told to (default: at once)."""
    buckets: int | None = Field(None, ge=1, le=1 << 24)
    """Connections are spread over so many buckets by a hash (default: one)."""
    bucket_entries: int | None = Field(None, ge=1, le=1 << 24)
    """How many a bucket holds; further ones are dropped (default: any number)."""
    ports: int | None = Field(None, ge=1, le=64_512)
    """A NAT: each connection has one of so many outer ports, and without a free one it is dropped (default: its own
    port)."""


class Snooping(Section):
    """The device learns from IGMP and MLD messages behind which ports a multicast group has receivers."""

    groups: int = Field(1024, ge=1, le=1 << 20)
    """Groups that it can remember; frames of further groups are treated as those of groups without receivers."""
    join_ns: Nanoseconds = 0.0
    """From the message to the first frame that is forwarded."""
    leave_ns: Nanoseconds = 0.0
    """From the message to the first frame that is no longer forwarded."""
    unknown: Literal["flood", "drop"] = "drop"
    """What it does with frames of groups without receivers."""
    copies_per_second: float | None = Field(None, gt=0, le=1e12)
    """How many copies of multicast frames it makes at most (default: any number)."""
    waiting_copies: int = Field(64, ge=0, le=1 << 24)
    """How many copies may wait for that; further ones are not made."""


class Host(Section):
    """The tester's own host: in each period it takes the CPU of each sender once, at a random moment."""

    stop_ms: float = Field(gt=0, le=1e6)
    """For how long the sender does not run. Behind by more than 1 ms, it postpones its frames, as a real one does."""
    every_ms: float = Field(gt=0, le=1e9)
    """Length of a period."""

    @model_validator(mode="after")
    def _check(self) -> Host:
        if self.stop_ms >= self.every_ms:
            raise PlanError(
                "host.stop_ms",
                f"{self.stop_ms:g} is not below the period of {self.every_ms:g}",
                "make it shorter, so that the sender runs between stops",
            )
        return self


class Pair(Section):
    """Differences between certain ports, in this direction; absent keys have the device's values."""

    from_ports: list[Port] = Field(min_length=1)
    """Ports at which frames enter."""
    to_ports: list[Port] = Field(min_length=1)
    """Ports at which they leave."""
    forwarding: Forwarding | None = None
    extra_latency_ns: Nanoseconds = 0.0
    """Latency besides that of the forwarding."""
    max_frame_bytes: FrameBytes | None = None
    """Larger frames are all dropped."""
    loss: Loss | None = None


class Cable(Section):
    """The tester's cables to and from the device: each metre of their total length adds to every latency."""

    length_m: float = Field(0.0, ge=0, le=1e6)
    """Length of both cables together."""
    ns_per_m: float = Field(4.72284, ge=0, le=1000)
    """Default: 71 % of the speed of light, as in the published switch measurements (E1)."""


class Published(Section):
    """Published measurements of the real device: for comparison only, never used by the model."""

    source: str
    """Who, when, where."""
    ports: tuple[Port, Port] = (1, 2)
    """Sending and receiving port."""
    slope_ns_per_byte: float
    slope_error_ns_per_byte: float
    """Asymptotic standard error."""
    constant_ns: float
    constant_error_ns: float
    """Asymptotic standard error."""
    max_frame_bytes: int


class PublishedLatency(Section):
    """Published latency of every frame of one size, from last bit in to first bit out (LIFO, E3)."""

    frame_bytes: FrameBytes
    lowered: bool = False
    """True if measured at 99.4 % of the throughput rate, false if at the throughput rate."""
    min_ns: float
    mean_ns: float
    max_ns: float


class SimulatedDevice(Section):
    """A device under test that exists in virtual time only."""

    name: str
    """The name in `--dut sim:NAME` (default: the file's name)."""
    title: str
    """The name that reports show (default: `name`)."""
    maker: str = ""
    """For people."""
    class_: str = Field("", alias="class")
    """For people, such as 'home' or 'business'."""
    year: int | None = None
    """For people."""
    ports: int = Field(2, ge=2, le=1024)
    """Number of ports, which count from 1."""
    link_bits_per_second: float = Field(1e9, ge=1e3, le=1e12)
    """Rate of every port, and of the tester's."""
    max_frame_bytes: FrameBytes | None = None
    """Larger frames are all dropped; None: no limit."""
    resolution_ns: float = Field(0.0, ge=0, le=1e6)
    """Resolution of the tester's timestamps, which are rounded down to multiples of it; 0: exact."""
    cable: Cable | None = None
    forwarding: Forwarding = Forwarding()
    output: Output = Output()
    input: Input | None = None
    """None: frames wait at their output only."""
    address_table: AddressTable | None = None
    """None: the device knows the port of every address from the start."""
    connections: Connections | None = None
    """None: it keeps no state."""
    snooping: Snooping | None = None
    """None: frames to multicast groups go to all ports."""
    jitter: Jitter | None = None
    scatter: Scatter | None = None
    loss: Loss = Loss()
    stall: Stall | None = None
    reset: Reset | None = None
    interruptions: list[Interruption] = Field([], alias="interruption")
    faults: Faults = Faults()
    clock_offset_ppm: dict[int, PartsPerMillion] = Field({})
    """By port: how much faster its clock runs than the tester's, in ppm."""
    pairs: list[Pair] = Field([], alias="pair")
    rewrite: list[Rewrite] = Field([])
    """The first one that chooses a frame counts."""
    spread: Spread | None = None
    """None: every frame leaves by the port that it is meant for."""
    telemetry: Telemetry | None = None
    """None: it exports nothing."""
    host: Host | None = None
    """None: the tester's host never stops a sender."""
    scheduler: Scheduler = Scheduler()
    queues: list[Queue] = Field([], max_length=64, alias="queue")
    """Empty: all frames of an output wait in one queue."""
    published: Published | None = None
    published_latency: list[PublishedLatency] = Field([])

    @model_validator(mode="after")
    def _check(self) -> SimulatedDevice:
        service = self.output.service_bits_per_second
        if service is not None and service > self.link_bits_per_second:
            raise PlanError(
                "output.service_bits_per_second",
                f"{service:g} is above the link rate of {self.link_bits_per_second:g}",
                "lower it, or leave it out for the link rate",
            )
        if self.published is not None and len({*self.published.ports}) == 1:
            raise PlanError("published.ports", "they are one port", "name the sending and the receiving one")
        codes = [code for queue in self.queues for code in queue.codes]
        twice = next((code for place, code in enumerate(codes) if code in codes[:place]), None)
        if twice is not None:
            raise PlanError("queue.codes", f"{twice} is in two queues", "leave it in one")
        if self.queues and self.input is not None:
            raise PlanError("input", "a device with [[queue]] has no queues at its inputs", "leave one out")
        if self.spread is not None:
            self._check_ports("spread.ports", self.spread.ports)
            state = next((name for name in ("address_table", "connections", "snooping") if getattr(self, name)), None)
            if state is not None:
                raise PlanError("spread", f"a device with [{state}] spreads no flows", "leave one out")
        self._check_ports("clock_offset_ppm", list(self.clock_offset_ppm))
        seen: set[tuple[int, int]] = set()
        for pair in self.pairs:
            self._check_ports("pair.from_ports", pair.from_ports)
            self._check_ports("pair.to_ports", pair.to_ports)
            if {*pair.from_ports} == {*pair.to_ports} and len({*pair.from_ports}) == 1:
                raise PlanError("pair", f"it leads from port {pair.from_ports[0]} to itself", "name another port")
            for way in ((tx, rx) for tx in set(pair.from_ports) for rx in set(pair.to_ports)):
                if way in seen:
                    raise PlanError("pair", f"ports {way[0]} to {way[1]} are in two tables", "join them")
                seen.add(way)
        return self

    def _check_ports(self, field: str, ports: list[int]) -> None:
        for port in ports:
            if not 1 <= port <= self.ports:
                raise PlanError(field, f"there is no port {port}", f"use 1 to {self.ports}, or raise 'ports'")
            if ports.count(port) > 1:
                raise PlanError(field, f"port {port} is listed twice", "list each once")

    def model_json(self, interruptions: Iterable[Mapping[str, Any]] = ()) -> str:
        """The model, with further interruptions, in the form that `core/src/simulated/device.rs` reads."""
        model = self.model_dump(mode="json", exclude=_NOT_PART_OF_THE_MODEL)
        model["interruptions"] += interruptions
        del model["scheduler"]["code"]
        if self.cable is not None:
            for forwarding in (model["forwarding"], *(pair["forwarding"] for pair in model["pairs"])):
                if forwarding is not None:
                    # Whichever of both decides when a frame leaves.
                    for name in ("constant_ns", "decision_ns"):
                        forwarding[name] += self.cable.length_m * self.cable.ns_per_m
        return json.dumps(model)

    def with_cable(self, length_m: float) -> SimulatedDevice:
        """The same device with cables of total length `length_m`. Raises PlanError if it has no cables."""
        if self.cable is None:
            problem = f"{self.name} has no cables"
            raise PlanError("length", problem, "use sim:cable, add a [cable] to the device file, or leave it out")
        return self.model_copy(update={"cable": self.cable.model_copy(update={"length_m": length_m})})


SECTIONS: dict[str, type[Section]] = {
    "": SimulatedDevice,
    "forwarding": Forwarding,
    "output": Output,
    "input": Input,
    "address_table": AddressTable,
    "connections": Connections,
    "snooping": Snooping,
    "jitter": Jitter,
    "scatter": Scatter,
    "loss": Loss,
    "stall": Stall,
    "reset": Reset,
    "faults": Faults,
    "interruption": Interruption,
    "cable": Cable,
    "rewrite": Rewrite,
    "spread": Spread,
    "telemetry": Telemetry,
    "host": Host,
    "scheduler": Scheduler,
    "queue": Queue,
    "queue.policer": Bucket,
    "queue.shaper": Bucket,
    "queue.marking": Marking,
    "pair": Pair,
    "pair.forwarding": Forwarding,
    "pair.loss": Loss,
    "published": Published,
    "published_latency": PublishedLatency,
}


def parse_device(toml: str, name: str) -> SimulatedDevice:
    """Reads a device from TOML; `name` is its name and title if the text gives none. Raises PlanError."""
    values = parse_toml("device", name, toml)
    try:
        # Through JSON, where strict reading still accepts a table for a section.
        return SimulatedDevice.model_validate_json(json.dumps({"name": name, "title": name, **values}, default=str))
    except ValidationError as error:
        raise _plan_error(error) from error


def read_device(path: Path) -> SimulatedDevice:
    """Reads a user's device file. Raises PlanError, which then names the file."""
    text = read_text("device", path)
    try:
        return parse_device(text, path.stem)
    except PlanError as error:
        raise PlanError(f"{error.field} in {path}", error.problem, error.remedy) from error


def write_device(path: Path, device: SimulatedDevice) -> None:
    """A file that `read_device` reads as this device."""
    content = device.model_dump(mode="json", by_alias=True, exclude_none=True)
    path.write_text(tomlkit.dumps(content), encoding="utf-8")


def list_devices() -> list[SimulatedDevice]:
    """The devices that come with keisoku, by name."""
    folder = files("keisoku.ground.simulated_device")
    found = [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]
    devices = [parse_device(entry.read_text("utf-8"), entry.name.removesuffix(".toml")) for entry in found]
    return sorted(devices, key=lambda device: device.name)


def find_device(name_or_path: str) -> SimulatedDevice:
    """A device that comes with keisoku, by name, or a user's, by the path of its file. Raises PlanError."""
    shipped = {device.name: device for device in list_devices()}
    if name_or_path in shipped:
        return shipped[name_or_path]
    path = Path(name_or_path)
    if path.suffix == ".toml" or path.parent != Path() or path.is_file():
        return read_device(path)
    remedy = f"use the path of a TOML file, or one of {', '.join(shipped)}"
    raise PlanError("device", f"there is no simulated device '{name_or_path}'", remedy)


def _plan_error(error: ValidationError) -> PlanError:
    first = error.errors(include_url=False)[0]
    # Indices of a list are left out, and the mark for a wrong key.
    keys = [part for part in first["loc"] if isinstance(part, str) and part != "[key]"]
    field = ".".join(keys)
    if first["type"] == "extra_forbidden":
        section = SECTIONS[".".join(keys[:-1])]
        known = [each.alias or key for key, each in section.model_fields.items()]
        return PlanError(field, "is not a key of a device", instead(keys[-1], known))
    if first["type"] == "missing":
        return PlanError(field, "is missing", "add it")
    requirement = first["msg"].replace("Input should be ", "it must be ").replace("an object", "a table")
    return PlanError(field, f"{excerpt(first['input'])} is not accepted", requirement)
