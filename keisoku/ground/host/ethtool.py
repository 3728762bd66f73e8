"""The ethtool ioctl: reads an interface's driver, queues and timestamping; reads and sets its offloads, its pause
frames and Energy-Efficient Ethernet.

Every function acts on the network namespace of the calling thread.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
from dataclasses import dataclass

_SIOCETHTOOL = 0x8946
_GET_SETTINGS, _GET_DRIVER = 0x01, 0x03
_GET_PAUSE, _SET_PAUSE = 0x12, 0x13
_GET_COALESCING = 0x0E
_GET_CHANNELS = 0x3C
_GET_TIMESTAMPING = 0x41
_GET_ENERGY, _SET_ENERGY = 0x44, 0x45

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
_RECEIVED_TAGS = 1 << 8
_LRO = 1 << 15
_HALF_DUPLEX = 0
PAUSE_OBEYED, PAUSE_SENT, PAUSE_NEGOTIATED = 1, 2, 4


class _Request(ctypes.Structure):
    """`struct ifreq` with a pointer as its data."""

    _fields_ = (("name", ctypes.c_char * 16), ("data", ctypes.c_void_p), ("rest", ctypes.c_char * 16))


class _Value(ctypes.Structure):
    """`struct ethtool_value`."""

    _fields_ = (("command", ctypes.c_uint32), ("data", ctypes.c_uint32))


class _Driver(ctypes.Structure):
    """`struct ethtool_drvinfo`."""

    _fields_ = (("command", ctypes.c_uint32), ("driver", ctypes.c_char * 32), ("rest", ctypes.c_char * 160))


class _Settings(ctypes.Structure):
    """`struct ethtool_cmd`, whose speed in Mb/s is in two halves."""

    _fields_ = (
        ("command", ctypes.c_uint32),
        ("supported", ctypes.c_uint32 * 2),
        ("speed_low", ctypes.c_uint16),
        ("rest", ctypes.c_uint8 * 6),
        ("packets", ctypes.c_uint32 * 2),
        ("speed_high", ctypes.c_uint16),
        ("rest_too", ctypes.c_uint8 * 14),
    )


class _Timestamping(ctypes.Structure):
    """`struct ethtool_ts_info`."""

    _fields_ = (
        ("command", ctypes.c_uint32),
        ("capabilities", ctypes.c_uint32),
        ("clock", ctypes.c_int32),
        ("transmit_types", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32 * 3),
        ("receive_filters", ctypes.c_uint32),
        ("reserved_too", ctypes.c_uint32 * 3),
    )


class _Pause(ctypes.Structure):
    """`struct ethtool_pauseparam`."""

    _fields_ = (
        ("command", ctypes.c_uint32),
        ("negotiated", ctypes.c_uint32),
        ("receive", ctypes.c_uint32),
        ("transmit", ctypes.c_uint32),
    )


class _Coalescing(ctypes.Structure):
    """`struct ethtool_coalesce`."""

    _fields_ = (("command", ctypes.c_uint32), ("receive_us", ctypes.c_uint32), ("rest", ctypes.c_uint32 * 21))


class _Channels(ctypes.Structure):
    """`struct ethtool_channels`."""

    _fields_ = (
        ("command", ctypes.c_uint32),
        ("most", ctypes.c_uint32 * 4),
        ("receive", ctypes.c_uint32),
        ("transmit", ctypes.c_uint32),
        ("other", ctypes.c_uint32),
        ("combined", ctypes.c_uint32),
    )


class _Energy(ctypes.Structure):
    """`struct ethtool_eee`."""

    _fields_ = (
        ("command", ctypes.c_uint32),
        ("supported", ctypes.c_uint32),
        ("advertised", ctypes.c_uint32),
        ("partner_advertised", ctypes.c_uint32),
        ("active", ctypes.c_uint32),
        ("enabled", ctypes.c_uint32),
        ("low_power_enabled", ctypes.c_uint32),
        ("low_power_timer", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32 * 2),
    )


@dataclass(frozen=True)
class Timestamping:
    """What `ethtool -T` shows, as the kernel's bits: SOF_TIMESTAMPING_*, 1 << HWTSTAMP_TX_*, 1 << HWTSTAMP_FILTER_*."""

    capabilities: int
    transmit_types: int
    receive_filters: int
    phc_index: int | None
    """Number of the PTP hardware clock, /dev/ptpN."""


