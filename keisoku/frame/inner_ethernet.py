"""An Ethernet header inside a tunnel whose frame keeps room for an FCS. Only the format.

RFC 7348 leaves the inner frame's FCS out of a VXLAN packet. Generators that speak the Open Traffic Generator API keep
its four octets all the same, so that scripts count on them in sizes and lengths.
"""

from __future__ import annotations

from scapy.layers.l2 import Ether

from keisoku.frame.headers import ROOM_BYTES


class InnerEther(Ether):
    """As `Ether`, with four zero bytes behind its payload."""

    name = "Ethernet with room for its FCS"

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """What is outside counts the room, what is inside does not."""
        return bytes(pkt + pay + bytes(ROOM_BYTES))
