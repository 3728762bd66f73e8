"""How trains were spread by a path: dispersion, and delays cleared of the clocks' different rates.

A train of n packets of L bytes carries 8·L·(n − 1) bits between its first and its last arrival.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.path.train.log import Train
from keisoku.subjects.path.train.skew import without_skew

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Dispersions:
    """Complete trains of one direction, size and length, in the order in which they were sent."""

    bits: float
    """That each carries between first and last arrival (IP packets)."""
    sent_ns: Floats
    """From the first packet's departure to the last one's."""
    received_ns: Floats
    """From the first packet's arrival to the last one's: the dispersion."""
    first_ns: Floats
    """Delay of the first packet, up to a constant that is common to all."""
    last_ns: Floats
    """Delay of the last packet since the first one *left*, up to the same constant: a train that is sent faster than
    the path takes it arrives alike however its packets left, and must not seem better because it left slowly."""
    incomplete: int
    """Trains of which a packet or a stamp is missing."""

    @property
    def sum_ns(self) -> Floats:
        """Delay sum (CapProbe): least where neither packet was queued."""
        return self.first_ns + self.last_ns

    @property
    def rates_bps(self) -> Floats:
        """The rate by each train in bit/s; infinite where both ends have one stamp."""
        with np.errstate(divide="ignore"):
            return np.where(self.received_ns > 0, self.bits / np.maximum(self.received_ns, 1e-3) * 1e9, np.inf)

    def select(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Dispersions:
        """Some of them."""
        return Dispersions(
            self.bits,
            self.sent_ns[which],
            self.received_ns[which],
            self.first_ns[which],
            self.last_ns[which],
            self.incomplete,
        )

    def __len__(self) -> int:
        return len(self.sent_ns)


_NONE = np.zeros(0)
NONE_SENT = Dispersions(0.0, _NONE, _NONE, _NONE, _NONE, 0)
"""Where no train was sent at all."""


def dispersions(trains: Sequence[Train]) -> Dispersions:
    """Raises ValueError if trains are not of one direction, size and length, or there is none."""
    if len({(train.direction, train.ip_bytes, train.count) for train in trains}) != 1:
        raise ValueError("trains of one kind are needed")
    whole = [train for train in trains if train.complete]
    bits = 8.0 * trains[0].ip_bytes * (trains[0].count - 1)
    ends = np.array(
        [(one.sent_ns[0], one.sent_ns[-1], one.received_ns[0], one.received_ns[-1]) for one in whole], np.int64
    ).reshape(-1, 4)
    sent = (ends[:, 1] - ends[:, 0]).astype(float)
    received = (ends[:, 3] - ends[:, 2]).astype(float)
    first, last = ends[:, 2] - ends[:, 0], ends[:, 3] - ends[:, 0]
    if len(whole):
        zero = first.min()
        times = (ends[:, 0] - ends[0, 0]).astype(float)
        corrected = without_skew(times, (first - zero).astype(float))
        last_corrected = (last - zero).astype(float) + (corrected - (first - zero))
        return Dispersions(bits, sent, received, corrected, last_corrected, len(trains) - len(whole))
    nothing = np.zeros(0)
    return Dispersions(bits, sent, received, nothing, nothing, len(trains))
