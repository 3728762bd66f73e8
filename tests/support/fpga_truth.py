"""What accounting must say, worked out from the model's log alone: the arrivals of one direction in their order.

It must never look at the design or at what it said.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from keisoku.ground.fpga.sim import VERDICTS

CORRUPT = [VERDICTS.index("corrupt"), VERDICTS.index("bad FCS")]


@dataclass(frozen=True)
class Expected:
    """Sequence numbers, in order of arrival; lost ones as a sorted array."""

    sent: int
    lost: np.ndarray
    duplicated: np.ndarray
    reordered: np.ndarray
    corrupt: np.ndarray
    first_arrivals: np.ndarray
    """Rows of the log."""
    intact: np.ndarray
    """Rows of all intact arrivals, copies among them."""


def expected(rows: np.ndarray, from_port: int) -> Expected:
    """What the receiver of the frames that `from_port` sent must say, once all of them have left the model."""
    rows = rows[(rows["from_port"] == from_port) & (rows["number"] >= 0)]
    sent = int((rows["is_copy"] == 0).sum())
    arrived = rows[rows["received_ps"] >= 0]
    arrived = arrived[np.argsort(arrived["received_ps"], kind="stable")]
    is_corrupt = np.isin(arrived["verdict"], CORRUPT)
    corrupt, intact = arrived["number"][is_corrupt], arrived[~is_corrupt]
    numbers = intact["number"]
    first = np.zeros(len(numbers), bool)
    first[np.unique(numbers, return_index=True)[1]] = True
    greatest_before = np.concatenate([[-1], np.maximum.accumulate(numbers)[:-1]]) if len(numbers) else numbers
    reordered = numbers[first & (numbers < greatest_before)]
    missing = np.ones(sent, bool)
    missing[numbers] = False
    return Expected(sent, np.flatnonzero(missing), numbers[~first], reordered, corrupt, intact[first], intact)


def spread(intervals: Iterable[tuple[int, int]]) -> np.ndarray:
    """The sorted numbers of [first, last] intervals; one that two of them hold stands twice."""
    runs = [np.arange(first, last + 1) for first, last in intervals]
    return np.sort(np.concatenate(runs)) if runs else np.zeros(0, np.int64)
