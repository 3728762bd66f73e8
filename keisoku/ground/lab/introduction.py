"""Tells the devices around an IPv6 interface who is there, before any frame comes for it (RFC 4861, 7.2.3)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from ipaddress import IPv6Address

_SOLICITATION, _SOURCE_LINK_LAYER_ADDRESS, _UNITS_OF_8_BYTES = 135, 1, 1
_HOP_LIMIT = 255
_SOLICITED_NODES = int(IPv6Address("ff02::1:ff00:0"))


def introduce(interface: str, mac: str, addresses: Iterable[str], gateways: Iterable[str]) -> None:
    """Asks each gateway for its MAC address once from each address, of an interface of the calling thread's namespace.

    A gateway that is asked keeps who asked. The kernel asks only from one address, and a device that does not know the
    MAC address of its next hop drops most of the first frames until it does.
    """
    index, asked = socket.if_nametoindex(interface), [IPv6Address(gateway) for gateway in gateways]
    option = bytes((_SOURCE_LINK_LAYER_ADDRESS, _UNITS_OF_8_BYTES)) + bytes.fromhex(mac.replace(":", ""))
    for address in addresses:
        with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as own:
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, _HOP_LIMIT)
            own.bind((address, 0, 0, index))
            for gateway in asked:
                group = IPv6Address(_SOLICITED_NODES | int(gateway) & 0xFFFFFF)
                # The kernel fills in the checksum.
                question = struct.pack("!BBHI", _SOLICITATION, 0, 0, 0) + gateway.packed + option
                own.sendto(question, (str(group), 0, 0, index))
