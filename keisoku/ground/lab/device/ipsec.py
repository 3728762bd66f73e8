"""`Ipsec` and `Xfrm`: two routers with an IPsec tunnel (ESP, RFC 4303) between them.

By policies, or with an interface to which routes lead. AES-GCM (RFC 4106) with keys that are always the same.
"""

from __future__ import annotations

from typing import ClassVar

from keisoku.ground.lab.device.kernel_part import ESP, ESP_KEY, XFRM_INTERFACE, KernelPart
from keisoku.ground.lab.device.two_routers import End, TwoRouters

_FIRST_INDEX = 0x100
_REQUEST = 7
_INTERFACE = 7


class Ipsec(TwoRouters):
    """Two routers joined by an IPsec tunnel (ESP), into which policies lead."""

    family: ClassVar[str] = "ipsec"
    title: ClassVar[str] = "IPsec tunnel (ESP) between two routers"
    parts: ClassVar[tuple[KernelPart, ...]] = (ESP,)

    def commands(self, end: End, mtu: int) -> list[str]:
        """States and policies of both directions, and routes that lead to the line."""
        return [
            *end.addresses("line1"),
            *_tunnel(end),
            *end.routes(f"via {end.far_ipv4} dev line1", f"via {end.far_ipv6} dev line1"),
        ]


class Xfrm(Ipsec):
    """Two routers joined by an IPsec tunnel (ESP) with an interface of its own."""

    family: ClassVar[str] = "xfrm"
    title: ClassVar[str] = "IPsec tunnel (ESP) with xfrm interfaces between two routers"
    parts: ClassVar[tuple[KernelPart, ...]] = (ESP, XFRM_INTERFACE)

    def commands(self, end: End, mtu: int) -> list[str]:
        """The same for the interface only, and routes that lead to it."""
        return [
            *end.addresses("line1"),
            f"link add name tunnel mtu {mtu} type xfrm dev line1 if_id {_INTERFACE}",
            "link set dev tunnel up",
            *_tunnel(end, f" if_id {_INTERFACE}"),
            *end.routes("dev tunnel"),
        ]


def _tunnel(end: End, interface: str = "") -> list[str]:
    way = {"out": (end.ipv4, end.far_ipv4), "fwd": (end.far_ipv4, end.ipv4)}
    lines = []
    for direction, (source, destination) in way.items():
        # The state towards end 1 has index 0x101, that towards end 2 has 0x102.
        index = _FIRST_INDEX + int(destination.rpartition(".")[2])
        lines.append(
            f"xfrm state add src {source} dst {destination} proto esp spi {index:#x} reqid {_REQUEST} mode tunnel "
            f"flag af-unspec aead rfc4106(gcm(aes)) {ESP_KEY} 128{interface}"
        )
        inner = zip(end.networks, end.far_networks, strict=True)
        for here, there in inner:
            first, last = (here, there) if direction == "out" else (there, here)
            lines.append(
                f"xfrm policy add src {first} dst {last} dir {direction} tmpl src {source} dst {destination} "
                f"proto esp reqid {_REQUEST} mode tunnel{interface}"
            )
    return lines
