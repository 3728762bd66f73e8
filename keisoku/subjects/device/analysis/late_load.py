"""A load that was late at times: which of its frames a device met without having rested before.

When the host stops a sender, or the sender is too slow, it shifts its schedule, and sends fewer frames for a while. A
device with a queue, or a policer with a burst, recovers in this time and loses less for a while after it. How long is
bounded by two things that are known. The device begins each trial rested, so the longest time until a loss, from the
begin or from a shift, shows for how long a rest can help it at all. And whatever a shift gave it lasts at most as long
as the frames that it can forward in the time of the shift replace the losses of the load. The same time is left out
after each shift of a length, whatever was lost in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.uncertainty import student
from keisoku.subjects.device.record.counts import Sent
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.trial_record import TrialRecord

_HANDED_OVER_FRAMES = 64
"""A sender stamps at most so many frames before it hands them over. A stop in between comes after their stamps, and
before the device has them."""


@dataclass(frozen=True)
class Stretch:
    """Frames of the load between two shifts, without those that the device met rested."""

    offered_frames: float
    lost_frames: float


@dataclass(frozen=True)
class LateLoad:
    """What is known of the losses of such a load."""

    shifted_share: float
    """Time of all shifts as a share of the time in which the load went on."""
    stretches: list[Stretch]

    @property
    def lost_frames(self) -> float:
        """In all stretches."""
        return sum(one.lost_frames for one in self.stretches)

    @property
    def offered_frames(self) -> float:
        """In all stretches."""
        return sum(one.offered_frames for one in self.stretches)

    def half_width(self, ratio: float) -> float:
        """Of the interval of 95 % of the share of lost frames, from how the stretches differ (ratio estimator).

        The ends of a stretch are not those of the time from one loss to the next, so each has one frame of resolution.
        """
        count = len(self.stretches)
        squares = sum((one.lost_frames - ratio * one.offered_frames) ** 2 for one in self.stretches)
        scatter: float = student(count - 1) * math.sqrt(squares * count / (count - 1))
        return (scatter + count) / self.offered_frames

    def most(self, ratio: float) -> float:
        """Of a device that lost `ratio`: what it would have lost at most if the load had never been late.

        A device that is busy forwards as many frames in any time. In the time of the shifts it can have forwarded what
        it held back or saved up, so it forwarded no more frames in the whole time than it can.
        """
        return 1 - (1 - ratio) / (1 + self.shifted_share)


def late_load(record: TrialRecord, streams: Sequence[StreamFacts]) -> LateLoad | None:
    """Of some streams of a trial; None if none of its senders was ever late."""
    ports = {one.port: one.sent for one in record.facts.transmitters if _going_ns(one.sent) > 0}
    shifts = _merged(sorted(shift for sent in ports.values() for shift in _shifts(sent)))
    if not shifts:
        return None
    shifted_share = max(sent.postponed_ns / _going_ns(sent) for sent in ports.values())
    # Nothing more is known of a load that is not the same all the time.
    is_even = not record.trial.switches and not any(flow.start_ns or flow.duration_ns for flow in record.trial.flows)
    streams = [one for one in streams if one.transmit in ports and one.offered_frames]
    losses = [_Losses(one, ports[one.transmit]) for one in streams if one.tracked.lost] if is_even else []
    if not losses:
        return LateLoad(shifted_share, [])
    offered = sum(one.offered_frames for one in streams)
    ratio = sum(one.lost_frames for one in losses) / offered
    until_ns = min(_known_until_ns(sent) for sent in ports.values())
    ahead_ns = max(_HANDED_OVER_FRAMES * _going_ns(sent) / sent.offered_frames for sent in ports.values())
    begun = _merged([(start - ahead_ns, end) for start, end in shifts])
    settled = np.array(list(_settled(begun, _rested_ns(shifts, losses), (1 - ratio) / ratio, until_ns))).reshape(-1, 2)
    frames = np.zeros(len(settled))
    for one in streams:
        frames += np.diff(_numbers(one, ports[one.transmit], settled))[:, 0]
    lost = sum((np.diff(one.before(settled))[:, 0] for one in losses), np.zeros(len(settled)))
    return LateLoad(shifted_share, [Stretch(float(a), float(b)) for a, b in zip(frames, lost, strict=True)])


class _Losses:
    """Lost frames of one stream by the time at which they were due."""

    def __init__(self, stream: StreamFacts, sent: Sent) -> None:
        self._stream, self._sent = stream, sent
        self._ranges = stream.tracked.lost.ranges()
        self._edges = self._ranges[:, :2].ravel().astype(np.float64)
        counted = np.cumsum(self._ranges[:, 2])
        self._lost = np.column_stack([counted - self._ranges[:, 2], counted]).ravel().astype(np.float64)
        self.lost_frames = int(counted[-1])

    def before(self, times_ns: NDArray[np.float64]) -> NDArray[np.float64]:
        """How many were due before each time; those of which only the range is known are spread evenly over it."""
        lost: NDArray[np.float64] = np.interp(_numbers(self._stream, self._sent, times_ns), self._edges, self._lost)
        return lost

    def next_in_ns(self, times_ns: NDArray[np.float64]) -> NDArray[np.float64]:
        """How long after each time the next lost frame is over, if no shift comes before it; infinite without one."""
        numbers = _numbers(self._stream, self._sent, times_ns)
        place = np.searchsorted(self._ranges[:, 1], numbers, "right")
        firsts = np.append(self._ranges[:, 0].astype(np.float64), np.inf)[place]
        frame_ns = _going_ns(self._sent) / self._stream.offered_frames
        waited: NDArray[np.float64] = (np.maximum(firsts, numbers) + 1 - numbers) * frame_ns
        return waited


def _rested_ns(shifts: Sequence[tuple[float, float]], losses: Sequence[_Losses]) -> float:
    """The longest time until a loss, without shifts, from the begin or from the last shift before it.

    A sender that was late by less than a shift sends a burst, so the first loss alone may come too early.
    """
    begins = np.array([0.0, *(end for _, end in shifts)])
    waited = np.min([one.next_in_ns(begins) for one in losses], axis=0)
    free = np.array([*(start for start, _ in shifts), np.inf]) - begins
    until_first: float = waited[0]
    later: list[float] = waited[1:][waited[1:] < free[1:]].tolist()
    return max([until_first, *later])


def _settled(
    shifts: Sequence[tuple[float, float]], rested_ns: float, gained: float, end_ns: float
) -> Iterator[tuple[float, float]]:
    """Times in which nothing that a rest gave the device is left: a rest helps for `rested_ns` at most, and a shift for
    `gained` times its length."""
    free_ns = rested_ns
    for start, end in shifts:
        if end > end_ns:
            break
        if start > free_ns:
            yield free_ns, start
        left_ns = max(0.0, free_ns - start)
        free_ns = end + min(rested_ns, left_ns + gained * (end - start))
    else:
        if end_ns > free_ns:
            yield free_ns, end_ns


def _shifts(sent: Sent) -> list[tuple[float, float]]:
    """Begin and end of each, in ns since the first frame was due."""
    return [(float(sent_ns - by_ns), float(sent_ns)) for sent_ns, by_ns in sent.shifts]


def _merged(shifts: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Of shifts in order of time, without overlaps."""
    merged: list[tuple[float, float]] = []
    for start, end in shifts:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _known_until_ns(sent: Sent) -> float:
    """The end of the load, or of the list of its shifts if that is not whole."""
    return float(sent.shifts[-1][0] if sent.unlisted_ns else sent.last_sent_ns)


def _going_ns(sent: Sent) -> int:
    """How long the load of a port lasted without its shifts."""
    return sent.last_sent_ns - sent.postponed_ns


def _numbers(stream: StreamFacts, sent: Sent, times_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many frames of a stream were due at some times: frames leave at equal distances but for the shifts."""
    ends = np.array(_shifts(sent)).reshape(-1, 2)
    shifted = np.repeat(np.cumsum(ends[:, 1] - ends[:, 0]), 2)
    shifted[::2] -= ends[:, 1] - ends[:, 0]
    at = np.concatenate([[0.0], ends.ravel(), [sent.last_sent_ns]])
    going_ns = at - np.concatenate([[0.0], shifted, shifted[-1:]])
    numbers: NDArray[np.float64] = np.interp(times_ns, at, going_ns / _going_ns(sent) * stream.offered_frames)
    return numbers
