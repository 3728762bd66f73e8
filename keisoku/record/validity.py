"""Whether a trial may be used: a tester that failed by itself never counts as loss of the DUT (invariant 2).

Pure: looks at counts, returns reasons.
"""

from __future__ import annotations

from keisoku.record.trial import NS_PER_S, Facts, Trial

TOLERANCE = 0.005
"""How far the offered load may fall short of the intended one: software is late now and then."""


def reasons(trial: Trial, facts: Facts) -> list[str]:
    """Why the trial says nothing about the DUT; empty if it does."""
    sent, tracked = facts.sent, facts.tracked
    found = []
    if facts.interrupted:
        found.append("the trial was interrupted")
    elif sent.offered_frames < trial.frames * (1 - TOLERANCE):
        found.append(f"the tester offered {sent.offered_frames} of {trial.frames} frames")
    elif sent.last_sent_ns > trial.duration_ns * (1 + TOLERANCE):
        late = 100 * (sent.last_sent_ns / trial.duration_ns - 1)
        found.append(f"the tester needed {late:.1f} % longer than intended")
    burst = round(sent.lag_max_ns * trial.frames_per_second / NS_PER_S)
    if 0 < tracked.lost_frames <= 2 * burst:
        found.append(
            f"the tester fell {sent.lag_max_ns / 1e6:.1f} ms behind and caught up with a burst of about {burst}"
            f" frames, which may be why {tracked.lost_frames} were lost"
        )
    if facts.tester_dropped_frames:
        found.append(f"the tester itself dropped {facts.tester_dropped_frames} received frames")
    accounted = tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count
    if accounted != sent.offered_frames:
        found.append(f"counts do not add up: {sent.offered_frames} offered, {accounted} accounted for")
    return found
