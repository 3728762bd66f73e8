"""Imagined trials: what a plausible device and tester would answer, so that a method goes on to its next trial.

No figure ever comes from here; only the durations of the trials that a method then asks for are used.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

from keisoku.ground.frame.rates import maximum_frames_per_second
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.procedure.rfc2889.broadcast import BROADCAST
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.counts import (
    Buckets,
    Interval,
    IntervalLatency,
    Latency,
    Ranges,
    Sent,
    Tracked,
    Variation,
)
from keisoku.subjects.device.record.facts import Arrived, Branch, Egress, Facts, Receiver, StreamFacts, Transmitter
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.opening import Opened, Opening
from keisoku.subjects.device.record.trial import NS_PER_S, Bursts, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.table import PROCEDURES

TESTER_FPS = 1e6
"""What a port of a tester sends at most where the link has no rate."""
_LATENCY_NS = 10_000
_SAMPLES = 10
_DROPS = 1e-6
"""Rate at which next to nothing passes."""
_NONE = Ranges(count=0, ranges=[], complete=True)
_EMPTY = Buckets()


@dataclass(frozen=True)
class PlausibleDevice:
    """A device whose outputs have a rate and a buffer."""

    rate: float
    """Rate of each output as a share of the link's, or of the tester's where the link has none."""
    buffer_frames: int
    addresses: int
    """Addresses that it can learn, and how many of them in a second."""
    drift_ns_per_s: float
    """By how much its latency grows with time."""


FAST = PlausibleDevice(rate=1.1, buffer_frames=2000, addresses=10**9, drift_ns_per_s=0.0)
"""Forwards whatever a link carries, so that a search ends with its first trial. As every device, it drops frames that
are larger than those of the plan."""
SLOW = PlausibleDevice(rate=0.6, buffer_frames=200, addresses=700, drift_ns_per_s=10_000.0)
"""Forwards a part of it, so that a search has to look for it, and has to try what follows from its faults."""
ALMOST = PlausibleDevice(rate=0.95, buffer_frames=1000, addresses=40_000, drift_ns_per_s=10_000.0)
"""Forwards nearly all, so that most trials of a search lose no frame and last their whole time."""


@dataclass(frozen=True)
class _Way:
    """Frames from one port to another."""

    flow: Flow
    asked: int
    offered: int
    start_ns: int
    end_ns: int

    @property
    def is_broadcast(self) -> bool:
        """Whether the frames arrive at every port."""
        return BROADCAST in (self.flow.modify or ())


def imagine(
    device: PlausibleDevice, plan: Plan, capabilities: Capabilities, index: int, name: str, trial: Trial
) -> TrialRecord:
    """The record of a trial as it would be, with the seconds that it would take."""
    line = capabilities.link_bits_per_second
    most_fps = TESTER_FPS if line is None else maximum_frames_per_second(line, trial.frame_bytes)
    ways = _ways(plan, trial, most_fps if line is None else None)
    by_output = {port: [way for way in ways if _arrives(way, port)] for port in {way.flow.receive for way in ways}}
    rate = device.rate if line is None else min(1.0, device.rate)
    buffer_frames = device.buffer_frames
    if trial.frame_bytes > max(plan.all_frame_bytes):
        rate, buffer_frames = _DROPS, 0
    outputs = {port: _Output.of(own, rate * most_fps, buffer_frames) for port, own in by_output.items()}
    stopped_ns = None
    if trial.stop_after_lost is not None:
        first_lost = [output.lost_at_ns(trial.stop_after_lost) for output in outputs.values()]
        stopped_ns = min((when for when in first_lost if when is not None), default=None)
    share = 1.0 if stopped_ns is None else stopped_ns / trial.duration_ns
    streams = [_stream(device, trial, number, way, outputs[way.flow.receive], share) for number, way in enumerate(ways)]
    last_ns = max(1, round(share * trial.duration_ns))
    sent: dict[int, int] = defaultdict(int)
    for stream in streams:
        sent[stream.transmit] += stream.offered_frames
    flooded = _flooded(device, trial, ways)
    messages = [flow for flow in trial.flows if flow.message]
    for flow in messages:
        sent.setdefault(flow.transmit, 0)
    facts = Facts(
        streams=streams,
        beside=[_message(trial, flow) for flow in messages],
        transmitters=[Transmitter(port=port, sent=_sent(frames, last_ns), stamp="") for port, frames in sent.items()],
        receivers=[
            Receiver(
                port=port,
                foreign_frames=0,
                misdirected_frames=_strays(by_output[port], outputs[port], port) if port in outputs else flooded,
                tester_dropped_frames=0,
                last_received_ns=last_ns + _LATENCY_NS + round(outputs[port].wait_ns) if port in outputs else None,
                stamp="",
            )
            for port in range(len(plan.port_fields()))
        ],
        interference=None,
        interrupted=False,
        stopped_for_loss=stopped_ns is not None,
        opened=None if trial.opening is None else _opened(device, name, trial.opening, most_fps),
    )
    short = stopped_ns is None and any(way.offered < way.asked for way in ways)
    return TrialRecord(
        index=index,
        method=name,
        trial=trial,
        facts=facts,
        started_at="",
        engine_seconds=(trial.whole_ns - trial.duration_ns + last_ns) / NS_PER_S,
        invalid_because=["the imagined tester offered less"] if short else [],
    )


@dataclass(frozen=True)
class _Output:
    """A port at which the frames of several ways meet; rates are in frames/s."""

    arriving: int
    arriving_fps: float
    served_fps: float
    buffer_frames: int
    burst_frames: float = 0.0
    """That wait at the end of a burst."""

    @classmethod
    def of(cls, ways: list[_Way], served_fps: float, buffer_frames: int) -> _Output:
        span_s = (max(way.end_ns for way in ways) - min(way.start_ns for way in ways)) / NS_PER_S
        arriving = sum(way.offered for way in ways)
        # The last frame occupies a time of its own, of which the span of starts knows nothing.
        arriving_fps = max(0, arriving - len(ways)) / span_s
        bursts = (_waiting(way, arriving_fps - way.offered / span_s, served_fps) for way in ways)
        return cls(arriving, arriving_fps, served_fps, buffer_frames, max(bursts))

    @property
    def queued(self) -> float:
        """The most frames that wait, as the last one or that of a burst arrives."""
        if self.arriving_fps <= self.served_fps:
            return min(self.buffer_frames, self.burst_frames)
        return min(self.buffer_frames, self.arriving * (1 - self.served_fps / self.arriving_fps))

    @property
    def wait_ns(self) -> float:
        return self.queued / self.served_fps * NS_PER_S

    @property
    def passing(self) -> int:
        """Arrivals before the first loss."""
        if self.arriving_fps <= self.served_fps:
            return self.arriving
        return min(self.arriving, int(self.buffer_frames / (1 - self.served_fps / self.arriving_fps)))

    @property
    def lost(self) -> int:
        if self.passing == self.arriving:
            return 0
        return round((self.arriving - self.passing) * (1 - self.served_fps / self.arriving_fps))

    def lost_at_ns(self, allowed: int) -> float | None:
        """When more than `allowed` frames are lost; None if never."""
        if self.lost <= allowed:
            return None
        more = (allowed + 1) / (1 - self.served_fps / self.arriving_fps)
        return min(self.arriving, self.passing + more) / self.arriving_fps * NS_PER_S


def _waiting(way: _Way, beside_fps: float, served_fps: float) -> float:
    """Frames of one burst of a flow that wait at its end, with others that come meanwhile; 0 if it has no bursts."""
    pacing = way.flow.pacing
    if not isinstance(pacing, Bursts):
        return 0.0
    if not pacing.gap_ns:
        return pacing.burst_frames
    burst_fps = NS_PER_S / pacing.gap_ns
    return pacing.burst_frames * max(0.0, (burst_fps + beside_fps - served_fps) / burst_fps)


def _ways(plan: Plan, trial: Trial, most_fps: float | None) -> list[_Way]:
    """The flows of a trial, or an even share of the load for each way of the plan's pattern."""
    if trial.flows:
        flows = [flow for flow in trial.flows if not flow.message]
    else:
        pairs = plan.pairs()
        of_port = [sum(one == port for one, _ in pairs) for port, _ in pairs]
        flows = [
            Flow(transmit=one, receive=other, share=1 / ways) for (one, other), ways in zip(pairs, of_port, strict=True)
        ]
    offered = 1.0 if most_fps is None else min(1.0, most_fps / trial.frames_per_second)
    found = []
    for flow in flows:
        asked = max(1, round(trial.frames_in(flow) / flow.streams))
        end_ns = flow.start_ns + (flow.duration_ns or trial.duration_ns - flow.start_ns)
        way = _Way(flow, asked, max(1, round(asked * offered)), flow.start_ns, max(end_ns, flow.start_ns + 1))
        found += [way] * flow.streams
    return found


