"""What limits one class of traffic that is sent alone: nothing, a policer, or a queue that is emptied at a rate.

A policer loses frames and delays none; whatever shapes a class must first let at least one whole frame wait. It uses
trial records only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.subjects.device.analysis import token_bucket
from keisoku.subjects.device.analysis.token_bucket import Bucket
from keisoku.subjects.device.procedure.rfc4689.class_flows import Window
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.trial import NS_PER_S

_WAITS = 0.5
"""Frames of a class wait if their mean wait is at least so many times the time between two of them."""
_GRAIN = 0.05
"""Share of a frame's time that rounding of timestamps may add to a wait of a whole number of frames."""


@dataclass(frozen=True)
class Limit:
    """What limits a class."""

    kind: Literal["none", "policer", "queue", "nothing arrived"]
    fps: float
    """Frames/s that passed once the limit had set in."""
    least_ns: float
    """Latency without a queue."""
    service_ns: float
    """From one frame to the next, once the limit had set in."""
    bucket: Bucket | None = None
    held: Quantity | None = None
    """The most frames that waited, where there was a queue; 'at least' where it was never full."""


def limit(window: Window, code: int, counted_bytes: int, least_ns: float | None = None) -> Limit:
    """Of the class `code` in a window; with a policer or a shaper, from one stream alone, its token bucket.

    `least_ns` is the latency without a queue where it is known from elsewhere.
    """
    streams = window.streams_of(code)
    seen = [stream.tracked.latency for stream in streams if stream.tracked.latency is not None]
    served = window.served(code, 0.5)
    if not seen or not sum(served):
        return Limit("nothing arrived", 0.0, least_ns or 0.0, 0.0)
    fps = sum(served) / (len(served) * window.interval_ns / NS_PER_S)
    service_ns = NS_PER_S / fps
    found_ns = min(latency.min_ns for latency in seen)
    least_ns = found_ns if least_ns is None else min(found_ns, least_ns)
    lost = sum(stream.tracked.lost_frames for stream in streams)
    wait_ns = _wait_ns(window, streams, least_ns)
    most_wait_ns = max(latency.max_ns for latency in seen) - least_ns
    if wait_ns >= _WAITS * service_ns:
        held = 1 + max(0, math.ceil(most_wait_ns / service_ns - _GRAIN))
        frames = (
            Quantity(value=held, unit="frames", interval=Interval(lower=held, upper=held + 1))
            if lost
            else Quantity(value=held, unit="frames", bound="at least")
        )
        return Limit(
            "queue", fps, least_ns, service_ns, _shaper(window, streams, least_ns, service_ns, counted_bytes), frames
        )
    if lost:
        return Limit("policer", fps, least_ns, service_ns, _policer(window, streams, counted_bytes))
    return Limit("none", fps, least_ns, service_ns)


def _policer(window: Window, streams: list[StreamFacts], counted_bytes: int) -> Bucket | None:
    if len(streams) != 1:
        return None
    served = token_bucket.policed(streams[0].tracked, window.start_ns, counted_bytes)
    return None if served is None else token_bucket.bucket(served, counted_bytes)


def _shaper(
    window: Window, streams: list[StreamFacts], least_ns: float, service_ns: float, counted_bytes: int
) -> Bucket | None:
    if len(streams) != 1:
        return None
    served = token_bucket.shaped(
        streams[0].tracked,
        window.start_ns + least_ns,
        window.interval_ns,
        least_ns + service_ns,
        counted_bytes,
    )
    return None if served is None else token_bucket.bucket(served, counted_bytes)


def _wait_ns(window: Window, streams: list[StreamFacts], least_ns: float) -> float:
    """Median over the second half of the sending of the mean wait of an interval's frames."""
    middle_ns = (window.start_ns + window.end_ns) / 2
    means = [
        interval.latency.mean_ns
        for stream in streams
        for interval in stream.tracked.series
        if interval.latency is not None and middle_ns <= interval.start_ns < window.end_ns
    ]
    return float(np.median(means)) - least_ns if means else 0.0
