"""How two classes share an output while frames of both wait: strict priority, or weights and their ratio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import student

STARVED = 0.01
"""A class that gets less than this share beside another one is starved by it: a weight of 100 to 1 would look the
same."""
_BATCHES = 20
_LEAST_BATCHES = 4


@dataclass(frozen=True)
class Sharing:
    """What one class got beside another one."""

    kind: Literal["before", "behind", "weighted", "unknown"]
    """'before': it is served before the other one; 'weighted': both are served by weight."""
    ratio: Quantity | None = None
    """Its frames for each frame of the other one."""


def sharing(own: Sequence[int], other: Sequence[int]) -> Sharing:
    """From the frames of both classes in equal intervals of time in which frames of both waited.

    The interval of the ratio is that of batch means; a round of the device may be cut at both ends, by a frame of each.
    """
    mine, theirs = sum(own), sum(other)
    if mine + theirs == 0 or len(own) < _LEAST_BATCHES:
        return Sharing("unknown")
    share = mine / (mine + theirs)
    if share < STARVED:
        return Sharing("behind")
    if share > 1 - STARVED:
        return Sharing("before")
    ratio = mine / theirs
    batches = min(_BATCHES, len(own))
    pairs = [
        (float(np.sum(a)), float(np.sum(b)))
        for a, b in zip(np.array_split(own, batches), np.array_split(other, batches), strict=True)
    ]
    rest = [a - ratio * b for a, b in pairs]
    error = math.sqrt(batches / (batches - 1) * sum(one * one for one in rest)) / theirs
    unsure = student(batches - 1) * error + (1 + ratio) / theirs
    interval = Interval(lower=max(0.0, ratio - unsure), upper=ratio + unsure)
    return Sharing("weighted", Quantity(value=ratio, unit="", interval=interval, covers="resolution"))