def _stream(
    device: PlausibleDevice, trial: Trial, number: int, way: _Way, output: _Output, share: float
) -> StreamFacts:
    offered = max(1, round(way.offered * share))
    # Each of the ways to an output loses its part; where the load was stopped, hardly any were lost so far.
    lost = min(offered - 1, round(output.lost * way.offered / output.arriving)) if share == 1 else 1
    if output.lost and not lost and offered > 1:
        lost = 1
    passed = offered - lost
    wait_ns = output.wait_ns
    histogram = Buckets(lower_ns=[_LATENCY_NS - 1], upper_ns=[_LATENCY_NS + round(wait_ns) + 1], counts=[passed])
    first = min(offered - 1, output.passing)
    gap = Gap(first=first, last=offered - 1, count=lost, after_ns=round(way.end_ns * first / offered), before_ns=None)
    tracked = Tracked(
        received_frames=passed,
        forwarded_frames=passed,
        lost_frames=lost,
        corrupt=_NONE,
        corrupt_arrivals=0,
        duplicated=_NONE,
        reordered=_NONE,
        foreign_frames=0,
        lost=[gap] if lost else [],
        lost_kept_as="list",
        latency=Latency(
            count=passed,
            min_ns=_LATENCY_NS,
            max_ns=_LATENCY_NS + wait_ns,
            mean_ns=_LATENCY_NS + wait_ns / 2,
            deviation_ns=wait_ns / sqrt(12),  # they are even, as a queue that grows makes them
            histogram=histogram,
        ),
        variation=Variation(count=passed, min_ns=-1, max_ns=1, mean_ns=0, histogram=_EMPTY)
        if trial.variation
        else None,
        tagged_latency_ns=None if trial.tag is None else float(_LATENCY_NS),
        latency_since_tag=None if trial.tag is None else histogram,
        series=_series(
            device.drift_ns_per_s,
            max(1, trial.duration_ns // _SAMPLES),
            max(1, round(passed * trial.interval_ns / trial.duration_ns)),
        ),
    )
    branches = [
        Branch(receive=port, tracked=tracked, first_received_ns=way.start_ns, last_received_ns=way.end_ns)
        for port in way.flow.also
    ]
    return StreamFacts(
        branches=branches,
        first_received_ns=way.start_ns,
        last_received_ns=way.end_ns,
        stream=number + 1,
        transmit=way.flow.transmit,
        receive=way.flow.receive,
        offered_frames=offered,
        tracked=tracked,
        egress=_egress(way.flow, number, passed),
    )


def _egress(flow: Flow, number: int, passed: int) -> Egress | None:
    """Streams that may leave by any of several ports take them in turn."""
    if not flow.among:
        return None
    ports = (flow.receive, *flow.among)
    arrived = [Arrived(port=port, frames=passed * (port == ports[number % len(ports)])) for port in ports]
    return Egress(stays=[], changes=0, arrived=arrived)


def _message(trial: Trial, flow: Flow) -> StreamFacts:
    """Messages to the device, which arrive nowhere."""
    count = trial.frames_in(flow)
    tracked = Tracked(
        received_frames=0,
        forwarded_frames=0,
        lost_frames=count,
        corrupt=_NONE,
        corrupt_arrivals=0,
        duplicated=_NONE,
        reordered=_NONE,
        foreign_frames=0,
        lost=[],
        lost_kept_as="list",
        latency=None,
        tagged_latency_ns=None,
        series=[],
    )
    return StreamFacts(stream=0, transmit=flow.transmit, receive=flow.receive, offered_frames=count, tracked=tracked)


@lru_cache
def _series(drift_ns_per_s: float, each_ns: int, frames: int) -> list[Interval]:
    """Latencies over time, and how many frames an interval has."""
    found = []
    for place in range(_SAMPLES):
        mean_ns = _LATENCY_NS + drift_ns_per_s * place * each_ns / NS_PER_S
        latency = IntervalLatency(min_ns=mean_ns, max_ns=mean_ns, mean_ns=mean_ns)
        found.append(Interval(start_ns=place * each_ns, forwarded_frames=frames, latency=latency))
    return found


def _arrives(way: _Way, port: int) -> bool:
    return way.flow.receive == port or (way.is_broadcast and way.flow.transmit != port)


def _strays(arriving: list[_Way], output: _Output, port: int) -> int:
    """Broadcast frames of the flows to other ports, which arrive at this one too."""
    strays = sum(way.offered for way in arriving if way.flow.receive != port)
    return strays - round(output.lost * strays / output.arriving)


def _sent(frames: int, last_ns: int) -> Sent:
    return Sent(offered_frames=frames, first_sent_ns=0, last_sent_ns=last_ns, lag_max_ns=0, postponed_ns=0, gaps=_EMPTY)


def _opened(device: PlausibleDevice, name: str, opening: Opening, most_fps: float) -> Opened:
    """As many connections as addresses are known, where that is asked for; not all of those that come too fast."""
    held = opening.connections
    if PROCEDURES[name].fills_device:
        held = min(held, device.addresses)
    if opening.frames_per_second > device.rate * most_fps:
        held = min(held, max(1, opening.connections - 1))
    last = opening.connections - 1
    refused = Ranges(count=opening.connections - held, ranges=[(held, last)] if held <= last else [], complete=True)
    forgot_ns = 10_000_000 + 1000 * opening.connections
    return Opened(refused=refused, forgotten=_NONE, pool=None, forgot_ns=forgot_ns)


def _flooded(device: PlausibleDevice, trial: Trial, ways: list[_Way]) -> int:
    """Frames to addresses that the device could not learn, at each port to which nothing is sent."""
    learning = [way for way in ways if any(text.startswith("Ether.src") for text in way.flow.modify or ())]
    too_many = any(way.asked > device.addresses for way in learning)
    too_fast = bool(learning) and trial.frames_per_second > device.addresses
    return 1 if too_many or too_fast else 0
