"""A token bucket on the path: trains that run fast until the burst is spent, and at the sustained rate from then on.

A bucket of B bytes that fills at r lets the packet that completes b bytes pass when B + r·t = b, so arrivals lie
on two lines, and the second one gives r (its slope) and B (where it begins).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.path.train.log import Train

KINK = 1.5
"""The second line is steeper by this factor at least."""
LEAST_PACKETS = 12
_LEAST_SIDE = 3
LEAST_BURST_NS = 200_000.0
"""Shortest time at the sustained rate of a burst that is reported: a host that slept when the train came, and then
delivered its first packets together, looks the same."""
_EXPLAINED = 0.8
"""Share by which two lines must reduce the residual of one line."""


@dataclass(frozen=True)
class Bucket:
    """With standard uncertainties; rates of IP packets in bit/s."""

    sustained_bps: float
    sustained_error_bps: float
    burst_bytes: float
    burst_error_bytes: float
    peak_bps: float
    """Before the burst was spent."""
    at_sender: bool
    """Packets already left the sending host like this: the bucket is there."""


def find_bucket(trains: Sequence[Train]) -> Bucket | None:
    """From long trains of one size and direction; None if they show no bucket.

    Every train must show it: other traffic bends a train here or there, a bucket always at the same place. Packets
    that were lost (a full queue behind the bucket) only shorten a train.
    """
    curves = [curve for curve in map(_curve, trains) if curve is not None]
    if len(curves) < 2:
        return None
    length = min(len(received) for _, received, _ in curves)
    received = np.median([received[:length] for _, received, _ in curves], axis=0)
    sent = np.median([sent[:length] for sent, _, _ in curves], axis=0)
    knee = _knee(received)
    if knee is None:
        return None
    found = [one for curve in curves if (one := _lines(*curve[1:], knee)) is not None]
    slow_sent = (sent[-1] - sent[knee]) / (length - 1 - knee)
    slow_received = (received[-1] - received[knee]) / (length - 1 - knee)
    # Other traffic bends some trains, not nearly all.
    if len(found) < 0.75 * len(curves):
        return None
    rates, bursts, peaks = (np.array(column) for column in zip(*found, strict=True))
    ip_bytes = trains[0].ip_bytes
    if (np.median(bursts) - ip_bytes) * 8e9 / np.median(rates) < LEAST_BURST_NS:
        return None
    return Bucket(
        float(np.median(rates)),
        _error(rates),
        float(np.median(bursts)),
        float(np.hypot(_error(bursts), ip_bytes / np.sqrt(12))),
        float(np.median(peaks)),
        bool(slow_sent * KINK > slow_received),
    )


Curve = tuple[NDArray[np.float64], NDArray[np.float64], int]


def _curve(train: Train) -> Curve | None:
    """Departures and arrivals since the first packet's, up to the first loss."""
    whole = (train.received_ns > 0) & (train.sent_ns > 0)
    length = train.count if whole.all() else int(np.argmin(whole))
    if length < LEAST_PACKETS:
        return None
    sent = (train.sent_ns[:length] - train.sent_ns[0]).astype(float)
    received = (train.received_ns[:length] - train.received_ns[0]).astype(float)
    return sent, received, train.ip_bytes


def _knee(received: NDArray[np.float64]) -> int | None:
    """Place of the last packet of the fast part."""
    places = np.arange(len(received), dtype=float)
    whole = _residual(places, received)
    best, best_knee = np.inf, None
    for knee in range(_LEAST_SIDE - 1, len(received) - _LEAST_SIDE):
        fast, slow = slice(0, knee + 1), slice(knee + 1, None)
        residual = _residual(places[fast], received[fast]) + _residual(places[slow], received[slow])
        if residual < best:
            best, best_knee = residual, knee
    if best_knee is None or best > (1 - _EXPLAINED) * whole:
        return None
    fast_slope, slow_slope = _slopes(received, best_knee)
    return best_knee if slow_slope > KINK * fast_slope else None


def _lines(received: NDArray[np.float64], ip_bytes: int, knee: int) -> tuple[float, float, float] | None:
    """Sustained rate, burst and peak rate of one train, if it bends where all do."""
    if len(received) < knee + 1 + _LEAST_SIDE:
        return None
    fast_slope, slow_slope = _slopes(received, knee)
    if slow_slope <= KINK * fast_slope:
        return None
    rate = ip_bytes / slow_slope  # bytes/ns
    places = np.arange(knee + 1, len(received))
    burst = float(np.mean((places + 1) * ip_bytes - rate * received[knee + 1 :]))
    return rate * 8e9, burst, ip_bytes / max(fast_slope, 1e-3) * 8e9


def _slopes(received: NDArray[np.float64], knee: int) -> tuple[float, float]:
    """ns from packet to packet in the fast and in the slow part."""
    fast = float(received[knee] - received[0]) / knee
    slow = received[knee + 1 :]
    return fast, float(np.polyfit(np.arange(len(slow)), slow, 1)[0])


def _residual(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    slope, constant = np.polyfit(x, y, 1)
    return float(((y - slope * x - constant) ** 2).sum())


def _error(values: NDArray[np.float64]) -> float:
    """Standard error of a median, robustly."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float(1.2533 * (high - low) / 1.349 / np.sqrt(len(values)))
