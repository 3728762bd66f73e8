"""The pace of a core while batches were sent, and the batches as they are at one pace.

The pace is how long a fixed piece of work takes: about every millisecond one is worked between batches
(`core/src/port/xdp/batch_pace.rs`). A virtual machine cannot see its clock rate, and nobody tells it that another
hardware thread of its core works; both change the pace. A boost makes work and batches shorter alike, by a seventh on
one machine, so their ratio is the same. A neighbour of the core makes work 40 to 80 % longer and batches 20 to 40 %:
those batches say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keisoku.subjects.device.record.counts import PacedBatches

LOWEST = 0.01
"""This quantile of all batches was sent at full speed, with or without a boost."""
SPEEDS = 1.25
"""A core without a neighbour on it is at most so many times slower than with its boost."""
NEAR = 0.015
"""Paces that differ by this share are one."""
BOOST = 0.8
"""A pace of fewer times the usual one is no boost of the same core."""
SLOWED = 1.04
"""At more times the usual pace a neighbour worked on the core."""


def usual_ns(runs: Sequence[PacedBatches], known_ns: float | None = None) -> float | None:
    """The pace, ns a piece, at which most of the batches were sent that no neighbour slowed. It is the known one unless
    the core was so much faster that it had a neighbour then; None where no batch has a pace."""
    paced = np.array([(pace, count) for run in runs for pace, _, count in run if pace], dtype=float).reshape(-1, 2)
    if not paced.size:
        return known_ns
    paces, place = np.unique(paced[:, 0], return_inverse=True)
    counts = np.bincount(place.reshape(-1), weights=paced[:, 1])
    fastest = paces[int(np.searchsorted(np.cumsum(counts), LOWEST * counts.sum()))]
    full = paces <= SPEEDS * fastest
    paces, counts = paces[full], counts[full]
    near = np.abs(paces[:, None] / paces[None, :] - 1) <= NEAR
    most = near[int(np.argmax(near @ counts))]
    found = float(np.average(paces[most], weights=counts[most]))
    return found if known_ns is None or found < BOOST * known_ns else known_ns


def at_pace(run: PacedBatches, usual: float | None) -> list[tuple[float, int]]:
    """The batches of a run as (ns at the usual pace, how many); infinitely long where a neighbour slowed the core, or
    its pace is not known. Without a usual pace they are as they were."""
    if usual is None:
        return [(took_ns, count) for _, took_ns, count in run]
    return [
        (took_ns * usual / pace if BOOST * usual <= pace <= SLOWED * usual else math.inf, count)
        for pace, took_ns, count in run
    ]
