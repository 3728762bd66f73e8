"""IP addresses as text, and in the form of Python's sockets.

A link-local address has its interface by number ('fe80::1%3'), which means the same in every thread and to the core.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what only has a clock does not wait for it
    from pyroute2 import IPRoute

_MAPPED = "::ffff:"


def address_text(found: tuple[Any, ...]) -> str:
    """The IP address of a socket address, Python's or the core's; that of an IPv4 peer of an IPv6 socket is of IPv4."""
    host, _, interface = str(found[0]).partition("%")
    if host.startswith(_MAPPED) and "." in host:
        return host.removeprefix(_MAPPED)
    interface = str(found[3]) if len(found) == 4 and found[3] else interface
    return f"{host}%{interface}" if interface else host


def socket_address(address: str, port: int) -> tuple[Any, ...]:
    """What a socket of `family` binds or connects to; an interface may have its name, in this thread's namespace.

    Raises OSError if there is no such interface.
    """
    host, _, interface = address.partition("%")
    if not interface:
        return host, port
    return host, port, 0, int(interface) if interface.isdigit() else socket.if_nametoindex(interface)


def family(address: str) -> socket.AddressFamily:
    """AF_INET6 or AF_INET."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def interface_towards(ip: IPRoute, address: str) -> int:
    """The number of the interface by which it is reached. Raises NetlinkError if there is no route."""
    host, _, interface = address.partition("%")
    return int(interface) if interface else int(ip.route("get", dst=host)[0].get_attr("RTA_OIF"))
