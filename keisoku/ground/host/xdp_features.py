"""XDP features of an interface's driver, from the kernel's `netdev` generic-netlink family (Linux 6.3)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from struct import Struct

from keisoku.ground.host.netlink import ask, attribute, attributes, number

# include/uapi/linux/netlink.h and genetlink.h
_GENERIC = 16
_HEADER = Struct("=BBxx")
_CONTROLLER, _GET_FAMILY = 0x10, 3
_FAMILY_ID, _FAMILY_NAME = 1, 2
# include/uapi/linux/netdev.h
_DEV_GET = 1
_INDEX, _XDP, _RECEIVE, _SOCKET = 1, 3, 5, 6
_FEATURES = (
    "native",
    "redirect",
    "transmit",
    "zero-copy",
    "hardware offload",
    "multi-buffer receive",
    "multi-buffer transmit",
)
# NETDEV_XDP_RX_METADATA_*: what an XDP program can ask of a received frame.
_RECEIVE_METADATA = ("timestamp", "hash", "VLAN tag")
# NETDEV_XSK_FLAGS_*: what an AF_XDP socket can ask for a frame that it sends.
_SOCKET_FEATURES = ("transmit timestamp", "transmit checksum", "launch time")


@dataclass(frozen=True)
class XdpFeatures:
    """Names of a driver's features; empty where it has none of a kind (or the kernel is too old to report them)."""

    xdp: tuple[str, ...] = ()
    receive_metadata: tuple[str, ...] = ()
    socket: tuple[str, ...] = ()


def xdp_features(index: int) -> XdpFeatures | None:
    """Features of the driver of an interface in this thread's namespace; None if the kernel cannot report them."""
    try:
        family = _asked(_CONTROLLER, _GET_FAMILY, attribute(_FAMILY_NAME, b"netdev\0"))
        answer = _asked(number(family[_FAMILY_ID]), _DEV_GET, attribute(_INDEX, index.to_bytes(4, sys.byteorder)))
    except OSError:
        return None

    def named(kind: int, names: tuple[str, ...]) -> tuple[str, ...]:
        bits = number(answer.get(kind))
        return tuple(name for place, name in enumerate(names) if bits >> place & 1)

    return XdpFeatures(
        xdp=named(_XDP, _FEATURES),
        receive_metadata=named(_RECEIVE, _RECEIVE_METADATA),
        socket=named(_SOCKET, _SOCKET_FEATURES),
    )


def _asked(family: int, command: int, values: bytes) -> dict[int, bytes]:
    """Attributes of the answer to a command of version 1. Raises OSError if the kernel does not know it."""
    answer = ask(_GENERIC, family, _HEADER.pack(command, 1) + values)
    return attributes(answer[_HEADER.size :])
