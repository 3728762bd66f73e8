"""Sub-intervals of a test and the trial intervals in each, with what is known of the path and of this end. No I/O."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.subjects.stream.capacity.pdu import Status
from keisoku.subjects.stream.capacity.rows import Reading

STANDING_MS = 2
"""A least delay of this, of clocks in ms, above the least of the test: the queue was never empty meanwhile, provided
that enough datagrams came to show it."""
ENOUGH = 5
SHORT_MS = 3
"""Mean delay up to which a queue is too short to be seen standing: there a loss says that there was too much."""
HELD_UP = 0.2
"""Share by which a trial interval is longer or shorter than usual, from which on its receiver was held up."""
BUSY = 0.9
"""Share of its time from which on a receiver that reads may be what holds datagrams up."""
BEHIND = 0.02
"""Share of what was due that a sender left out, from which on it and not the path may be the limit."""


@dataclass(frozen=True)
class TrialInterval:
    """What came from one status to the next. Bits are of IP packets."""

    number: int
    lasted_s: float
    bits: int
    full: bool
    """The path had more than it carries all the time: datagrams stood in its queue, or were lost from a short one."""


@dataclass(frozen=True)
class SubIntervalSeen:
    """One sub-interval. Rates are of IP packets."""

    at_s: float
    """Its end, since the first one began."""
    bps: float
    datagrams: int
    lost: int
    delay_most_ms: int
    busy: float
    """Share of the time that this end did not wait."""
    receiver_limited: bool
    """This end did not read as fast as datagrams came."""
    sender_limited: bool
    """This end did not send all that was due."""
    trials: Sequence[TrialInterval]

    @property
    def full(self) -> list[TrialInterval]:
        """Trial intervals that show what the path carries."""
        return [] if self.receiver_limited else [one for one in self.trials if one.full]


def sub_intervals(readings: Sequence[Reading]) -> list[SubIntervalSeen]:
    """Those that are complete and were told; each is told by every status until the next one is complete."""
    found, told_last = [], 0
    usual_us = statistics.median([one.seen.status.lasted_us for one in readings]) if readings else 0
    for told in readings:
        complete = told.seen.status.sub_intervals
        if complete == told_last:
            continue
        told_last = complete
        # Statuses of its trial intervals said that one less was complete; the first status of all was before it.
        inside = [
            place
            for place, one in enumerate(readings)
            if one.seen.status.sub_intervals == complete - 1 and one.seen.status.number > 1
        ]
        if inside:
            found.append(_seen(readings, inside, told, usual_us))
    return found


def _seen(readings: Sequence[Reading], inside: Sequence[int], told: Reading, usual_us: float) -> SubIntervalSeen:
    whole = told.seen.status.sub_interval
    first, last = readings[max(inside[0] - 1, 0)].seen, readings[inside[-1]].seen
    lasted_ns = max(last.at_ns - first.at_ns, 1)
    busy = 1 - (last.waited_ns - first.waited_ns) / lasted_ns
    receives = last.sent == 0
    left_out = last.missed_ns - first.missed_ns > BEHIND * lasted_ns
    unsent = last.unsent - first.unsent > BEHIND * (last.sent - first.sent)
    return SubIntervalSeen(
        at_s=whole.since_ms / 1e3,
        bps=8e6 * (whole.payload_bytes + told.header_bytes * whole.datagrams) / max(whole.lasted_us, 1),
        datagrams=whole.datagrams,
        lost=whole.lost,
        delay_most_ms=whole.delay_most_ms,
        busy=busy,
        receiver_limited=receives and (busy >= BUSY or last.dropped > first.dropped),
        sender_limited=not receives and (left_out or unsent),
        trials=[_trial(readings, place, usual_us) for place in inside],
    )


def _trial(readings: Sequence[Reading], place: int, usual_us: float) -> TrialInterval:
    reading = readings[place]
    status = reading.seen.status
    # What began or ended within a trial interval is seen in its neighbours only.
    near = {one.seen.status.number: one.seen.status for one in readings[max(place - 1, 0) : place + 2]}
    before, after = near.get(status.number - 1), near.get(status.number + 1)
    return TrialInterval(
        number=status.number,
        lasted_s=status.lasted_us / 1e6,
        bits=8 * (status.payload_bytes + reading.header_bytes * status.datagrams),
        full=after is not None
        and abs(status.lasted_us - usual_us) <= HELD_UP * usual_us
        and (
            (_stands(status) and _stands(after))
            or (before is not None and all(_overflows(one) for one in (before, status, after)))
        ),
    )


def _stands(status: Status) -> bool:
    return status.delays >= ENOUGH and status.delay_least_ms >= STANDING_MS


def _overflows(status: Status) -> bool:
    """A queue that is too short to be seen standing."""
    return status.lost > 0 and status.delays > 0 and status.delay_sum_ms <= SHORT_MS * status.delays
