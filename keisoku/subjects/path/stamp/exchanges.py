"""Exchanges of a STAMP session whose four times can be true together; others are left out, and counted.

T1 to T4 are when a packet left, came to the reflector, left it and was back (RFC 8762 §4.2 and §4.3; RFC 5905 §8).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from keisoku.ground.run.result import Flag
from keisoku.language import plural

RUNS_FAST_MOST = 1e-3
"""An oscillator's 100 ppm on both sides, and twice what a kernel lets NTP steer."""


@dataclass(frozen=True)
class Exchanges:
    """Of the packets that were answered and stamped, in order; ns. Empty if there are none."""

    t1_ns: NDArray[np.int64]
    t2_ns: NDArray[np.int64]
    t3_ns: NDArray[np.int64]
    t4_ns: NDArray[np.int64]
    contradictory: int
    """Left out: the reflector answered before it was asked, or held the packet for longer than it was away."""
    jumps: int
    """How often one of the clocks was set."""
    before_or_after: int
    """Left out for that: only the longest stretch between two jumps is kept."""

    def flags(self) -> list[Flag]:
        """What was left out."""
        found = []
        if self.contradictory:
            text = plural(
                "{count} answer is left out: by the reflector's stamps it left before its packet came, or stayed "
                "there for longer than it was away; its clock was set, or its stamps are wrong",
                "{count} answers are left out: by the reflector's stamps they left before their packets came, or "
                "stayed there for longer than they were away; its clock was set, or its stamps are wrong",
                count=self.contradictory,
            )
            found.append(Flag(name="reflector-stamps", text=text))
        if self.jumps:
            set_ = plural(
                "the clock of the reflector or of this host was set {count} time",
                "the clock of the reflector or of this host was set {count} times",
                count=self.jumps,
            )
            text = plural(
                "{set}; {count} answer outside of the longest stretch between is left out",
                "{set}; {count} answers outside of the longest stretch between are left out",
                set=set_,
                count=self.before_or_after,
            )
            found.append(Flag(name="clock-jumped", text=text))
        return found


def exchanges(rows: pa.Table) -> Exchanges:
    """Of the rows of a session."""
    t1, t2, t3, t4 = (rows[name].to_numpy() for name in ("t1_ns", "t2_ns", "t3_ns", "t4_ns"))
    whole = (t1 > 0) & (t4 > 0)
    held = t3 - t2
    sound = whole & (held >= 0) & (held <= (t4 - t1) * (1 + RUNS_FAST_MOST))
    t1, t2, t3, t4 = (part[sound] for part in (t1, t2, t3, t4))
    edges = [0, *_jumps(t1, t3 - t4, t2 - t1), len(t1)]
    first, last = max(pairwise(edges), key=lambda edge: edge[1] - edge[0])
    kept = slice(first, last)
    contradictory, left_out = int((whole & ~sound).sum()), len(t1) - (last - first)
    return Exchanges(t1[kept], t2[kept], t3[kept], t4[kept], contradictory, len(edges) - 2, left_out)


def _jumps(at: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> list[int]:
    """First packets after a jump. `low`, `high`: between which the far clock is ahead, as no delay is below zero."""
    apart = np.abs(np.diff(at)) * RUNS_FAST_MOST
    jumped = (low[1:] > high[:-1] + apart) | (high[1:] < low[:-1] - apart)
    return [int(place) + 1 for place in np.flatnonzero(jumped)]
