"""The loss ratio of a trial as a property of the device, with an interval.

How many frames of the trial were lost is exact. How many the device loses of the next frames is an estimate, which
varies as much as the trial's own intervals did.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from keisoku.analysis.budget import student
from keisoku.analysis.quantity import Interval, Quantity
from keisoku.device.analysis.samples import Sample, samples_of
from keisoku.device.record.counts import Tracked
from keisoku.device.record.trial import TrialRecord

_NONE_OF = 3.0
"""Nothing of n: the ratio is below 3/n with 95 % confidence (Hanley and Lippman-Hand 1983)."""


def loss_ratio(
    tracked: Tracked, offered_frames: int, samples: Sequence[Sample] = (), interrupted: bool = False
) -> Quantity:
    """Lost frames in % of those offered (RFC 2544 §26.3), with an interval of 95 %.

    The interval is Student's over `samples`, the trial's intervals of time (batch means), and at least that of
    independent losses (Wilson 1927). Nothing lost of n frames is below 3/n. `offered_frames` is above zero. Of a load
    that the host `interrupted`, it contains the median of the samples too: a device with a buffer, or a policer with a
    burst, recovers during each stop and then loses less for a while.
    """
    lost = offered_frames - tracked.forwarded_frames
    ratio = lost / offered_frames
    if lost == 0:
        return _percent(0.0, 0.0, min(1.0, _NONE_OF / offered_frames))
    z2 = student(math.inf) ** 2
    middle = (ratio + z2 / (2 * offered_frames)) / (1 + z2 / offered_frames)
    spread = math.sqrt(z2 * (ratio * (1 - ratio) / offered_frames + z2 / (4 * offered_frames**2)))
    spread /= 1 + z2 / offered_frames
    batches = [
        one.lost_frames / (one.lost_frames + one.forwarded_frames)
        for one in samples
        if one.lost_frames + one.forwarded_frames > 0
    ]
    own = 0.0
    if len(batches) > 1:
        own = student(len(batches) - 1) * statistics.stdev(batches) / math.sqrt(len(batches))
    lower, upper = min(middle - spread, ratio - own), max(middle + spread, ratio + own)
    if interrupted and batches:
        calm = statistics.median(batches)
        lower, upper = min(lower, calm - spread), max(upper, calm + spread)
    return _percent(ratio, lower, upper)


def loss_of(record: TrialRecord) -> Quantity:
    """The loss ratio of all frames of a trial that offered some."""
    tracked = record.facts.tracked
    sent = record.facts.sent
    return loss_ratio(tracked, sent.offered_frames, samples_of(record, tracked), sent.interruptions > 0)


def _percent(ratio: float, lower: float, upper: float) -> Quantity:
    interval = Interval(lower=100 * max(0.0, lower), upper=100 * min(1.0, upper))
    return Quantity(value=100 * ratio, unit="%", interval=interval, covers="resolution")
