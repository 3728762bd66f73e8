"""Loss ratios, and other shares of frames, as properties of the device, with an interval.

How many frames of the trial were lost is exact. How many the device loses of the next frames is an estimate, which
varies as much as the trial's own intervals did.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.share import clopper_pearson
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.subjects.device.analysis.late_load import LateLoad, late_load
from keisoku.subjects.device.analysis.samples import Sample, samples_of
from keisoku.subjects.device.record.counts import Tracked
from keisoku.subjects.device.record.trial_record import TrialRecord

_BATCHES = 10
"""So many intervals of time with as many losses each show the scatter themselves: losses that come regularly, as in an
overload, scatter less than independent ones."""


def loss_ratio(
    tracked: Tracked, offered_frames: int, samples: Sequence[Sample] = (), late: LateLoad | None = None
) -> Quantity:
    """Lost frames in % of those offered (RFC 2544 §26.3), with an interval of 95 %.

    The interval is Student's over `samples`, the trial's intervals of time (batch means); where they hold few losses
    it is at least that of independent ones (Clopper and Pearson 1934). `offered_frames` is above zero. Of a load that
    was `late` at times, it contains the loss ratio of the frames that this did not help as well; where too few are left
    to say it, the most that the device can have lost of a load that is never late.
    """
    lost = offered_frames - tracked.forwarded_frames
    ratio = lost / offered_frames
    lower, upper = clopper_pearson(lost, offered_frames)
    batches = [
        one.lost_frames / (one.lost_frames + one.forwarded_frames)
        for one in samples
        if one.lost_frames + one.forwarded_frames > 0
    ]
    if lost and len(batches) > 1:
        own = half_width(batches)
        # A corrupt frame is lost as well, and no interval of time has it: when it was sent is not known.
        corrupt = max(0, lost - sum(one.lost_frames for one in samples))
        if len(batches) >= _BATCHES and lost - corrupt >= _BATCHES * len(batches):
            own = max(own, 1 / offered_frames)
            least, most = clopper_pearson(corrupt, offered_frames)
            lower = ratio - hypot(own, corrupt / offered_frames - least)
            upper = ratio + (hypot(own, most - corrupt / offered_frames) if corrupt else own)
        else:
            lower, upper = min(lower, ratio - own), max(upper, ratio + own)
    if late is not None:
        lower, upper = _widened(late, ratio, (lower, upper))
    return _percent(ratio, lower, upper)


def share(part: int, whole: int, together: float = 1.0) -> Quantity:
    """So many of some frames, in % with an interval of 95 %, if each is one of them independently of the others.

    `together` is how many of them come at a time on average; then so many fewer are independent. Zero of none.
    """
    if whole == 0:
        return Quantity(value=0.0, unit="%")
    return _percent(part / whole, *clopper_pearson(part / together, whole / together))


def loss_of(record: TrialRecord) -> Quantity:
    """The loss ratio of all frames of a trial that offered some."""
    return loss_and_lateness(record)[0]


def loss_and_lateness(record: TrialRecord) -> tuple[Quantity, bool]:
    """That loss ratio, and whether its interval is another one because the load was late at times."""
    tracked, offered_frames = record.facts.tracked, record.facts.sent.offered_frames
    samples = samples_of(record, tracked)
    plain = loss_ratio(tracked, offered_frames, samples)
    late = late_load(record, record.facts.streams)
    if late is None:
        return plain, False
    found = loss_ratio(tracked, offered_frames, samples, late)
    return found, found.interval != plain.interval


def _widened(late: LateLoad, ratio: float, interval: tuple[float, float]) -> tuple[float, float]:
    """The interval of a loss ratio with what is known of a load that was late."""
    lower, upper = interval
    lost, frames, stretches = late.lost_frames, late.offered_frames, len(late.stretches)
    if lost < _BATCHES:
        return lower, max(upper, late.most(ratio))
    settled = lost / frames
    if stretches >= _BATCHES and lost >= _BATCHES * stretches:
        own = late.half_width(settled)
        return min(lower, settled - own), max(upper, settled + own)
    least, most = clopper_pearson(lost, frames)
    return min(lower, least), max(upper, most)


def _percent(ratio: float, lower: float, upper: float) -> Quantity:
    interval = Interval(lower=100 * max(0.0, lower), upper=100 * min(1.0, upper))
    return Quantity(value=100 * ratio, unit="%", interval=interval, covers="resolution")
