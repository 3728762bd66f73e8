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

from keisoku.analysis.budget import student
from keisoku.device.record.counts import Sent
from keisoku.device.record.trial import StreamFacts, TrialRecord

_HANDED_OVER_FRAMES = 64
"""A sender stamps at most so many frames before it hands them over. A stop in between comes after their stamps, and
before the device has them."""


@dataclass(frozen=True)
class Stretch:
    """Frames of the load between two shifts, without those that the device met rested."""

    offered_frames: float
    lost_frames: int


@dataclass(frozen=True)
class LateLoad:
    """What is known of the losses of such a load."""

    shifted_share: float
    """Time of all shifts as a share of the time in which the load went on."""
    stretches: list[Stretch]

    @property
    def lost_frames(self) -> int:
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
    streams = [one for one in streams if one.transmit in ports and one.offered_frames]
    lost_ns = np.sort(np.concatenate([_lost_ns(one, ports[one.transmit]) for one in streams] or [np.empty(0)]))
    if not shifts:
        return None
    shifted_share = max(sent.postponed_ns / _going_ns(sent) for sent in ports.values())
    # Nothing more is known of a load that is not the same all the time.
    is_even = not record.trial.switches and not any(flow.start_ns or flow.duration_ns for flow in record.trial.flows)
    if not len(lost_ns) or not is_even:
        return LateLoad(shifted_share, [])
    offered = dict.fromkeys(ports, 0)
    for one in streams:
        offered[one.transmit] += one.offered_frames
    ratio = len(lost_ns) / sum(offered.values())
    until_ns = min(_known_until_ns(sent) for sent in ports.values())
    ahead_ns = max(_HANDED_OVER_FRAMES * _going_ns(sent) / sent.offered_frames for sent in ports.values())
    begun = _merged([(start - ahead_ns, end) for start, end in shifts])
    settled = np.array(list(_settled(begun, _rested_ns(shifts, lost_ns), (1 - ratio) / ratio, until_ns))).reshape(-1, 2)
    frames = np.zeros(len(settled))
    for port, sent in ports.items():
        frames += np.diff(_gone_ns(sent, settled))[:, 0] / _going_ns(sent) * offered[port]
    begins, ends = settled.T
    lost = np.searchsorted(lost_ns, ends) - np.searchsorted(lost_ns, begins, "right")
    return LateLoad(shifted_share, [Stretch(float(a), int(b)) for a, b in zip(frames, lost, strict=True)])


def _rested_ns(shifts: Sequence[tuple[float, float]], lost_ns: NDArray[np.float64]) -> float:
    """The longest time until a loss, without shifts, from the begin or from the last shift before it.

    A sender that was late by less than a shift sends a burst, so the first loss alone may come too early.
    """
    first_ns = float(lost_ns[0] - sum(min(end, lost_ns[0]) - min(start, lost_ns[0]) for start, end in shifts))
    ends = np.array([end for _, end in shifts])
    starts = np.array([start for start, _ in shifts[1:]] + [np.inf])
    next_ns = np.append(lost_ns, np.inf)[np.searchsorted(lost_ns, ends)]
    later: list[float] = (next_ns - ends)[next_ns < starts].tolist()
    return max([first_ns, *later])


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
    is_whole = sum(by_ns for _, by_ns in sent.shifts) == sent.postponed_ns
    return float(sent.last_sent_ns if is_whole else sent.shifts[-1][0])


def _going_ns(sent: Sent) -> int:
    """How long the load of a port lasted without its shifts."""
    return sent.last_sent_ns - sent.postponed_ns


def _gone_ns(sent: Sent, times_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """For how long the load of a port had gone on at some times, without its shifts."""
    ends = np.array(_shifts(sent)).reshape(-1, 2)
    shifted = np.repeat(np.cumsum(ends[:, 1] - ends[:, 0]), 2)
    shifted[::2] -= ends[:, 1] - ends[:, 0]
    at = np.concatenate([[0.0], ends.ravel(), [sent.last_sent_ns]])
    gone: NDArray[np.float64] = np.interp(times_ns, at, at - np.concatenate([[0.0], shifted, shifted[-1:]]))
    return gone


def _lost_ns(stream: StreamFacts, sent: Sent) -> NDArray[np.float64]:
    """When the lost frames of a stream were sent: at equal distances but for the shifts."""
    going_ns = stream.tracked.lost.numbers() / stream.offered_frames * _going_ns(sent)
    starts, ends = np.array(_shifts(sent)).reshape(-1, 2).T
    shifted = np.concatenate([[0.0], np.cumsum(ends - starts)])
    times_ns: NDArray[np.float64] = going_ns + shifted[np.searchsorted(starts - shifted[:-1], going_ns, "right")]
    return times_ns
