"""The four definitions of latency, from one measurement of first bit in to first bit out.

They hold only for a device whose two ports run at the same speed.
"""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.ground.frame.rates import frame_time_ns


@dataclass(frozen=True)
class Latencies:
    """One frame's latency in ns by each definition. First or last bit In, First or last bit Out."""

    fifo_ns: float
    """RFC 1242 §3.8 for bit-forwarding (cut-through) devices."""
    lifo_ns: float
    """RFC 1242 §3.8 for store-and-forward devices; negative if the device cuts through."""
    filo_ns: float
    lilo_ns: float
    """Equals FIFO at equal speeds (RFC 4689 measures its forwarding delay from last bit to last bit)."""


def latencies(fifo_ns: float, link_bits_per_second: float, frame_bytes: int) -> Latencies:
    """All four latencies from the FIFO one; `frame_bytes` from destination address to FCS.

    Raises ValueError for a speed or size that is not above zero.
    """
    frame_ns = frame_time_ns(link_bits_per_second, frame_bytes)
    return Latencies(fifo_ns=fifo_ns, lifo_ns=fifo_ns - frame_ns, filo_ns=fifo_ns + frame_ns, lilo_ns=fifo_ns)
