"""One trial: its settings (`Trial`), its outcome (`Facts`), and both with context (`TrialRecord`).

Mirrors `core/src/trial.rs` and `core/src/account/record.rs`. Holds counts and intentions; its few properties are
definitions of the RFCs; everything else belongs to `analysis`. It never uses an engine.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from keisoku.subjects.device.record.changes import StreamChanges
from keisoku.subjects.device.record.counts import Marked, Sent, Tracked
from keisoku.subjects.device.record.drops import Drops
from keisoku.subjects.device.record.event import Event, Happened
from keisoku.subjects.device.record.interference import Interference, PortCounters
from keisoku.subjects.device.record.opening import Opened, Opening
from keisoku.subjects.device.record.stacks import Stacks
from keisoku.subjects.device.record.total import all_sent, all_tracked
from keisoku.subjects.device.record.waits import Waits

NS_PER_S = 1_000_000_000
INTERRUPTED_SHARE = 0.2
"""The largest share of a load's time in which the host may stop a sender. Between two stops it sends at the intended
rate, and all frames are sent: the load then lasts longer."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Phases(_Model):
    """The phases around the load of a trial (RFC 2544 §23)."""

    learning: bool = True
    """Send learning frames before the load (RFC 2544 §23 b)."""
    learning_wait_ns: int = Field(2 * NS_PER_S, ge=0)
    drain_ns: int = Field(2 * NS_PER_S, ge=0)
    """How long the receiver waits for frames after the last one was sent (§23 d: 2 s)."""
    rest_ns: int = Field(5 * NS_PER_S, ge=0)
    """Pause for the DUT to settle before the next trial (§23 e: at least 5 s)."""


class Constant(_Model):
    """Frames at equal distances."""

    kind: Literal["constant"] = "constant"


class Bursts(_Model):
    """Bursts with the mean rate of the stream (RFC 2544 §21)."""

    kind: Literal["bursts"] = "bursts"
    burst_frames: int = Field(ge=1)
    gap_ns: int = Field(0, ge=0)
    """Time between the frames of a burst, from start to start; 0: as fast as the port sends."""


class Poisson(_Model):
    """Independent, exponentially distributed gaps, from the run's seed."""

    kind: Literal["poisson"] = "poisson"


class Gaps(_Model):
    """A given list of gaps, repeated; it sets the rate."""

    kind: Literal["gaps"] = "gaps"
    gaps_ns: tuple[int, ...] = Field(min_length=1)

    @property
    def frames_per_second(self) -> float:
        """The only rate that frames with these gaps have; infinite where all are 0."""
        whole_ns = sum(self.gaps_ns)
        return len(self.gaps_ns) * NS_PER_S / whole_ns if whole_ns else math.inf


Pacing = Annotated[Constant | Bursts | Poisson | Gaps, Field(discriminator="kind")]


class Stream(_Model):
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


class Connections(_Model):
    """Which connections the frames of a stream belong to; only a simulated device must be told."""

    count: int
    numbers: tuple[int, ...] | None = None
    """As many as `count`; None: from 0 on."""
    opens: bool
    """The frames come from the side that opens connections."""


class Flow(_Model):
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


class Switch(_Model):
    """How one flow begins and ends in a trial whose flows are started and stopped one by one."""

    waits: bool = False
    """True if the flow does not send before it is started by a call."""
    cut_ns: int | None = Field(None, gt=0)
    """The flow ends so long after its start even if frames are left; None: all are sent, however late."""


class Trial(_Model):
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
    """Flows in place of the plan's pattern; empty: the plan's. The facts have a stream for each flow, in this order."""
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

    @property
    def whole_ns(self) -> int:
        """Length with all its phases (RFC 2544 §23), if its load is not ended early."""
        return self.before_load_ns + self.duration_ns + self.phases.drain_ns + self.phases.rest_ns

    @property
    def before_load_ns(self) -> int:
        """How long learning and the opening of connections take before its load begins."""
        learning_ns = self.phases.learning_wait_ns if self.phases.learning else 0
        opening_ns = sum(load.duration_ns + self.phases.drain_ns for load in self.opening_loads)
        opening_ns += self.opening.wait_ns + self.opening.settle_ns if self.opening else 0
        return learning_ns + opening_ns

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


