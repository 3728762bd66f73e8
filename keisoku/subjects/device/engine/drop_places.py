"""Joins the test frames that the kernel dropped with those that were lost, frame by frame.

A dropped frame need not be lost: it may have been a copy, as a bridge makes for each port that it floods. And a lost
frame is lost where its last copy was dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.device.record.drops import DroppedFrames, DropPlace, Drops
from keisoku.subjects.device.record.facts import StreamFacts

_ENTRY = np.dtype([("frame", "<u8"), ("when", "<u8")])
_NUMBER_BITS, _PLACE_BITS = 48, 16
_NONE = -1
_FAR_MORE = 2
"""A share of the lost frames against one of those that arrived, which differ by chance."""


@dataclass(frozen=True)
class Watched:
    """What the kernel dropped in a trial, as `core/src/drops.rs` counts it."""

    places: Mapping[int, DropPlace]
    """Described, by their numbers there."""
    frames: Mapping[int, int]
    """How many test frames each dropped."""
    entries: bytes
    unread: int
    unplaced: int
    absent: Sequence[tuple[str, str]]


def with_places(streams: Sequence[StreamFacts], first_stream: int, start_ns: int, watched: Watched) -> Drops:
    """The places of the lost frames of a trial whose first frame was due at `start_ns` (CLOCK_MONOTONIC).

    `first_stream` is the number of the first stream in its frames.
    """
    numbers = list(watched.places)
    entries = np.frombuffer(watched.entries, _ENTRY)
    # Times are cut to 48 bits: their difference from the begin is not.
    since_ns = (entries["when"] - np.uint64(start_ns << _PLACE_BITS & (1 << 64) - 1)).astype(np.int64) >> _PLACE_BITS
    index = np.full(1 << _PLACE_BITS, _NONE)
    index[numbers] = np.arange(len(numbers))
    found = np.column_stack(
        [
            (entries["frame"] >> np.uint64(_NUMBER_BITS)).astype(np.int64) - first_stream,
            (entries["frame"] & np.uint64((1 << _NUMBER_BITS) - 1)).astype(np.int64),
            index[(entries["when"] & np.uint64((1 << _PLACE_BITS) - 1)).astype(np.int64)],
            since_ns,
        ]
    )
    found = found[found[:, 2] != _NONE]
    times_lost = _times_lost(found, streams)
    branches = [branch.tracked for stream in streams for branch in stream.everywhere]
    lost = sum(own.lost_frames for own in branches)
    arrived = sum(own.forwarded_frames for own in branches)
    evident = _evident(found[:, 2], times_lost, len(numbers), lost, arrived)
    chosen = _last(found, np.where(evident[found[:, 2]], times_lost, 0))
    listed = np.bincount(found[:, 2], minlength=len(numbers))
    places = []
    unlisted = 0
    for place, number in enumerate(numbers):
        own = chosen[chosen[:, 2] == place]
        # What had no entry is counted as lost where the rest is.
        more = watched.frames[number] - int(listed[place]) if evident[place] else 0
        unlisted += more
        update: dict[str, Any] = {"frames": len(own) + more, "copies": watched.frames[number] - len(own) - more}
        if len(own):
            update |= {
                "first_ns": int(own[:, 3].min()),
                "last_ns": int(own[:, 3].max()),
                "streams": tuple(np.unique(own[:, 0]).tolist()),
            }
        places.append(watched.places[number].model_copy(update=update))
    return Drops(
        places=tuple(places),
        frames=DroppedFrames(chosen),
        lost_frames=lost,
        not_seen=max(0, lost - len(chosen) - unlisted),
        unlisted=unlisted,
        unread=watched.unread,
        absent=tuple(watched.absent),
    )


def _times_lost(found: NDArray[np.int64], streams: Sequence[StreamFacts]) -> NDArray[np.int64]:
    """At how many of the ports that it goes to each of these frames is missing."""
    times = np.zeros(len(found), np.int64)
    for number, stream in enumerate(streams):
        own = np.flatnonzero(found[:, 0] == number)
        for branch in stream.everywhere:
            times[own] += branch.tracked.lost.hold(found[own, 1])
    return times


def _evident(
    places: NDArray[np.int64], times_lost: NDArray[np.int64], count: int, lost: int, arrived: int
) -> NDArray[np.bool_]:
    """Places of which to drop a frame there tells that it is lost. Where what arrived is dropped about as often as what
    was lost, it tells nothing: a packet socket drops copies of all frames, and the kernel drops each frame that a
    program forwards which reads such a socket."""
    of_lost: NDArray[np.int64] = np.bincount(places[times_lost > 0], minlength=count)
    of_arrived: NDArray[np.int64] = np.bincount(places[times_lost == 0], minlength=count)
    far_more: NDArray[np.bool_] = of_lost * arrived > _FAR_MORE * of_arrived * lost
    evident: NDArray[np.bool_] = (of_lost > 0) & ((of_arrived == 0) | far_more)
    return evident


def _last(found: NDArray[np.int64], times_lost: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each frame the last drops, as many as times it was lost, in the order of streams and numbers."""
    order = np.lexsort((-found[:, 3], found[:, 1], found[:, 0]))
    order = order[times_lost[order] > 0]
    rows, times = found[order], times_lost[order]
    begins = np.ones(len(rows), bool)
    begins[1:] = np.any(rows[1:, :2] != rows[:-1, :2], axis=1)
    first = np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))
    return rows[np.arange(len(rows)) - first < times]
