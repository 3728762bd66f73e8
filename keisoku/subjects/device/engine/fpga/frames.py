"""Rows of single frames, and differences of consecutive ones, from an instrument's events.

It never invents a frame that was not reported: frames for which the instrument had no room are an error of the trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from keisoku.errors import EngineError
from keisoku.ground.fpga.events import Event, EventKind
from keisoku.ground.fpga.reading import Counted
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, ENTRY, REORDERED
from keisoku.subjects.device.record.counts import Buckets, Variation

KIND_SHIFT = 8
"""The upper bits of a row's flags are the kind of its change."""
STEP_NS = 8
"""Each latency has two timestamps in steps of 7.8 ns, so a difference of two latencies is known to one step."""
_FLAGS = {EventKind.DUPLICATED: DUPLICATE, EventKind.REORDERED: REORDERED, EventKind.LATE: REORDERED}


def rows(
    events: Sequence[Event],
    stream: int,
    port: int,
    relative: Callable[[int], int],
    kinds: Mapping[tuple[int, int], int],
    intact: Collection[int],
) -> bytes:
    """The entries of frames and corrupt arrivals among a port's events, in their order (`device/record/frames.py`).

    `relative` converts a time of the instrument to a time of the trial. Times have a resolution of 16 ns, latencies of
    8 ns. A frame's verdict, if it has one, is the event just before it. `kinds` are those of changed frames, by number
    and time; of those in `intact` the payload is as it was sent.
    """
    found: list[tuple[int, int, int, int, int, int]] = []
    verdict: Event | None = None
    for event in events:
        kind = kinds.get((event.first, event.time_ns), 0)
        if event.kind is EventKind.CORRUPT:
            found.append(_row(event, stream, port, relative, kind, kind in intact))
        elif event.kind is EventKind.FRAME:
            is_told = verdict is not None and (verdict.first, verdict.time_ns) == (event.first, event.time_ns)
            flags = _FLAGS[verdict.kind] if verdict is not None and is_told else 0
            found.append(_row(event, stream, port, relative, kind, True, flags))
        elif event.kind in _FLAGS:
            verdict = event
    return np.array(found, ENTRY).tobytes()


def changed_rows(
    events: Sequence[Event],
    stream: int,
    port: int,
    relative: Callable[[int], int],
    kinds: Mapping[tuple[int, int], int],
    intact: Collection[int],
) -> bytes:
    """The same, of changed frames alone."""
    verdicts = {(event.first, event.time_ns): _FLAGS[event.kind] for event in events if event.kind in _FLAGS}
    found = []
    for event in events:
        if event.kind not in (EventKind.CHANGED, EventKind.CORRUPT):
            continue
        place = event.first, event.time_ns
        kind = kinds[place]
        found.append(_row(event, stream, port, relative, kind, kind in intact, verdicts.get(place, 0)))
    return np.array(found, ENTRY).tobytes()


def _row(
    event: Event, stream: int, port: int, relative: Callable[[int], int], kind: int, intact: bool, verdict: int = 0
) -> tuple[int, int, int, int, int, int]:
    """The entry of a changed frame, or of a corrupt arrival, which has no times and no verdict."""
    if not intact:
        return event.first, 0, 0, stream, port, CORRUPT | kind << KIND_SHIFT
    received_ns = relative(event.time_ns)
    return event.first, received_ns - event.latency_ns, received_ns, stream, port, verdict | kind << KIND_SHIFT


def check_all_told(events: Sequence[Event], counted: Counted, every: int) -> None:
    """Raises EngineError if fewer frames were reported than one in `every` of those that arrived whole."""
    arrived = counted.forwarded_frames + counted.duplicated_frames + counted.late_frames
    told = sum(event.kind is EventKind.FRAME for event in events)
    missing = -(-arrived // every) - told
    if missing > 0:
        raise EngineError(
            f"frames: the instrument had no room to report {missing} frames; give a larger --frames-every"
        )


def variation(events: Sequence[Event]) -> Variation | None:
    """Latency of each frame less that of the one sent before it, if both arrived; None if there is no such pair.

    Of a duplicated frame the first arrival counts. Differences lie in buckets of 8 ns, the timestamps' step.
    """
    latencies: dict[int, int] = {}
    for event in events:
        if event.kind is EventKind.FRAME:
            latencies.setdefault(event.first, event.latency_ns)
    found = [late - latencies[number - 1] for number, late in latencies.items() if number - 1 in latencies]
    if not found:
        return None
    places = Counter(_bucket(one) for one in found)
    bounds = sorted(places)
    return Variation(
        count=len(found),
        min_ns=min(found),
        max_ns=max(found),
        mean_ns=sum(found) / len(found),
        histogram=Buckets(
            lower_ns=[lower for lower, _ in bounds],
            upper_ns=[upper for _, upper in bounds],
            counts=[places[bound] for bound in bounds],
        ),
    )


def _bucket(difference_ns: int) -> tuple[int, int]:
    """Rounded towards zero on both sides, so that the one about zero is from -8 to 8."""
    lower = abs(difference_ns) // STEP_NS * STEP_NS
    if lower == 0:
        return -STEP_NS, STEP_NS
    return (lower, lower + STEP_NS) if difference_ns > 0 else (-lower - STEP_NS, -lower)
