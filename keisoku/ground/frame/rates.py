"""The highest frame rates of a link and the times on the wire, by IEEE 802.3."""

from __future__ import annotations

OVERHEAD_BYTES = 20
"""Preamble and start delimiter (8) and the smallest inter-frame gap (12), IEEE 802.3 §4.4.2."""
HEADER_AND_FCS_BYTES = 18
"""A frame needs an MTU that is smaller than its size by this (Ethernet header 14, FCS 4)."""
TAG_BYTES = 4
"""Of an IEEE 802.1Q tag."""
NS_PER_S = 1_000_000_000


def maximum_frames_per_second(link_bits_per_second: float, frame_bytes: int) -> float:
    """Theoretical maximum in frames/s at the smallest gap (RFC 2544 §26.1 and appendix B).

    `frame_bytes` counts from destination address to FCS. 64 byte at 1 Gb/s: 1 488 095.2 frames/s.
    Raises ValueError for a speed or size that is not above zero.
    """
    _check(link_bits_per_second, frame_bytes)
    return link_bits_per_second / ((frame_bytes + OVERHEAD_BYTES) * 8)


def frame_time_ns(link_bits_per_second: float, frame_bytes: int) -> float:
    """Time in ns from the first to the last bit of a frame on the link, without preamble and gap.

    Raises ValueError for a speed or size that is not above zero.
    """
    _check(link_bits_per_second, frame_bytes)
    return frame_bytes * 8 * NS_PER_S / link_bits_per_second


def bits_per_second(frames_per_second: float, frame_bytes: int) -> float:
    """Bit rate of the frames themselves, from destination address to FCS, without preamble and gap."""
    return frames_per_second * frame_bytes * 8


def _check(link_bits_per_second: float, frame_bytes: int) -> None:
    if not link_bits_per_second > 0:
        raise ValueError(f"a link's speed must be above zero, got {link_bits_per_second} bit/s")
    if not frame_bytes > 0:
        raise ValueError(f"a frame's size must be above zero, got {frame_bytes} byte")
