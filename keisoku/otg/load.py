"""Flows of a configuration as one trial of an engine. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from keisoku.analysis.rates import NS_PER_S
from keisoku.errors import EngineError
from keisoku.otg.flow import End, Flow
from keisoku.otg.rate import CONTINUOUS_NS
from keisoku.record import trial as record

DRAIN_NS = NS_PER_S // 2
"""How long frames may be under way after the last was sent, before a flow counts as stopped."""
_LATE_NS = 10_000_000
"""How much later than its time, or 0.5 % of it, a flow of so many seconds may send what was held up."""

NextHop = Callable[[End], str | None]
"""MAC address of the router of a device's address; None: that of the receiving end."""


def trial(
    flows: Sequence[Flow], next_hop: NextHop, waiting: Sequence[Flow] | None = None
) -> tuple[record.Trial, dict[str, slice]]:
    """The trial, and which of its streams are each flow's. `waiting`: flows that may join; None if none can.

    Flows whose gateway does not answer cannot join; raises EngineError if one of `flows` has no answer.

    All flows have one clock. OTG knows no phases but the load: no frame is sent that the script does not ask for.
    """
    parts: list[tuple[Flow, End, End, float, int]] = []
    streams: dict[str, slice] = {}
    found: dict[tuple[str, int], dict[str, object]] = {}
    for flow in [*flows, *(waiting or ())]:
        first = len(parts)
        try:
            own_frames = [_frames(flow, *way, next_hop) for way in flow.ways]
        except EngineError:
            if flow in flows:
                raise
            continue
        ways = len(flow.ways)
        rate = flow.timing.frames_per_second / ways
        for place, (transmit, receive) in enumerate(flow.ways):
            frames = flow.timing.frames
            if frames is None:
                duration_ns = flow.timing.duration_ns
            else:
                own = frames // ways + (place < frames % ways)
                if own == 0:
                    continue
                duration_ns = max(1, round(own * NS_PER_S / rate))
            found[flow.name, len(parts)] = own_frames[place]
            parts.append((flow, transmit, receive, rate, duration_ns))
        streams[flow.name] = slice(first, len(parts))
    most = max(rate for *_, rate, _ in parts)
    own_flows = [
        record.Flow(
            transmit=transmit.port,
            receive=receive.port,
            share=rate / most,
            start_ns=flow.timing.start_ns,
            duration_ns=duration_ns,
            frame_bytes=flow.frame_bytes,
            pacing=flow.timing.pacing,
            **found[flow.name, number],
        )
        for number, (flow, transmit, receive, rate, duration_ns) in enumerate(parts)
    ]
    sizes = [size for flow in flows for size in flow.frame_bytes]
    whole = record.Trial(
        purpose="traffic",
        frame_bytes=round(sum(sizes) / len(sizes)),
        frames_per_second=most,
        duration_ns=max(one.start_ns + (one.duration_ns or 0) for one in own_flows),
        phases=record.Phases(learning=False, learning_wait_ns=0, drain_ns=DRAIN_NS, rest_ns=0),
        flows=tuple(own_flows),
        switches=() if waiting is None else tuple(_switch(part[0], part[4], part[0] in flows) for part in parts),
    )
    return whole, streams


def _switch(flow: Flow, duration_ns: int, goes: bool) -> record.Switch:
    # A number of frames is sent however late the tester is; a time is kept, and what is left then is not sent.
    timed = flow.timing.frames is None and flow.timing.duration_ns < CONTINUOUS_NS
    return record.Switch(waits=not goes, cut_ns=duration_ns + max(_LATE_NS, duration_ns // 200) if timed else None)


def _frames(flow: Flow, transmit: End, receive: End, next_hop: NextHop) -> dict[str, object]:
    packet = flow.packet
    if transmit.interface is not None and receive.interface is not None:
        destination = receive.interface.mac if transmit.address is None else next_hop(transmit)
        packet = packet.filled(
            transmit.interface.mac,
            destination or receive.interface.mac,
            None if transmit.address is None else transmit.address.ip,
            None if receive.address is None else receive.address.ip,
        )
    return {"headers": packet.headers, "modify": packet.modify}
