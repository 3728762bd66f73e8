"""Which limits can do anything: a port that carries less than a limit does not feel it.

The narrower the range that is searched, the surer a narrow peak in it is found. What a port carries may be more than is
delivered in the end: that is waste, and limits in between are the ones that end it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from keisoku.system.observation import Observation
from keisoku.system.search.candidate import Candidates

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
    views = [(client, at.seconds) for at in shown for client in at.clients if client.name in ports]
    if not views:
        return candidates
    delivered_bps = max(8 * client.sent_bytes / seconds for client, seconds in views)
    carried_bps = max(8 * (client.passed_bytes or client.sent_bytes) / seconds for client, seconds in views)
    top = min(max(HEADROOM * carried_bps, _LEAST * candidates.floor_bps), candidates.line_bps)
    return Candidates(candidates.floor_bps, top, candidates.count, delivered_bps)
