"""An Ethernet header inside a tunnel whose frame has room for an FCS. Only the format.

RFC 7348 omits the inner frame's FCS in a VXLAN packet. Generators with the Open Traffic Generator API keep its four
octets, so scripts expect them in sizes and lengths.
"""

from __future__ import annotations

from scapy.layers.l2 import Ether

from keisoku.ground.frame.payload import FCS_BYTES


class InnerEther(Ether):
    """As `Ether`, with four zero bytes behind its payload."""

    name = "Ethernet with room for its FCS"

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Outer lengths include this room, inner lengths do not."""
        return bytes(pkt + pay + bytes(FCS_BYTES))