class Branch(_Model):
    """What became of a stream's frames at one port that they go to."""

    receive: int
    tracked: Tracked
    first_received_ns: int | None = None
    last_received_ns: int | None = None


class Stay(_Model):
    """Consecutive arrivals of a stream at one port; times of transmission, in ns since the first frame was due."""

    port: int
    frames: int
    first_sent_ns: int
    last_sent_ns: int


class Arrived(_Model):
    """All intact arrivals of a stream at one port, duplicates among them."""

    port: int
    frames: int


class Egress(_Model):
    """By which ports the frames of a stream left the device."""

    stays: list[Stay]
    """The first ones and the last one."""
    changes: int
    """How often the port changed."""
    arrived: list[Arrived] = []
    """Of each port that they may arrive at; that which they are meant for first."""

    def port_at(self, sent_ns: int) -> int | None:
        """The port of the last frame that was sent until then, as far as the stays say it; None before the first."""
        before = [stay.port for stay in self.stays if stay.first_sent_ns <= sent_ns]
        return before[-1] if before else None


class StreamFacts(_Model):
    """Facts of one stream; ports are indices of the engine's ports."""

    stream: int
    transmit: int
    receive: int
    offered_frames: int
    unsent_frames: int = 0
    """Frames besides these that were not sent, because the port had no link; they have no sequence number."""
    tracked: Tracked
    changes: StreamChanges | None = None
    """Only where the trial compares headers."""
    arrivals: StreamChanges | None = None
    """Only where the trial counts headers that arrive: then each is a kind."""
    marked: Marked | None = None
    """None if the trial did not ask for it, or where the tester sees no marks."""
    first_received_ns: int | None = None
    """When its first frame arrived, since the start of the trial; only where flows are started one by one, or timed."""
    last_received_ns: int | None = None
    branches: list[Branch] = []
    """The further ports that its frames go to (`Flow.also`): for each, offered = forwarded + lost + corrupt."""
    egress: Egress | None = None
    """None where frames count at the port that they are meant for only."""

    def received_at(self, port: int) -> int:
        """Its intact frames that arrived at a port, duplicates among them; 0 at a port that it is not meant for."""
        if self.egress is not None:
            return sum(each.frames for each in self.egress.arrived if each.port == port)
        return self.tracked.received_frames if self.receive == port else 0

    @property
    def everywhere(self) -> list[Branch]:
        """What became of its frames at each port that they go to, that of the other fields first."""
        first = Branch(
            receive=self.receive,
            tracked=self.tracked,
            first_received_ns=self.first_received_ns,
            last_received_ns=self.last_received_ns,
        )
        return [first, *self.branches]

    @property
    def expected_frames(self) -> int:
        """Frames that must arrive in all: each that was offered, at each port."""
        return self.offered_frames * (1 + len(self.branches))


class Transmitter(_Model):
    """A port that sent."""

    port: int
    sent: Sent
    stamp: str


class Stamped(_Model):
    """Who stamped the arrivals at a port whose hardware was to."""

    by_hardware: int
    by_kernel: int


class Receiver(_Model):
    """A port that received."""

    port: int
    foreign_frames: int
    """Foreign frames, which belong to no stream of the trial."""
    misdirected_frames: int
    """Frames of streams that were meant for another port (a flooding bridge)."""
    tester_dropped_frames: int
    drop_reason: str | None = None
    """Why the tester dropped them, where the port knows."""
    last_received_ns: int | None
    """When the last frame of the trial arrived, since its first frame was due."""
    stamp: str
    stamped: Stamped | None = None
    """Only where the port's hardware was to stamp."""


class Link(_Model):
    """The link of a port during a trial, as the kernel reported it."""

    port: int
    carrier: bool
    """At the end of the trial."""
    carrier_changes: int
    """How often the carrier went or came."""
    lost_ns: int | None
    """When it was first seen to be lost, since the first frame was due."""
    down_ns: int = 0
    """How long it was seen to have none in all."""
    mtu_bytes: tuple[int, int]
    """At the begin and at the end of the trial."""


