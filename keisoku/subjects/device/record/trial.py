"""`Trial`: what a trial is to do. Mirrors `core/src/trial.rs`. It never uses an engine."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from keisoku.frozen import Frozen
from keisoku.subjects.device.record.event import Event
from keisoku.subjects.device.record.exports import Exporting
from keisoku.subjects.device.record.opening import Opening

NS_PER_S = 1_000_000_000


class Phases(Frozen):
    """The phases around the load of a trial (RFC 2544 §23)."""

    learning: bool = True
    """Send learning frames before the load (RFC 2544 §23 b)."""
    learning_wait_ns: int = Field(2 * NS_PER_S, ge=0)
    drain_ns: int = Field(2 * NS_PER_S, ge=0)
    """How long the receiver waits for frames after the last one was sent (§23 d: 2 s)."""
    rest_ns: int = Field(5 * NS_PER_S, ge=0)
    """Pause for the DUT to settle before the next trial (§23 e: at least 5 s)."""


class Constant(Frozen):
    """Frames at equal distances."""

    kind: Literal["constant"] = "constant"


class Bursts(Frozen):
    """Bursts with the mean rate of the stream (RFC 2544 §21)."""

    kind: Literal["bursts"] = "bursts"
    burst_frames: int = Field(ge=1)
    gap_ns: int = Field(0, ge=0)
    """Time between the frames of a burst, from start to start; 0: as fast as the port sends."""


class Poisson(Frozen):
    """Independent, exponentially distributed gaps, from the run's seed."""

    kind: Literal["poisson"] = "poisson"


class Gaps(Frozen):
    """A given list of gaps, repeated; it sets the rate."""

    kind: Literal["gaps"] = "gaps"
    gaps_ns: tuple[int, ...] = Field(min_length=1)

    @property
    def frames_per_second(self) -> float:
        """The only rate that frames with these gaps have; infinite where all are 0."""
        whole_ns = sum(self.gaps_ns)
        return len(self.gaps_ns) * NS_PER_S / whole_ns if whole_ns else math.inf


Pacing = Annotated[Constant | Bursts | Poisson | Gaps, Field(discriminator="kind")]


class Stream(Frozen):
    """One stream of a trial as an engine receives it: see `core/src/trial.rs`."""

    transmit: int
    receive: int
    also: tuple[int, ...] = ()
    among: tuple[int, ...] = ()
    timed: bool = False
    table: int = 0
    frame_bytes: tuple[int, ...]
    """Sizes of consecutive frames with FCS, a cycle."""
    frames_per_second: float
    pacing: Pacing = Constant()
    frames: int
    start_ns: int = 0
    tag: int | None = None
    growth_bytes: int = 0
    connections: Connections | None = None


class Connections(Frozen):
    """Which connections the frames of a stream belong to; only a simulated device must be told."""

    count: int
    numbers: tuple[int, ...] | None = None
    """As many as `count`; None: from 0 on."""
    opens: bool
    """The frames come from the side that opens connections."""


class Flow(Frozen):
    """The frames from one port to another, in a trial whose method sets itself which port sends to which."""

    transmit: int
    receive: int
    """Indices of the plan's ports."""
    also: tuple[int, ...] = ()
    """Further ports that the device must copy each frame to (multicast); each has an account of its own."""
    among: tuple[int, ...] = ()
    """Further ports at any of which a frame may arrive instead; it counts wherever it does, once if it comes twice."""
    timed: bool = False
    """Keep when the first and the last frame arrived at each port."""
    message: bool = False
    """The frames are messages to the device (IGMP, MLD), which need not arrive anywhere: they are in no total. Such
    flows are the last ones of a trial."""
    share: float = Field(1.0, gt=0)
    """Share of the trial's load of a port."""
    streams: int = Field(1, ge=1)
    """So many streams share it evenly, each with an account of its own and with one of the frames that `modify` makes,
    which must be as many."""
    start_ns: int = Field(0, ge=0)
    """Start of the flow, after the start of the trial."""
    duration_ns: int | None = Field(None, gt=0)
    """Length of the flow; to the end of the trial if not given."""
    frame_bytes: tuple[int, ...] | None = None
    """Sizes of consecutive frames; the trial's if not given."""
    pacing: Pacing | None = None
    """The plan's if not given, as for the fields below."""
    headers: str | None = None
    defect: Literal["undersize", "crc", "dribble", "alignment"] | None = None
    """The error of every frame (RFC 2889 §5.9); only an engine with that ability sends such frames."""
    modify: tuple[str, ...] | None = None
    """Fields that vary, as in a plan."""
    connections: Literal["open", "answer"] | None = None
    """The frames belong to the connections of the trial's opening, one after the other: as the initiator sends them, or
    as the responder answers to where each of them came from."""


