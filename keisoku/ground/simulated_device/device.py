"""A simulated device as a user describes it in TOML, and the devices that come with keisoku.

Every key carries its unit. Wrong input is refused here, naming the key and the remedy; what the
keys mean is in docs/devices.md, what they do is in `core/src/simulated`. Never runs a simulation.
"""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from keisoku.errors import PlanError, excerpt, instead
from keisoku.ground.host.text_file import parse_toml, read_text

Ratio = Annotated[float, Field(ge=0, le=1)]
Nanoseconds = Annotated[float, Field(ge=0, le=1e12)]
FrameBytes = Annotated[int, Field(ge=64, le=65536)]
Port = Annotated[int, Field(ge=1)]
PartsPerMillion = Annotated[float, Field(ge=-1000, le=1000)]

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
}


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Forwarding(_Section):
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


class Output(_Section):
    """An output port: one server and a tail-drop buffer."""

    buffer_bytes: int = Field(131_072, ge=64, le=1 << 30)
    """Size of the buffer, which holds the frame being sent and the waiting frames."""
    service_bits_per_second: float | None = Field(None, gt=0)
    """The link rate if absent."""


class Input(_Section):
    """Each input has a queue: a frame that waits for room at its output blocks the frames behind it."""

    buffer_bytes: int = Field(131_072, ge=1024, le=1 << 30)
    """Size of an input queue; frames that do not fit are dropped."""
    back_pressure: bool = False
    """True if the sender is paused while the queue is more than half full."""


class AddressTable(_Section):
    """The table of addresses that the device learns from the sources of frames; frames to other addresses go to all
    ports."""

    entries: int = Field(ge=1, le=1 << 24)
    """How many addresses it holds."""
    learning_per_second: float | None = Field(None, gt=0, le=1e9)
    """A new address that arrives sooner after the last one is not learned (default: every address is)."""
    ageing_s: float = Field(300.0, gt=0, le=1e6)
    """Ageing time: an address that is not seen again for so long is forgotten (IEEE 802.1D §7.9.2: 300 s)."""


class Connections(_Section):
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


class Snooping(_Section):
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


class Jitter(_Section):
    """Random additional latency; frames keep their order."""

    distribution: Literal["uniform", "normal"]
    """'uniform' adds 0 to `spread_ns`; 'normal' adds a deviate of mean 0."""
    spread_ns: Annotated[float, Field(gt=0, le=1e9)]
    """Full width of the uniform, standard deviation of the normal distribution."""


class Loss(_Section):
    """Frames that the device loses at random."""

    ratio: Ratio = 0.0
    """Share of all frames."""
    above_frame_bytes: FrameBytes | None = None
    """Larger frames are lost at `above_ratio` as well."""
    above_ratio: Ratio | None = None
    """All of them if absent."""

    @model_validator(mode="after")
    def _check(self) -> Loss:
        if self.above_frame_bytes is None and self.above_ratio is not None:
            raise PlanError("loss.above_ratio", "has no size to apply to", "add loss.above_frame_bytes")
        return self


class Scatter(_Section):
    """What the tester reads is off by a random amount, another one in each period: the scatter of published samples.

    Its cause is not modelled, so no frame waits for it.
    """

    spread_ns: Annotated[float, Field(gt=0, le=1e9)]
    """Standard deviation of a normal distribution of mean 0."""
    every_ns: int = Field(1_000_000_000, ge=1, le=10**15)
    """Length of a period (default: the second after which the published measurements (E1) took each sample)."""