def timestamping(interface: str) -> Timestamping | None:
    """Which timestamps this interface offers; None where the kernel does not report it."""
    answer = _Timestamping(_GET_TIMESTAMPING)
    if not _call(interface, answer):
        return None
    clock = answer.clock if answer.clock >= 0 else None
    return Timestamping(answer.capabilities, answer.transmit_types, answer.receive_filters, clock)


def driver(interface: str) -> str | None:
    """Name of the interface's driver, None where it has none."""
    answer = _Driver(_GET_DRIVER)
    return answer.driver.decode() if _call(interface, answer) else None


def speed_bps(interface: str) -> int | None:
    """The rate of the interface's line in bit/s; None where there is no line, or it is down."""
    answer = _Settings(_GET_SETTINGS)
    if not _call(interface, answer):
        return None
    mbps = answer.speed_high << 16 | answer.speed_low
    return None if mbps in (0, 0xFFFF, 0xFFFFFFFF) else mbps * 1_000_000


def removes_tags(interface: str) -> bool:
    """Whether it takes VLAN tags out of the frames that it receives."""
    answer = _Value(_COMMANDS["VLAN tags and LRO"][0])
    return _call(interface, answer) and bool(answer.data & _RECEIVED_TAGS)


def half_duplex(interface: str) -> bool:
    """Whether its line carries frames in one direction at a time."""
    answer = _Settings(_GET_SETTINGS)
    return _call(interface, answer) and answer.rest[0] == _HALF_DUPLEX


def pauses(interface: str) -> int | None:
    """What it does with pause frames (IEEE 802.3 annex 31B): the sum of `PAUSE_OBEYED`, `PAUSE_SENT` and
    `PAUSE_NEGOTIATED`; None where it has none."""
    answer = _Pause(_GET_PAUSE)
    if not _call(interface, answer):
        return None
    obeyed, sent = PAUSE_OBEYED * bool(answer.receive), PAUSE_SENT * bool(answer.transmit)
    return obeyed + sent + PAUSE_NEGOTIATED * bool(answer.negotiated)


def set_pauses(interface: str, wanted: int) -> bool:
    """As `pauses` gives it; False if the interface refuses."""
    obeyed, sent, negotiated = (int(wanted & bit != 0) for bit in (PAUSE_OBEYED, PAUSE_SENT, PAUSE_NEGOTIATED))
    return _call(interface, _Pause(_SET_PAUSE, negotiated, obeyed, sent))


def saves_energy(interface: str) -> bool | None:
    """Whether Energy-Efficient Ethernet (IEEE 802.3 clause 78) may put its line to sleep; None where it has none."""
    answer = _Energy(_GET_ENERGY)
    return bool(answer.enabled) if _call(interface, answer) and answer.supported else None


def set_saves_energy(interface: str, on: int) -> bool:
    """False if the interface refuses."""
    wanted = _Energy(_GET_ENERGY)
    if not _call(interface, wanted):
        return False
    wanted.command, wanted.enabled = _SET_ENERGY, on
    return _call(interface, wanted)


def joins_segments(interface: str) -> bool:
    """Whether it joins received TCP segments into larger frames (LRO)."""
    answer = _Value(_COMMANDS["VLAN tags and LRO"][0])
    return _call(interface, answer) and bool(answer.data & _LRO)


def gathers_us(interface: str) -> int | None:
    """For how many µs it may keep the interrupt of a received frame back; None where the driver does not say. An
    adaptive time is 0 here."""
    answer = _Coalescing(_GET_COALESCING)
    return int(answer.receive_us) if _call(interface, answer) else None


def receive_queues(interface: str) -> int | None:
    """How many it has now; None where the driver does not say."""
    answer = _Channels(_GET_CHANNELS)
    return answer.receive + answer.combined if _call(interface, answer) else None


def offloads(interface: str) -> dict[str, bool]:
    """Which of the interface's offloads are on."""
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
