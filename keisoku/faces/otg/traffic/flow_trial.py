"""Flows of a configuration as one trial of an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from keisoku.errors import EngineError
from keisoku.faces.otg.flow.flow import End, Flow
from keisoku.faces.otg.flow.header import Packet
from keisoku.faces.otg.flow.rate import CONTINUOUS_NS
from keisoku.faces.otg.flow.tag import TagClass, TagKey
from keisoku.ground.frame.rates import NS_PER_S
from keisoku.subjects.device.record import trial as record

_LATE_NS = 10_000_000
"""How long after its end (or 0.5 % of its duration) a flow with a duration may still send delayed frames."""

NextHop = Callable[[End], str | None]
"""MAC address of the router of a device's address; None: that of the receiving end."""
Outlets = Callable[[End], Sequence[int]]
"""Ports by which frames of an end leave now; EngineError if there is none."""


@dataclass(frozen=True)
class FlowTrial:
    """Flows as an engine carries them out."""

    trial: record.Trial
    streams: dict[str, slice]
    """Which streams of the trial are each flow's."""
    tags: tuple[TagKey, ...]
    """By stream, the values of its frames in the bits that a script tags."""


@dataclass(frozen=True)
class _Part:
    """One stream."""

    flow: Flow
    transmit: int
    receive: End
    tag: TagClass
    packet: Packet
    rate: float
    duration_ns: int


def trial(
    flows: Sequence[Flow], outlets: Outlets, next_hop: NextHop, waiting: Sequence[Flow] | None, drain_ns: int
) -> FlowTrial:
    """The flows as a trial. `waiting`: flows that may join; None if none can. Frames may still arrive for `drain_ns`.

    Flows whose LAG is down or whose gateway does not answer cannot join; raises EngineError if it is one of `flows`.

    All flows have one clock. OTG has only the load, without other phases: only the script's frames are sent.
    """
    parts: list[_Part] = []
    streams: dict[str, slice] = {}
    for flow in [*flows, *(waiting or ())]:
        first = len(parts)
        try:
            parts += _parts(flow, outlets, next_hop)
        except EngineError:
            if flow in flows:
                raise
            continue
        streams[flow.name] = slice(first, len(parts))
    most = max(part.rate for part in parts)
    own_flows = [
        record.Flow(
            transmit=part.transmit,
            receive=part.receive.port,
            among=part.flow.arrives_at(part.receive)[1:],
            share=part.rate / most,
            start_ns=part.flow.timing.start_ns,
            duration_ns=part.duration_ns,
            frame_bytes=part.tag.frame_bytes,
            pacing=part.flow.timing.pacing,
            headers=part.packet.headers,
            modify=part.packet.modify,
        )
        for part in parts
    ]
    sizes = [size for flow in flows for size in flow.frame_bytes]
    whole = record.Trial(
        purpose="traffic",
        frame_bytes=round(sum(sizes) / len(sizes)),
        frames_per_second=most,
        duration_ns=max(one.start_ns + (one.duration_ns or 0) for one in own_flows),
        arrivals=any(flow.egress is not None for flow in (*flows, *(waiting or ()))),
        phases=record.Phases(learning=False, learning_wait_ns=0, drain_ns=drain_ns, rest_ns=0),
        flows=tuple(own_flows),
        links_may_fail=True,  # a script sets them down and up itself
        switches=() if waiting is None else tuple(_switch(part, part.flow in flows) for part in parts),
    )
    return FlowTrial(whole, streams, tuple(part.tag.key for part in parts))


def _switch(part: _Part, goes: bool) -> record.Switch:
    # With a number of frames all are sent, however late; with a duration the frames left at its end are not sent.
    timing, duration_ns = part.flow.timing, part.duration_ns
    timed = timing.frames is None and timing.duration_ns < CONTINUOUS_NS
    return record.Switch(waits=not goes, cut_ns=duration_ns + max(_LATE_NS, duration_ns // 200) if timed else None)


def _parts(flow: Flow, outlets: Outlets, next_hop: NextHop) -> list[_Part]:
    """A stream for each way, for each value of the tags on it, and for each of its lanes."""
    found = []
    ways, timing = len(flow.ways), flow.timing
    for place, (transmit, receive) in enumerate(flow.ways):
        ports = outlets(transmit)
        for tag in flow.tagged:
            rate = timing.frames_per_second / ways * tag.share
            duration_ns = timing.duration_ns
            if timing.frames is not None:
                own = tag.frames_of(timing.frames // ways + (place < timing.frames % ways))
                if own == 0:
                    continue
                duration_ns = max(1, round(own * NS_PER_S / rate))
            packet = filled(tag.packet, transmit, receive, next_hop)
            port = ports[(place + tag.lane) % len(ports)]
            found.append(_Part(flow, port, receive, tag, packet, rate, duration_ns))
    return found


def filled(packet: Packet, transmit: End, receive: End, next_hop: NextHop) -> Packet:
    """The headers with the addresses of both ends where the script gives none, if the ends are devices."""
    if transmit.interface is None or receive.interface is None:
        return packet
    destination = receive.interface.mac if transmit.address is None else next_hop(transmit)
    return packet.filled(
        transmit.interface.mac,
        destination or receive.interface.mac,
        transmit.ips,
        receive.ips,
    )