class Stall(_Section):
    """The output starts no frame for `duration_ns`: at `first_ns`, and every `period_ns` from then on."""

    first_ns: int | None = Field(None, ge=0, le=10**15)
    """Time of the first stall (default: after one period; 0: the trial begins with a backlog)."""
    within_ns: int | None = Field(None, ge=1, le=10**15)
    """In place of `first_ns`: the first stall is at a random moment of so long a time, another one in each trial, so
    that a shorter trial may have none."""
    period_ns: int | None = Field(None, ge=1, le=10**15)
    """Absent: once."""
    duration_ns: int = Field(ge=1, le=10**15)
    """Length of a stall."""

    @model_validator(mode="after")
    def _check(self) -> Stall:
        if self.first_ns is not None and self.within_ns is not None:
            raise PlanError("stall", "has both first_ns and within_ns", "leave one out")
        if self.period_ns is None and self.first_ns is None and self.within_ns is None:
            raise PlanError("stall", "has no time", "add stall.period_ns, stall.first_ns, or both")
        if self.period_ns is not None and self.duration_ns >= self.period_ns:
            raise PlanError(
                "stall.duration_ns",
                f"{self.duration_ns} is not below the period of {self.period_ns}",
                "make it shorter, so that the output can send between stalls",
            )
        return self


class Reset(_Section):
    """A reset: for `duration_ns` nothing is forwarded, and the frames in the buffers are lost."""

    duration_ns: int = Field(ge=1, le=10**15)
    """Length of the reset."""
    at_ns: int | None = Field(None, ge=0, le=10**15)
    """The device resets by itself so long after the start of every trial (default: only on command)."""


class Interruption(_Section):
    """An event cuts flows off for a while: every frame of theirs is lost. Flows are counted from 0, as the trial has
    them."""

    event: str
    """Name of the event, which a plan gives as `event`."""
    by_undo: bool = False
    """The undoing of the event cuts them off."""
    begin_ns: int = Field(0, ge=0, le=10**15)
    """How long after the event the first frame is lost."""
    duration_ns: int = Field(ge=1, le=10**15)
    """For how long frames of the first flow are lost."""
    step_ns: int = Field(0, ge=0, le=10**12)
    """By how much longer those of each further flow are: a device that repairs one route after the other."""
    first_flow: int = Field(0, ge=0)
    last_flow: int | None = Field(None, ge=0)
    """None: the last one of the trial."""
    to_port: Port | None = None
    """The port by which they leave afterwards, until another event chooses one; with `--pattern either` (default: the
    same as before)."""


class Faults(_Section):
    """Faults that no device should have, to check that a tester detects them."""

    duplicate_ratio: Ratio = 0.0
    """Share of frames that are sent twice."""
    reorder_ratio: Ratio = 0.0
    """Share of frames that are held back until the next one has passed them."""
    reorder_above_fps: Annotated[float, Field(gt=0)] | None = None
    """Reordering only above this rate of a stream."""
    corrupt_ratio: Ratio = 0.0
    """Share of frames that arrive with other content."""


class Rewrite(_Section):
    """Headers that the device rewrites, of chosen frames; seen by trials that watch changes."""

    changes: list[str] = Field(min_length=1)
    """What it changes, as `keisoku changes --expect` says it: 'IP.dscp=0'."""
    stream: int | None = Field(None, ge=1)
    """Of one stream of the trial (default: of all)."""
    frames: list[Annotated[int, Field(ge=0)]] | None = None
    """Of these frames only, by number in their stream, from 0."""
    every: int | None = Field(None, ge=1)
    """One in so many frames."""
    first: int = Field(0, ge=0)
    """Number of the first frame that is rewritten."""
    ratio: Ratio | None = None
    """A share of the frames, at random."""

    @model_validator(mode="after")
    def _check(self) -> Rewrite:
        from keisoku.ground.frame.expectation import expectations  # few devices rewrite anything

        expectations(self.changes)
        return self


class Host(_Section):
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


class Pair(_Section):
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


class Cable(_Section):
    """The tester's cables to and from the device: each metre of their total length adds to every latency."""

    length_m: float = Field(0.0, ge=0, le=1e6)
    """Length of both cables together."""
    ns_per_m: float = Field(4.72284, ge=0, le=1000)
    """Default: 71 % of the speed of light, as in the published switch measurements (E1)."""


class Bucket(_Section):
    """A token bucket, full at first. It counts bytes of frames with FCS."""

    bits_per_second: float = Field(gt=0, le=1e12)
    """Rate at which tokens come."""
    burst_bytes: int = Field(ge=64, le=1 << 30)
    """Tokens that it holds."""


