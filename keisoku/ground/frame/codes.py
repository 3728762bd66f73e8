"""The class of traffic in a frame (DSCP, ECN, PCP), and those of the frames of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from keisoku.ground.frame.variants import Frames

CE = 3
"""ECN's code point of congestion experienced (RFC 3168 §5)."""
_ECN_BITS = 0b11
_DSCP_BITS = 2
_PCP_BITS = 13
_TAGS = (0x8100, 0x88A8)
_IPV4, _IPV6 = 0x0800, 0x86DD


@dataclass(frozen=True)
class CodePoints:
    """Of a frame without IP, DSCP and ECN are 0; of one without a tag, PCP is (IEEE 802.1Q §6.9.4)."""

    dscp: int
    ecn: int
    pcp: int


def codes(frames: Frames, read: Literal["dscp", "pcp"]) -> list[tuple[int, bool]]:
    """Of each variant: the code point that a device reads, and whether the frame is capable of ECN (ECT)."""
    own = [code_points(frames.frame(number)) for number in range(frames.count)]
    found = [(one.pcp if read == "pcp" else one.dscp, one.ecn in (1, 2)) for one in own]
    return found[:1] if len(set(found)) == 1 else found


def code_points(frame: bytes) -> CodePoints:
    """Of a frame from its destination address on, at least as far as the first bytes of its IP header."""
    at, pcp = 12, 0
    kind = int.from_bytes(frame[at : at + 2])
    if kind in _TAGS:
        pcp = int.from_bytes(frame[at + 2 : at + 4]) >> _PCP_BITS
    while kind in _TAGS:
        at += 4
        kind = int.from_bytes(frame[at : at + 2])
    traffic_class = 0
    if kind == _IPV4:
        traffic_class = frame[at + 3]
    elif kind == _IPV6:
        traffic_class = int.from_bytes(frame[at + 2 : at + 4]) >> 4 & 0xFF
    return CodePoints(traffic_class >> _DSCP_BITS, traffic_class & _ECN_BITS, pcp)
