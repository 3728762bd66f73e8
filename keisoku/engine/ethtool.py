"""The ethtool ioctl: an interface's driver and offloads, read and set.

Every function acts on the network namespace of the calling thread.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket

_SIOCETHTOOL = 0x8946
_GET_DRIVER = 0x03

# linux/ethtool.h: (get, set). Flags are VLAN tags in both directions and LRO in one word.
_COMMANDS = {
    "receive checksum": (0x14, 0x15),
    "transmit checksum": (0x16, 0x17),
    "scatter-gather": (0x18, 0x19),
    "TCP segmentation": (0x1E, 0x1F),
    "generic segmentation": (0x23, 0x24),
    "VLAN tags and LRO": (0x25, 0x26),
    "GRO": (0x2B, 0x2C),
}
OFFLOADS = tuple(_COMMANDS)


class _Request(ctypes.Structure):
    """`struct ifreq` with a pointer as its data."""

    _fields_ = (("name", ctypes.c_char * 16), ("data", ctypes.c_void_p), ("rest", ctypes.c_char * 16))


class _Value(ctypes.Structure):
    """`struct ethtool_value`."""

    _fields_ = (("command", ctypes.c_uint32), ("data", ctypes.c_uint32))


class _Driver(ctypes.Structure):
    """`struct ethtool_drvinfo`."""

    _fields_ = (("command", ctypes.c_uint32), ("driver", ctypes.c_char * 32), ("rest", ctypes.c_char * 160))


def driver(interface: str) -> str | None:
    """Name of the interface's driver, None where it has none."""
    answer = _Driver(_GET_DRIVER)
    return answer.driver.decode() if _call(interface, answer) else None


def offloads(interface: str) -> dict[str, bool]:
    """Which offloads are on, of those that the interface knows."""
    known = {}
    for name, (get, _) in _COMMANDS.items():
        answer = _Value(get)
        if _call(interface, answer):
            known[name] = answer.data != 0
    return known


def set_offload(interface: str, name: str, on: bool) -> bool:
    """Set one of `OFFLOADS`; False if the interface refuses."""
    return _call(interface, _Value(_COMMANDS[name][1], int(on)))


def _call(interface: str, argument: ctypes.Structure) -> bool:
    request = _Request(interface.encode(), ctypes.addressof(argument), b"")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, _SIOCETHTOOL, request)
        except OSError:
            return False
    return True
