"""The packets of a train and what was seen of them: their bytes, and rows of stamps as both ends exchange them.

Sends nothing. A packet says which train it is of and its place there; a stamp that is missing is 0.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keisoku._core import ReceivedPacket, SentPacket

Direction = Literal["forward", "reverse"]

_HEADER = struct.Struct("!4s8sIHH")
_MAGIC = b"kpp1"
HELLO = 0xFFFF_FFFF
"""Train number of packets that only show the address of their sender."""
MOST_PACKETS = 4096
"""Of a train."""

ROW = np.dtype(
    [
        ("train", "<u4"),
        ("index", "<u2"),
        ("ttl", "<u2"),
        ("realtime_ns", "<i8"),
        ("monotonic_ns", "<i8"),
        ("kernel_ns", "<i8"),
        ("hardware_ns", "<i8"),
    ]
)
"""One packet as one end saw it. `ttl` is 0 where it was sent."""
Rows = NDArray[np.void]


@dataclass(frozen=True)
class TrainPlan:
    """A train that is to be sent."""

    stage: str
    """Purpose of the train."""
    direction: Direction
    """Forward is away from the tester."""
    ip_bytes: int
    """Of each packet, with its IP header."""
    count: int


def header_bytes(of_ipv6: bool) -> int:
    """IP and UDP headers of a probe."""
    return 48 if of_ipv6 else 28


def least_ip_bytes(of_ipv6: bool) -> int:
    """The shortest probe."""
    return header_bytes(of_ipv6) + _HEADER.size


def payloads(token: bytes, train: int, ip_bytes: int, count: int, of_ipv6: bool) -> list[bytes]:
    """The payload of each packet. What follows the header does not compress."""
    rest = ip_bytes - least_ip_bytes(of_ipv6)
    if rest < 0:
        raise ValueError(f"a probe cannot have {ip_bytes} bytes")
    filler = np.random.default_rng(train).bytes(rest)
    return [_HEADER.pack(_MAGIC, token, train, index, 0) + filler for index in range(count)]


def sent_rows(train: int, packets: Sequence[SentPacket]) -> Rows:
    """Of the packets of a train that left."""
    rows = np.zeros(len(packets), ROW)
    for index, packet in enumerate(packets):
        rows[index] = (
            train,
            index,
            0,
            packet.realtime_ns,
            packet.monotonic_ns,
            packet.kernel_ns or 0,
            packet.hardware_ns or 0,
        )
    return rows[[packet.error is None for packet in packets]]


def received_rows(token: bytes, packets: Sequence[ReceivedPacket]) -> Rows:
    """Of the packets that are ours; the rest is left out."""
    rows = np.zeros(len(packets), ROW)
    count = 0
    for packet in packets:
        if len(packet.data) < _HEADER.size:
            continue
        magic, found, train, index, _ = _HEADER.unpack_from(packet.data)
        if magic != _MAGIC or found != token:
            continue
        rows[count] = (
            train,
            index,
            packet.ttl or 0,
            packet.realtime_ns,
            packet.monotonic_ns,
            packet.kernel_ns or 0,
            packet.hardware_ns or 0,
        )
        count += 1
    return rows[:count]
