"""Readings of a PTP hardware clock against the system clock, by the ioctls made for it.

They are narrower than `clock_gettime` on the device: the driver reads the system clock on both sides of the one
bus access that counts, and PRECISE takes both clocks in hardware at one moment. It never sets a clock.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import time

from keisoku.errors import EngineError
from keisoku.subjects.clock.relation import Reading

SAMPLES = 25
"""PTP_MAX_SAMPLES: readings in one call."""
_NS_PER_S = 1_000_000_000


class _Time(ctypes.Structure):
    """`struct ptp_clock_time`."""

    _fields_ = (("sec", ctypes.c_int64), ("nsec", ctypes.c_uint32), ("reserved", ctypes.c_uint32))

    def ns(self) -> int:
        return int(self.sec) * _NS_PER_S + int(self.nsec)


class _Extended(ctypes.Structure):
    """`struct ptp_sys_offset_extended`; the clock is honoured from Linux 6.12 on, before that it must be 0."""

    _fields_ = (
        ("samples", ctypes.c_uint),
        ("clock", ctypes.c_int),
        ("reserved", ctypes.c_uint * 2),
        ("times", _Time * 3 * SAMPLES),
    )


class _Precise(ctypes.Structure):
    """`struct ptp_sys_offset_precise`."""

    _fields_ = (("device", _Time), ("realtime", _Time), ("raw", _Time), ("reserved", ctypes.c_uint * 4))


def _read_write(number: int, structure: type[ctypes.Structure]) -> int:
    """_IOWR('=', number, structure) of asm-generic/ioctl.h."""
    return 3 << 30 | ctypes.sizeof(structure) << 16 | ord("=") << 8 | number


def readings(index: int) -> list[Reading]:
    """Readings of /dev/ptpN against CLOCK_REALTIME, as narrow as the driver can make them.

    Against CLOCK_REALTIME because that is what every kernel and driver offers; it differs from CLOCK_MONOTONIC
    by a constant (`core/src/clock/offset.rs`). Raises EngineError if the device cannot be opened or read.
    """
    path = f"/dev/ptp{index}"
    try:
        device = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise EngineError(f"{path}: cannot open the hardware clock: {error.strerror}; are you root?") from error
    try:
        return _precise(device) or _extended(device) or _plain(device)
    except OSError as error:
        raise EngineError(f"{path}: cannot read the hardware clock: {error.strerror}") from error
    finally:
        os.close(device)


def _precise(device: int) -> list[Reading]:
    answer, found = _Precise(), []
    for _ in range(SAMPLES):
        if not _call(device, _read_write(8, _Precise), answer):
            return []
        found.append(Reading(answer.realtime.ns(), answer.device.ns(), answer.realtime.ns()))
    return found


def _extended(device: int) -> list[Reading]:
    answer = _Extended(samples=SAMPLES)
    if not _call(device, _read_write(9, _Extended), answer):
        return []
    return [Reading(before.ns(), own.ns(), after.ns()) for before, own, after in answer.times]


def _plain(device: int) -> list[Reading]:
    clock = (~device << 3) | 3  # FD_TO_CLOCKID of linux/posix-timers.h
    return [Reading(time.time_ns(), time.clock_gettime_ns(clock), time.time_ns()) for _ in range(SAMPLES)]


def _call(device: int, request: int, answer: ctypes.Structure) -> bool:
    """False if the driver has no such reading."""
    try:
        fcntl.ioctl(device, request, answer)
    except OSError:
        return False
    return True