class Facts(_Model):
    """The facts of one trial, as an engine returns them."""

    streams: list[StreamFacts]
    beside: list[StreamFacts] = []
    """Frames sent beside the test frames (RFC 2544 §11); they are in no total and their loss does not count."""
    transmitters: list[Transmitter]
    receivers: list[Receiver]
    interference: Interference | None
    """Interference by the host during the trial; None in virtual time."""
    interrupted: bool
    stopped_for_loss: bool = False
    """True if the load ended early because more frames than `Trial.stop_after_lost` were lost: this decides the trial,
    but the loss ratio is not that of a whole trial."""
    counters: dict[int, PortCounters] = {}
    """The kernel's counts at each port during the trial; empty in virtual time."""
    links: list[Link] = []
    """Empty in virtual time."""
    happened: list[Happened] = []
    """For each of the trial's events that was done before the load ended, in order."""
    opening: Facts | None = None
    """Of the load that opened the connections, if there was one."""
    handshake: list[Facts] = []
    """Of the loads after that which established them (`Trial.opening_loads`)."""
    opened: Opened | None = None
    """What became of them."""
    threads_ns: dict[str, int] = {}
    """CPU time of the device's threads, by name, where the trial reads it."""
    packet_threads_ns: dict[str, int] = {}
    """The same of the kernel's threads that carry packets, of whatever program."""
    soft_interrupts_ns: dict[int, int] = {}
    """The same of soft interrupts on each CPU on which no sender works, outside these threads, in steps of 10 ms."""
    cpu_counters: dict[str, int] = {}
    """'cycles', 'instructions' and 'cache_misses' of the tester's threads, those of the kernel that carry packets, and
    the device's processes, in a trial that times batches; empty where the machine does not count them."""
    stacks: Stacks | None = None
    """Where in the kernel the CPUs were, where the trial looks at that."""
    drops: Drops | None = None
    """Where in the kernel frames were lost; None where nobody watched."""
    waits: Waits | None = None
    """Where the slowest frames were in this host's kernel; only where that was watched."""

    @property
    def slowdown(self) -> float:
        """How much longer the sender's core took for the same work than at its full speed; 1 if it is not known."""
        return self.interference.slowdown if self.interference is not None else 1.0

    @property
    def device_slowdown(self) -> float:
        """The same for a core on which a device of the lab works beside the sender; 1 if it is not known."""
        return self.interference.device_slowdown if self.interference is not None else 1.0

    def set_apart(self, count: int) -> Facts:
        """The facts with the last `count` streams separated from the others, and removed from the counts of ports."""
        if count == 0:
            return self
        own, beside = self.streams[:-count], self.streams[-count:]
        transmitters = [
            port.model_copy(
                update={
                    "sent": port.sent.model_copy(
                        update={
                            "offered_frames": port.sent.offered_frames
                            - sum(stream.offered_frames for stream in beside if stream.transmit == port.port)
                        }
                    )
                }
            )
            for port in self.transmitters
        ]
        return self.model_copy(update={"streams": own, "beside": beside, "transmitters": transmitters})

    @cached_property
    def sent(self) -> Sent:
        """The total of all senders."""
        return all_sent([transmitter.sent for transmitter in self.transmitters])

    @cached_property
    def tracked(self) -> Tracked:
        """The total of all streams at all ports that they go to, with the foreign frames that these received."""
        strangers = sum(receiver.foreign_frames + receiver.misdirected_frames for receiver in self.receivers)
        return all_tracked([one.tracked for stream in self.streams for one in stream.everywhere], strangers)

    @property
    def expected_frames(self) -> int:
        """Frames that must arrive: those that were offered, where no stream goes to several ports."""
        return sum(stream.expected_frames for stream in self.streams)

    @property
    def tester_dropped_frames(self) -> int:
        """Frames that reached the tester but that it failed to count."""
        return sum(receiver.tester_dropped_frames for receiver in self.receivers)

    @property
    def lost_links(self) -> list[Link]:
        """Ports whose link lost its carrier."""
        return [link for link in self.links if link.lost_ns is not None]

    def name_of(self, port: int) -> str:
        """What the user calls a port: its interface, where that is known."""
        return self.counters[port].port if port in self.counters else f"port {port + 1}"

    @property
    def transmit_stamp(self) -> str:
        """Clock and point at which transmit timestamps were taken."""
        return ", ".join(dict.fromkeys(transmitter.stamp for transmitter in self.transmitters))

    @property
    def receive_stamp(self) -> str:
        """Clock and point at which receive timestamps were taken."""
        return ", ".join(dict.fromkeys(receiver.stamp for receiver in self.receivers))


