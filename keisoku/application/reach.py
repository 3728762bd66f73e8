"""Which limits can do anything: a port that carries less than a limit does not feel it. Pure; it sets none.

The narrower the range that is searched, the surer a narrow peak in it is found.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from keisoku.application.candidate import Candidates
from keisoku.application.observation import Observation

HEADROOM = 1.5
"""Times what a port carries without a limit: a limit above it holds back no more than single bursts."""
LOOKS = 3
"""Intervals without a limit that say what a port carries."""
_LEAST = 2.0
"""Times the floor, however little a port carries."""


def within_reach(candidates: Candidates, shown: Sequence[Observation], ports: Collection[str]) -> Candidates:
    """The candidates, up to what the busiest of these ports carried in intervals without a limit, and some headroom.

    All of them if nothing was shown or no port is named.
    """
    carried = [8 * c.sent_bytes / at.seconds for at in shown for c in at.clients if c.name in ports]
    if not carried:
        return candidates
    top = min(max(HEADROOM * max(carried), _LEAST * candidates.floor_bps), candidates.line_bps)
    return Candidates(candidates.floor_bps, top, candidates.count, max(carried))