class Switch(Frozen):
    """How one flow begins and ends in a trial whose flows are started and stopped one by one."""

    waits: bool = False
    """True if the flow does not send before it is started by a call."""
    cut_ns: int | None = Field(None, gt=0)
    """The flow ends so long after its start even if frames are left; None: all are sent, however late."""


class Trial(Frozen):
    """The intention: a load for a fixed time. The plan's traffic, or `flows`, sets how ports and streams share it."""

    purpose: str
    """Purpose of the trial, for the user: 'search', 'final', 'latency 3 of 20'."""
    frame_bytes: int
    """Frame size from destination address to FCS, both included (RFC 2544 §9)."""
    """For a mix of sizes: their mean, rounded."""
    frames_per_second: float
    """Rate of each transmitting port (RFC 2285 §3.5: the intended load of a port)."""
    duration_ns: int
    phases: Phases = Phases()
    interval_ns: int = NS_PER_S
    tag: int | None = None
    """Sequence number of the frame that RFC 2544 §26.2 tags."""
    variation: bool = False
    """Keep the differences of consecutive frames' latencies (IPDV)."""
    changes: Literal["changed", "every"] | None = None
    """Compare the headers of every frame that arrives with those that are expected, and keep a row for each changed
    frame or for every frame; None: compare nothing."""
    expected: tuple[str, ...] = ()
    """What the device is expected to change (`keisoku/ground/frame/expectation.py`), beside what is known of it."""
    learnt: tuple[tuple[str, ...], ...] = ()
    """What is expected of each stream in addition, as an earlier trial showed it; empty: nothing."""
    arrivals: bool = False
    """Count the frames of each stream by the headers with which they arrive, instead of comparing them."""
    marks: bool = False
    """Keep at which latencies frames arrived marked, and which latencies lost frames would have had."""
    reset_after_ns: int | None = None
    """When the engine resets the device, after the start of the load (RFC 6201)."""
    stop_after_lost: int | None = Field(None, ge=0)
    """The engine ends the load as soon as more frames than this are certainly lost; None: never."""
    batch_frames: int | None = Field(None, ge=1, le=256)
    """Senders hand frames over in batches of so many, a power of two, and keep how long each took; None: as few as
    possible, untimed."""
    reopens: bool = False
    """The ports are closed and opened again before it, so that programs and buffers lie elsewhere in memory."""
    on_cable: bool = False
    """The frames go over a cable that the tester makes on this host, and not through the device: they show the tester's
    own part of a figure."""
    processes: tuple[str, ...] | None = None
    """Numbers or names of processes whose CPU time is read before and after the load, beside that of the kernel's
    threads which carry packets; None: none is read."""
    sample_every_ns: int | None = None
    """CPU time between two looks at where in the kernel the CPUs are while the load runs; None: nobody looks."""
    flat_out: bool = False
    """The load is as much as the tester can offer, up to the rate: it shows what that is."""
    at_full_speed: bool = False
    """A figure of it depends on the speed of the tester's core: the engine waits a while for the core's full speed."""
    flows: tuple[Flow, ...] = ()
    """Flows in place of the plan's pattern; empty: the plan's. The facts have the streams of each flow, in this
    order."""
    switches: tuple[Switch, ...] = ()
    """Settings of each flow, if flows are started, paused and ended one by one while the trial runs: the trial then
    lasts until no flow sends any more, and each flow is counted by itself. Empty: all flows are sent as planned."""
    links_may_fail: bool = False
    """Links may lose their carrier, as those of a device that is reset; otherwise the trial is then invalid."""
    events: tuple[Event, ...] = ()
    """What is done to the device while the load runs, in the order of the times."""
    anywhere: bool = False
    """Frames count at whichever port they arrive, and the facts say at which; otherwise at another port than that which
    they are meant for they are misdirected."""

    opening: Opening | None = None
    """Connections that are opened before the load."""
    exporting: Exporting | None = None
    """What the device exports about the frames is kept; None: nobody listens."""

    @property
    def whole_ns(self) -> int:
        """Length with all its phases (RFC 2544 §23), if its load is not ended early."""
        after_ns = self.phases.drain_ns + self.phases.rest_ns + (self.exporting.after_ns if self.exporting else 0)
        return self.before_load_ns + self.duration_ns + after_ns

    @property
    def before_load_ns(self) -> int:
        """How long learning, the opening of connections and the wait for exports take before its load begins."""
        learning_ns = self.phases.learning_wait_ns if self.phases.learning else 0
        opening_ns = sum(load.duration_ns + self.phases.drain_ns for load in self.opening_loads)
        opening_ns += self.opening.wait_ns + self.opening.settle_ns if self.opening else 0
        return learning_ns + opening_ns + (self.exporting.before_ns if self.exporting else 0)

    @property
    def opening_load(self) -> Trial:
        """The load that opens the connections, as a trial of its own."""
        assert self.opening is not None
        duration_ns = max(1, round(self.opening.connections * NS_PER_S / self.opening.frames_per_second))
        update = {
            "frames_per_second": self.opening.frames_per_second,
            "duration_ns": duration_ns,
            "interval_ns": max(1, duration_ns // 20),
            "flows": (Flow(transmit=0, receive=1, connections="open"),),
            "stop_after_lost": None,
        }
        return self.model_copy(update=update)

    @property
    def opening_loads(self) -> tuple[Trial, ...]:
        """All loads of the opening, each a trial of its own: where connections of TCP are established, the responder's
        answers and the initiator's acknowledgements follow; without an opening none."""
        if self.opening is None:
            return ()
        first, answered_fps = self.opening_load, self.opening.established_fps
        if answered_fps is None:
            return (first,)
        duration_ns = max(1, round(self.opening.connections * NS_PER_S / answered_fps))
        update = {
            "frames_per_second": answered_fps,
            "duration_ns": duration_ns,
            "interval_ns": max(1, duration_ns // 20),
            "flows": (Flow(transmit=1, receive=0, connections="answer"),),
        }
        return first, first.model_copy(update=update), first

    @property
    def seconds(self) -> float:
        """The same in seconds."""
        return self.whole_ns / NS_PER_S

    @property
    def frames(self) -> int:
        """Frames for each transmitting port to send if it sends all the time: at least one."""
        return max(1, round(self.frames_per_second * self.duration_ns / NS_PER_S))

    def frames_of(self, port: int) -> int:
        """Frames for this port to send."""
        own = [flow for flow in self.flows if flow.transmit == port and not flow.message]
        return sum(self.frames_in(flow) for flow in own) if self.flows else self.frames

    def frames_in(self, flow: Flow) -> int:
        """Frames of one flow of the trial: at least one."""
        duration_ns = flow.duration_ns or self.duration_ns - flow.start_ns
        return max(1, round(self.frames_per_second * flow.share * duration_ns / NS_PER_S))

    def load(
        self,
        streams: Sequence[Stream],
        first_stream: int,
        seed: int = 0,
        promiscuous: Sequence[int] = (),
        compares: bool = False,
        words: tuple[int, int] | None = None,
    ) -> str:
        """The load in the form of `core/src/trial.rs`; `seed` is for random pacing and a simulated device's
        choices. `promiscuous` are ports that must receive frames for all addresses; `compares`: headers are compared,
        though no row is kept of changed frames; `words`: where two words of a
        frame are that are kept of each variant."""
        return json.dumps(
            {
                "first_stream": first_stream,
                "streams": [stream.model_dump() for stream in streams],
                "duration_ns": self.duration_ns,
                "drain_ns": self.phases.drain_ns,
                "interval_ns": self.interval_ns,
                "batch_frames": self.batch_frames,
                "lists_batches": self.sample_every_ns is not None,
                "variation": self.variation,
                "changes": self.changes is not None or self.arrivals or compares,
                "marks": self.marks,
                "reset_after_ns": self.reset_after_ns,
                "stop_after_lost": self.stop_after_lost,
                "seed": seed,
                "switches": [switch.model_dump() for switch in self.switches] or None,
                "links_may_fail": self.links_may_fail,
                "promiscuous": list(promiscuous),
                "events": [event.model_dump(include={"name", "after_ns", "undo"}) for event in self.events],
                "words": words,
            }
        )


class NoMoreTrials(Exception):
    """There are no more recorded trials, or there is no time for another one."""