class TrialRecord(_Model):
    """A finished trial as it is stored: intention, facts, and whether they may be used."""

    index: int
    method: str
    trial: Trial
    facts: Facts
    started_at: str
    """UTC, ISO 8601."""
    engine_seconds: float
    """Time that passed inside the engine, waits included; virtual for simulated devices."""
    invalid_because: list[str]
    """Why this trial is invalid for the DUT; empty if it is valid."""

    @property
    def valid(self) -> bool:
        """False if the tester failed to offer or to count the frames of the trial."""
        return not self.invalid_because

    @property
    def senders(self) -> list[Transmitter]:
        """The ports that had frames to send: an engine may also report ports without any."""
        return [one for one in self.facts.transmitters if self.trial.frames_of(one.port)]

    @cached_property
    def offered_fps(self) -> float:
        """Offered load of a port in frames/s (RFC 2285 §3.5.2), from first to last timestamp without the time in which
        the host stopped the sender, or the mean where bursts end before the trial does; the mean of several ports.

        A sender that was stopped too long for a valid trial offered what it sent in all of the time: what it sent
        between two stops is no load."""
        rates = [_offered_fps(sender.sent, self.trial) for sender in self.senders]
        return sum(rates) / len(rates)

    @property
    def load_fps(self) -> float:
        """Offered load in frames/s that the scatter of two timestamps does not raise above the intended one."""
        return min(self.offered_fps, self.trial.frames_per_second)

    @property
    def intended_frames(self) -> int:
        """Frames that all ports together were to send."""
        return sum(self.trial.frames_of(transmitter.port) for transmitter in self.facts.transmitters)

    @property
    def offered_share(self) -> float:
        """Offered frames as a share of those intended; for a load that was stopped because of loss, of those until
        then."""
        sent = self.facts.sent
        elapsed = min(1.0, sent.going_ns / self.trial.duration_ns) if self.facts.stopped_for_loss else 1.0
        return sent.offered_frames / max(1.0, self.intended_frames * elapsed)

    @property
    def loss_ratio(self) -> float:
        """RFC 2544 §26.3: (offered - forwarded) / offered; corrupt frames count as not forwarded.

        A frame that goes to several ports counts at each of them. For a load that was stopped because of loss it is the
        ratio until then, not that of the whole trial.
        """
        expected = self.facts.expected_frames
        return (expected - self.facts.tracked.forwarded_frames) / expected if expected else 0.0


def _offered_fps(sent: Sent, trial: Trial) -> float:
    if not sent.offered_frames:
        return 0.0
    span_ns = sent.sending_ns
    if sent.interrupted_share > INTERRUPTED_SHARE or sent_briefly(trial, sent):
        whole_ns = max(sent.last_sent_ns, trial.duration_ns)
        return min(trial.frames_per_second, sent.left_frames * NS_PER_S / whole_ns)
    if sent.offered_frames < 2 or span_ns <= 0:
        return trial.frames_per_second
    if sent.refused_frames:
        return sent.left_frames * NS_PER_S / span_ns
    gap_ns = span_ns / (sent.offered_frames - 1)
    # After a burst there is a pause, so the last frame leaves long before the end: RFC 2544 §21 speaks of the mean.
    if trial.duration_ns - sent.going_ns > 2 * gap_ns and sent.offered_frames >= trial.frames:
        return sent.offered_frames * NS_PER_S / trial.duration_ns
    return NS_PER_S / gap_ns


def sent_briefly(trial: Trial, sent: Sent) -> bool:
    """Whether a sender that should send all that it can sent in less than half of the time, which shows little of what
    it can offer: a host that starves it may keep it from sending until the trial is over."""
    if not trial.flat_out or sent.offered_frames >= trial.frames:
        return False
    return 2 * sent.sending_ns < trial.duration_ns


class NoMoreTrials(Exception):
    """There are no more recorded trials, or there is no time for another one."""
