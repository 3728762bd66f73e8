"""What a queue does when it fills, and whether a line or a shaper drains it: verdicts from what probes and flows saw.

- In **fair queueing** each flow has a queue of its own: probes wait much less than the flows that load the path, and
  less than an overload makes others wait.
- A **drop-tail** queue drops when it has no room: loss-based TCP fills it again and again.
- **AQM** (CoDel, PIE and others) drops before: TCP loses packets and stands at a wait far below what an overload shows.
- A **shaper** lets a packet pass at once while its bucket has tokens: a long packet takes no longer than a short one,
  where a line of that rate would have to send it bit by bit.

It does no I/O. docs/how-we-know/paths-and-streams.md says how often it was right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

QueueKind = Literal["none", "drop-tail", "aqm", "fair-queueing", "not told"]
Before = Literal["line", "shaper", "not told"]

NONE_NS = 1e6
"""Up to this wait, and up to `NONE_PACKETS` of the path's packets, a load makes no queue worth a name."""
NONE_PACKETS = 3
ISOLATED = 1 / 3
"""Probes wait less than this share of what the flows wait: fair queueing."""
FILLED, STOOD = 0.7, 0.35
"""Shares of the depth: TCP reached it (drop-tail), and stood above this."""
EARLY = 0.35
"""TCP lost packets and never stood above this share: AQM."""
SERIALISES, PASSES = 0.9, 0.75
"""Shares of the time that a line of that rate needs for the bytes that a long packet has more. Where there is such a
line, the share is 1 and above, as the other lines of the path add theirs; before a shaper it is what these add."""
LOSS_BASED = ("cubic", "reno", "bic", "htcp", "scalable", "westwood")


@dataclass(frozen=True)
class Evidence:
    """Medians of all rounds; ns."""

    stood_ns: float
    """Median wait of probes while TCP loaded this direction."""
    reached_ns: float
    """What 1 in 20 of them waited longer than, the ramp included."""
    depth_ns: float | None
    """What probes waited under overload; None: there was none."""
    full: bool
    """That did not grow any more."""
    own_ns: float
    """How much longer the flows' own round trips were than the idle path's."""
    packet_ns: float
    """Time of a long packet at the rate of the path."""
    lost: bool
    """The flows sent segments again."""
    loss_based: bool
    """Their congestion control fills a queue until it drops."""


def kind(of: Evidence) -> QueueKind:
    """The verdict."""
    little = max(NONE_NS, NONE_PACKETS * of.packet_ns)
    probes = max(of.stood_ns, of.depth_ns or 0.0)
    if max(probes, of.own_ns) < little:
        return "none"
    if of.own_ns >= little and probes < max(ISOLATED * of.own_ns, of.packet_ns):
        return "fair-queueing"
    if of.depth_ns is None or not of.loss_based:
        return "not told"
    if of.full and of.reached_ns >= FILLED * of.depth_ns and of.stood_ns >= STOOD * of.depth_ns:
        return "drop-tail"
    if of.lost and of.stood_ns < EARLY * of.depth_ns:
        return "aqm"
    return "not told"


def before(more_ns: float | None, more_bytes: int, rate_bps: float) -> Before:
    """`more_ns`: how much longer the fastest long packet took, of `more_bytes` more than the fastest short one."""
    if more_ns is None or more_bytes <= 0 or rate_bps <= 0:
        return "not told"
    share = more_ns / (8e9 * more_bytes / rate_bps)
    return "line" if share >= SERIALISES else "shaper" if share <= PASSES else "not told"
