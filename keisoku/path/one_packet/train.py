"""Dispersion of a back-to-back train up to a hop: the slowest stage up to it, independent of the one-packet fits.

Two stages that each hold a packet read as half the rate to one packet, but spread a train by the rate of one of them
(Prasad, Dovrolis, Mah 2003); a token bucket lets one packet through at once, but not a train longer than its burst.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from keisoku.path.one_packet.probe import HopProbe

BITS = 8e9
HURRY = 0.8
"""A train whose transmit stamps span more than this share of its arrival was not sent back-to-back."""


@dataclass(frozen=True)
class Dispersion:
    """Results of the trains to one hop. Rates in bit/s."""

    hop: int
    rate: float
    """Median of the trains."""
    lower: float
    upper: float
    """Smallest and largest train."""
    trains: int
    limited_by_sender: bool
    """The prober sent no faster than this: the path may be faster."""
    reply_bytes: float
    """Median of the bytes of the replies after the first one of a train: the reverse direction spreads replies too."""
    span_ns: float
    """Median time between the first and the last reply used."""


def dispersions(probes: Iterable[HopProbe]) -> dict[int, Dispersion]:
    """By hop, from trains of which at least two packets were answered by that hop.

    Between two answered packets i < j passed the bytes of i+1 … j; packets of the train without an answer passed too.
    """
    trains: dict[tuple[int, int], list[HopProbe]] = {}
    for probe in probes:
        if probe.train is not None:
            trains.setdefault((probe.hop, probe.train), []).append(probe)
    by_hop: dict[int, list[tuple[float, float, float, int]]] = {}
    for (hop, _), packets in trains.items():
        if (found := _train(sorted(packets, key=lambda packet: packet.place))) is not None:
            by_hop.setdefault(hop, []).append(found)
    result = {}
    for hop, found_trains in by_hop.items():
        rates = np.array([train[0] for train in found_trains])
        hurried = float(np.median([train[1] / train[2] for train in found_trains]))
        result[hop] = Dispersion(
            hop=hop,
            rate=float(np.median(rates)),
            lower=float(rates.min()),
            upper=float(rates.max()),
            trains=rates.size,
            limited_by_sender=hurried > HURRY,
            reply_bytes=float(np.median([train[3] for train in found_trains])),
            span_ns=float(np.median([train[2] for train in found_trains])),
        )
    return result


def _train(packets: list[HopProbe]) -> tuple[float, float, float, int] | None:
    """(rate, time to send, time to arrive, bytes of the replies after the first) of one train."""
    answered = [packet for packet in packets if packet.rtt_ns is not None]
    if len(answered) < 2:
        return None
    first, last = answered[0], answered[-1]
    passed = sum(packet.size_bytes for packet in packets if first.place < packet.place <= last.place)
    arrived = (last.sent_ns + (last.rtt_ns or 0)) - (first.sent_ns + (first.rtt_ns or 0))
    if arrived <= 0:
        return None
    back = sum(packet.reply_bytes or 0 for packet in answered[1:])
    return BITS * passed / arrived, float(last.sent_ns - first.sent_ns), float(arrived), back
