"""`Facts`: the outcome of a trial, in counts and times. Mirrors `core/src/account/record.rs`.

It computes only what RFCs define.
"""

from __future__ import annotations

from functools import cached_property

from keisoku.frozen import Frozen
from keisoku.subjects.device.record.changes import StreamChanges
from keisoku.subjects.device.record.counts import Marked, Sent, Tracked
from keisoku.subjects.device.record.drops import Drops
from keisoku.subjects.device.record.event import Happened
from keisoku.subjects.device.record.exports import Exports
from keisoku.subjects.device.record.interference import Interference, PortCounters
from keisoku.subjects.device.record.opening import Opened
from keisoku.subjects.device.record.stacks import Stacks
from keisoku.subjects.device.record.total import all_sent, all_tracked
from keisoku.subjects.device.record.waits import Waits


class Branch(Frozen):
    """What became of a stream's frames at one port that they go to."""

    receive: int
    tracked: Tracked
    first_received_ns: int | None = None
    last_received_ns: int | None = None


class Stay(Frozen):
    """Consecutive arrivals of a stream at one port; times of transmission, in ns since the first frame was due."""

    port: int
    frames: int
    first_sent_ns: int
    last_sent_ns: int


class Arrived(Frozen):
    """All intact arrivals of a stream at one port, duplicates among them."""

    port: int
    frames: int


class Egress(Frozen):
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


class StreamFacts(Frozen):
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


class Transmitter(Frozen):
    """A port that sent."""

    port: int
    sent: Sent
    stamp: str


class Stamped(Frozen):
    """Who stamped the arrivals at a port whose hardware was to."""

    by_hardware: int
    by_kernel: int


class Receiver(Frozen):
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


class Link(Frozen):
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


class Facts(Frozen):
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
    exports: Exports | None = None
    """What the device exported about the frames; None where nobody listened."""

    @property
    def slowdown(self) -> float:
        """Ratio of the time that the sender's core took for its work to that at full speed; 1 if it is not known."""
        return self.interference.slowdown if self.interference is not None else 1.0

    @property
    def device_slowdown(self) -> float:
        """The same ratio for a core on which a device of the lab works beside the sender; 1 if it is not known."""
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
