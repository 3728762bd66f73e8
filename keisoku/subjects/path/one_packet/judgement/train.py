"""Dispersion of back-to-back trains up to a hop: the slowest stage up to it, independent of the one-packet fits.

Two stages that each hold a packet read as half the rate to one packet, but spread a train by the rate of one of them
(Prasad, Dovrolis, Mah 2003); a token bucket lets one packet through at once, but not a train longer than its burst.
Trains of small packets show what every packet costs however short it is, such as the time of a processor.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keisoku.subjects.path.one_packet.probe import HopProbe

BITS = 8e9
HURRY = 0.8
"""A train that the program took more than this share of its arrival to hand over was not sent back-to-back."""
SMALL_BYTES = 200
"""A train of packets up to this length is one of small packets."""


@dataclass(frozen=True)
class Dispersion:
    """Results of the trains of long packets to one hop. Rates in bit/s."""

    hop: int
    rate: float
    """Median of the trains."""
    lower: float
    upper: float
    """Smallest and largest train."""
    trains: int
    limited_by_sender: bool
    """The prober sent no faster than this: the path may be faster."""
    passed_bytes: float
    """Median of the bytes that a train brought to the hop after its first packet."""
    packets: int
    """Of a train."""
    back_bytes: float
    """Bytes of the replies if every packet of a train was answered by the hop or the host: they share the way back."""
    span_ns: float
    """Median time between the first and the last reply used."""
    shortest_ns: float
    """The least of those times: other traffic only adds to it."""
    small_ns: float
    """Median of the same time for trains of as many small packets; 0 without any."""


class _Train(NamedTuple):
    rate: float
    sending_ns: float
    arriving_ns: float
    passed_bytes: int
    packets: int
    reply_bytes: int


def dispersions(probes: Iterable[HopProbe]) -> dict[int, Dispersion]:
    """By hop, from trains of which at least two packets were answered by that hop.

    Between two answered packets i < j passed the bytes of i+1 … j; packets of the train without an answer passed too.
    """
    trains: dict[tuple[int, int], list[HopProbe]] = {}
    for probe in probes:
        if probe.train is not None:
            trains.setdefault((probe.hop, probe.train), []).append(probe)
    long: dict[int, list[_Train]] = {}
    small: dict[int, list[_Train]] = {}
    for (hop, _), packets in trains.items():
        kind = small if max(packet.size_bytes for packet in packets) <= SMALL_BYTES else long
        if (found := _train(sorted(packets, key=lambda packet: packet.place))) is not None:
            kind.setdefault(hop, []).append(found)
    return {hop: _dispersion(hop, of_hop, small.get(hop, [])) for hop, of_hop in long.items()}


def _dispersion(hop: int, trains: list[_Train], small: list[_Train]) -> Dispersion:
    rates = np.array([train.rate for train in trains])
    spans = np.array([train.arriving_ns for train in trains])
    hurried = float(np.median([train.sending_ns / train.arriving_ns for train in trains]))
    return Dispersion(
        hop=hop,
        rate=float(np.median(rates)),
        lower=float(rates.min()),
        upper=float(rates.max()),
        trains=rates.size,
        limited_by_sender=hurried > HURRY,
        passed_bytes=float(np.median([train.passed_bytes for train in trains])),
        packets=max(train.packets for train in trains),
        back_bytes=float(np.median([train.packets * train.reply_bytes for train in trains])),
        span_ns=float(np.median(spans)),
        shortest_ns=float(spans.min()),
        small_ns=float(np.median([train.arriving_ns for train in small])) if small else 0.0,
    )


def _train(packets: list[HopProbe]) -> _Train | None:
    answered = [packet for packet in packets if packet.rtt_ns is not None]
    if len(answered) < 2:
        return None
    first, last = answered[0], answered[-1]
    # Half of a train is no train: what is between may have been lost, and the rest passes a bucket at once.
    if last.place - first.place < len(packets) / 2:
        return None
    passed = sum(packet.size_bytes for packet in packets if first.place < packet.place <= last.place)
    arrived = (last.sent_ns + (last.rtt_ns or 0)) - (first.sent_ns + (first.rtt_ns or 0))
    if arrived <= 0:
        return None
    back = max(packet.reply_bytes or 0 for packet in answered)
    # The kernel's stamps come behind a shaper at this host's own port, which is a part of the first hop.
    handed = (last.handed_ns or last.sent_ns) - (first.handed_ns or first.sent_ns)
    return _Train(BITS * passed / arrived, float(handed), float(arrived), passed, len(packets), back)
