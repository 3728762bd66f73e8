"""Whether a trial may be used: a tester that failed by itself never counts as loss of the DUT (invariant 2).

Pure: looks at counts, returns reasons.
"""

from __future__ import annotations

from keisoku.record.trial import Facts, Trial

TOLERANCE = 0.005
"""How far the offered load may fall short of the intended one: software is late now and then."""
LATE_NS = 10_000_000
"""How much later than intended the last frame of a short trial may leave (two lost scheduler ticks)."""


def reasons(trial: Trial, facts: Facts) -> list[str]:
    """Why the trial says nothing about the DUT; empty if it does."""
    sent, tracked = facts.sent, facts.tracked
    found = []
    if facts.interrupted:
        found.append("the trial was interrupted")
    elif sent.offered_frames < trial.frames * (1 - TOLERANCE):
        found.append(f"the tester offered {sent.offered_frames} of {trial.frames} frames")
    elif sent.last_sent_ns > trial.duration_ns + max(LATE_NS, TOLERANCE * trial.duration_ns):
        late = 100 * (sent.last_sent_ns / trial.duration_ns - 1)
        found.append(f"the tester needed {late:.1f} % longer than intended")
    if facts.tester_dropped_frames:
        found.append(f"the tester itself dropped {facts.tester_dropped_frames} received frames")
    accounted = tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count
    if accounted != sent.offered_frames:
        found.append(f"counts do not add up: {sent.offered_frames} offered, {accounted} accounted for")
    return found