class Marking(_Section):
    """Which frames of a queue are marked, and what a mark is."""

    by: Literal["curve", "pie", "codel"] = "curve"
    """By a curve of the queue that a frame meets (a step, RED, WRED), by PIE (RFC 8033) or CoDel (RFC 8289)."""
    action: Literal["mark", "drop", "remark"] = "mark"
    """'mark': CE, or a loss of a frame that is not capable of ECN (RFC 3168 §5); 'drop': a loss (WRED); 'remark':
    another DSCP or PCP."""
    least_bytes: int = Field(0, ge=0, le=1 << 30)
    """The curve: no frame is marked that meets a shorter queue."""
    most_bytes: int = Field(0, ge=0, le=1 << 30)
    """Every frame is marked that meets this queue or a longer one; as `least_bytes`: a step."""
    most_ratio: Ratio = 1.0
    """What the share of marked frames rises to just below `most_bytes`."""
    target_ns: int = Field(5_000_000, ge=1, le=10**12)
    """PIE and CoDel: the waiting time that they allow."""
    interval_ns: int = Field(100_000_000, ge=1, le=10**12)
    """PIE: time between two updates; CoDel: its interval."""

    @model_validator(mode="after")
    def _check(self) -> Marking:
        if self.by == "curve" and self.most_bytes < max(1, self.least_bytes):
            problem = f"{self.most_bytes} is below least_bytes, {self.least_bytes}"
            raise PlanError("queue.marking.most_bytes", problem, "raise it; equal values make a step")
        return self


class Queue(_Section):
    """A queue of each output, for the frames of some classes."""

    codes: list[Annotated[int, Field(ge=0, le=63)]] = []
    """Code points of its frames; frames of code points that no queue has are in the last queue."""
    priority: int = Field(0, ge=0, le=255)
    """A queue is served before all queues of lower priority (strict priority)."""
    weight: float = Field(1.0, gt=0, le=1e6)
    """Its share among the queues of its priority."""
    buffer_bytes: int | None = Field(None, ge=64, le=1 << 30)
    """None: it may fill the whole buffer of the output."""
    policer: Bucket | None = None
    """Frames for which it has no tokens are lost."""
    shaper: Bucket | None = None
    """Frames for which it has no tokens wait."""
    marking: Marking | None = None


class Scheduler(_Section):
    """How an output chooses among its queues."""

    code: Literal["dscp", "pcp"] = "dscp"
    """What the device reads to know a frame's class."""
    kind: Literal["drr", "wfq"] = "drr"
    """Deficit round robin, or weighted fair queueing (self-clocked)."""
    quantum_bytes: int = Field(1518, ge=1, le=1 << 24)
    """DRR: what a queue of weight 1 may send in a round."""


class Published(_Section):
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


class PublishedLatency(_Section):
    """Published latency of every frame of one size, from last bit in to first bit out (LIFO, E3)."""

    frame_bytes: FrameBytes
    lowered: bool = False
    """True if measured at 99.4 % of the throughput rate, false if at the throughput rate."""
    min_ns: float
    mean_ns: float
    max_ns: float


class SimulatedDevice(_Section):
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
    clock_offset_ppm: dict[int, PartsPerMillion] = {}
    """By port: how much faster its clock runs than the tester's, in ppm."""
    pairs: list[Pair] = Field([], alias="pair")
    rewrite: list[Rewrite] = []
    """The first one that chooses a frame counts."""
    host: Host | None = None
    """None: the tester's host never stops a sender."""
    scheduler: Scheduler = Scheduler()
    queues: list[Queue] = Field([], max_length=64, alias="queue")
    """Empty: all frames of an output wait in one queue."""
    published: Published | None = None
    published_latency: list[PublishedLatency] = []

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

    def model_json(self) -> str:
        """The model in the form that `core/src/simulated/device.rs` reads."""
        model = self.model_dump(mode="json", exclude=_NOT_PART_OF_THE_MODEL)
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


SECTIONS: dict[str, type[_Section]] = {
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
