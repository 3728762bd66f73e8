"""`Hsr`: two routers in a ring (high-availability seamless redundancy, IEC 62439-3)."""

from __future__ import annotations

from typing import ClassVar

from keisoku.errors import EngineError
from keisoku.ground.lab.device.kernel_part import HSR, KernelPart
from keisoku.ground.lab.device.two_routers import End, TwoRouters

_TAG_BYTES = 6
_MOST_MTU = 1494


class Hsr(TwoRouters):
    """Two routers joined by a ring of two lines, which carries each frame in both directions (HSR)."""

    family: ClassVar[str] = "hsr"
    title: ClassVar[str] = "HSR ring between two routers"
    parts: ClassVar[tuple[KernelPart, ...]] = (HSR,)
    lines: ClassVar[int] = 2

    def headroom_bytes(self, port: int) -> int:
        """A ring's MTU is that of Ethernet without a tag, however large that of its lines is (`hsr_get_max_mtu`)."""
        return -_TAG_BYTES

    def commands(self, end: End, mtu: int) -> list[str]:
        """The ring's device has the MAC address of the first line. Raises EngineError if the MTU is too large."""
        if mtu > _MOST_MTU:
            raise EngineError(f"HSR carries IP packets of {_MOST_MTU} bytes at most; make the lab with an MTU of 1500")
        return [
            "link add name ring type hsr slave1 line1 slave2 line2 version 1",
            "link set dev ring up",
            *end.addresses("ring"),
            *end.routes(f"via {end.far_ipv4} dev ring", f"via {end.far_ipv6} dev ring"),
        ]
