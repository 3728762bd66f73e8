"""Limits that can have an effect: a port that carries less than a limit is not changed by it.

A narrow peak is found more surely in a narrow range. A port may carry more than is delivered in the end; the
difference is waste, and limits in between end it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from keisoku.subjects.system.observation import Observation
from keisoku.subjects.system.search.candidate import Candidates

HEADROOM = 1.5
"""Multiple of a port's rate without a limit; a limit above it delays single bursts only."""
LOOKS = 3
"""Number of intervals without a limit from which a port's rate is taken."""
_LEAST = 2.0
"""Times the floor, however little a port carries."""


def within_reach(candidates: Candidates, shown: Sequence[Observation], ports: Collection[str]) -> Candidates:
    """The candidates, up to what the busiest of these ports carried in intervals without a limit, and some headroom.

    All of them if there are no observations or no port is named.
    """
    views = [(client, at.seconds) for at in shown for client in at.clients if client.name in ports]
    if not views:
        return candidates
    delivered_bps = max(8 * client.sent_bytes / seconds for client, seconds in views)
    carried_bps = max(8 * (client.passed_bytes or client.sent_bytes) / seconds for client, seconds in views)
    top = min(max(HEADROOM * carried_bps, _LEAST * candidates.floor_bps), candidates.line_bps)
    return Candidates(candidates.floor_bps, top, candidates.count, delivered_bps)
