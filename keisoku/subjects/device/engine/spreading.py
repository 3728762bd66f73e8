"""By which ports the flows of a trial leave a simulated device that spreads them, in the words of its model: when each
flow is cut off, and by which port it leaves afterwards (`Interruption` in `core/src/simulated/device.rs`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from keisoku.ground.frame.field_bits import field_bits
from keisoku.ground.frame.variants import Frames
from keisoku.ground.simulated_device.spreading import EVENT, Spread
from keisoku.subjects.device.record.event import Event
from keisoku.subjects.device.record.trial import NS_PER_S, Stream

BEGIN = Event(name="spread", after_ns=0)
"""Happens in each trial, before its first frame."""


def spreading(spread: Spread, streams: Sequence[Stream], tables: Sequence[Frames]) -> Iterator[dict[str, Any]]:
    """What the events of a trial do to each flow whose frames may arrive at several ports. Raises PlanError for a field
    that its layer does not have."""
    flows = [place for place, stream in enumerate(streams) if stream.among]
    bits = [field_bits(tables[place].frame(0), tables[place].stack, spread.fields) for place in flows]
    usual, without = spread.chosen(bits), spread.without_lost(bits)
    phases_ns = _phases_ns(streams) if spread.spray_frames else []
    for flow, port, other in zip(flows, usual, without, strict=True):
        if spread.spray_frames is None:
            yield _moved(flow, BEGIN.name, port)
        else:
            yield from _sprayed(spread, flow, streams[flow], phases_ns[flow])
        if port == spread.lost_port:
            yield _moved(flow, EVENT, other, cut_ns=spread.outage_ns)
        else:
            yield _moved(flow, EVENT, other, begin_ns=spread.outage_ns)
        yield _moved(flow, EVENT, port, by_undo=True)


def _phases_ns(streams: Sequence[Stream]) -> list[float]:
    """By how much the first frame of each is due after its start, as `core/src/trial/departures.rs` says."""
    whole_fps: dict[tuple[int, int], float] = defaultdict(float)
    for one in streams:
        whole_fps[one.transmit, one.start_ns] += one.frames_per_second
    places: Counter[tuple[int, int]] = Counter()
    found = []
    for one in streams:
        key = one.transmit, one.start_ns
        found.append(places[key] * NS_PER_S / whole_fps[key])
        places[key] += 1
    return found


def _sprayed(spread: Spread, flow: int, stream: Stream, phase_ns: float) -> Iterator[dict[str, Any]]:
    """It takes another port half a gap before every so many frames."""
    frames = spread.spray_frames or stream.frames
    gap_ns = NS_PER_S / stream.frames_per_second
    for turn in range(-(-stream.frames // frames)):
        begin_ns = round(max(0.0, stream.start_ns + phase_ns + (turn * frames - 0.5) * gap_ns))
        yield _moved(flow, BEGIN.name, spread.at_random(flow, turn), begin_ns=begin_ns)


def _moved(
    flow: int, event: str, port: int, *, by_undo: bool = False, begin_ns: int = 0, cut_ns: int = 0
) -> dict[str, Any]:
    return {
        "event": event,
        "by_undo": by_undo,
        "begin_ns": begin_ns,
        "duration_ns": cut_ns,
        "step_ns": 0,
        "first_flow": flow,
        "last_flow": flow,
        "to_port": port,
    }
