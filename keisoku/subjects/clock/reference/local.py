"""References of this machine: kernel clocks, PTP hardware clocks, pulses of a PPS source."""

from __future__ import annotations

import ctypes
import fcntl
import os
import time
from collections.abc import Callable

from keisoku import _core
from keisoku.errors import EngineError
from keisoku.language import phrase
from keisoku.subjects.clock import relation as clocks
from keisoku.subjects.clock.reading import Reading, Translation
from keisoku.subjects.clock.reference import phc
from keisoku.subjects.clock.reference.kinds import Chosen, Reference

TRIES = 16
"""Number of reads, of which the narrowest is kept."""
CLOCKS = {
    "realtime": time.CLOCK_REALTIME,
    "monotonic": time.CLOCK_MONOTONIC,
    "raw": time.CLOCK_MONOTONIC_RAW,
}
_PAUSE_S = 0.001
_PULSE_WAIT_S = 3


def bracket(clock: int = time.CLOCK_REALTIME, tries: int = TRIES) -> Reading:
    """A clock between two reads of the counter, the narrowest of some tries."""
    ((before, shown, after),) = _core.clock_brackets(clock, 1, tries, 0)
    return Reading(before, shown, after)


def brackets(clock: int, count: int, pause_s: float, tries: int = TRIES) -> list[Reading]:
    """Many of them with a pause between, by a loop in the core."""
    found = _core.clock_brackets(clock, count, tries, round(pause_s * 1e9))
    return [Reading(*values) for values in found]


def kernel_clock(chosen: Chosen, real: bool, tries: int = TRIES) -> Reference:
    """One of the kernel's clocks."""
    clock = CLOCKS[chosen.kind]
    return Reference(
        name=chosen.name,
        described=phrase("{time_name} of this kernel, read by clock_gettime", time_name=time_name(chosen)),
        # 50 in the core at a time: Python's own loop would space them unevenly.
        read=lambda: brackets(clock, 50, _PAUSE_S, tries),
        pause_s=_PAUSE_S,
        is_real=real,
    )


def time_name(chosen: Chosen) -> str:
    """As clock_gettime(2) names it."""
    return {"raw": "CLOCK_MONOTONIC_RAW"}.get(chosen.kind, f"CLOCK_{chosen.kind.upper()}")


def hardware_clock(chosen: Chosen) -> Reference:
    """/dev/ptpN by its own ioctls, which give CLOCK_REALTIME on both sides; those are brought to ticks.

    Raises EngineError if it cannot be read.
    """
    index = int(chosen.target or 0)
    phc.readings(index)
    return Reference(
        name=chosen.name,
        described=phrase(
            "PTP hardware clock /dev/ptp{index}; its second is right if a PTP daemon disciplines it", index=index
        ),
        read=lambda: [against_ticks(lambda: phc.readings(index))],
        pause_s=0.01,
        is_real=True,
    )


def against_ticks(read: Callable[[], list[clocks.Reading]], clock: Callable[[], Reading] = bracket) -> Reading:
    """The narrowest of readings against CLOCK_REALTIME, with bounds in ticks of the counter.

    Raises EngineError if the time of day was set back meanwhile.
    """
    first = clock()
    found = min(read(), key=lambda reading: reading.width_ns)
    try:
        translation = Translation(first, clock())
    except ValueError as error:
        raise EngineError(f"the time of day changed while a hardware clock was read: {error}") from error
    return Reading(translation.ticks(found.before_ns)[0], found.other_ns, translation.ticks(found.after_ns)[1])


class _Fetch(ctypes.Structure):
    """`struct pps_fdata` of linux/pps.h."""

    _fields_ = (
        ("assert_sequence", ctypes.c_uint32),
        ("clear_sequence", ctypes.c_uint32),
        ("assert_s", ctypes.c_int64),
        ("assert_ns", ctypes.c_int32),
        ("assert_flags", ctypes.c_uint32),
        ("clear_s", ctypes.c_int64),
        ("clear_ns", ctypes.c_int32),
        ("clear_flags", ctypes.c_uint32),
        ("mode", ctypes.c_int),
        ("padding", ctypes.c_uint32),
        ("timeout_s", ctypes.c_int64),
        ("timeout_ns", ctypes.c_int32),
        ("timeout_flags", ctypes.c_uint32),
    )


_PPS_FETCH = 3 << 30 | ctypes.sizeof(ctypes.c_void_p) << 16 | ord("p") << 8 | 0xA4
"""_IOWR('p', 0xa4, struct pps_fdata *): the size is the pointer's."""


def pulse(chosen: Chosen) -> Reference:
    """/dev/ppsN: the kernel stamps each pulse with CLOCK_REALTIME; the pulse itself is a whole second.

    Raises EngineError if it cannot be opened.
    """
    path = f"/dev/pps{int(chosen.target or 0)}"
    try:
        device = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise EngineError(f"{path}: cannot open the pulse source: {error.strerror}; are you root?") from error

    def next_pulse() -> list[Reading]:
        first = bracket()
        fetched = _Fetch(timeout_s=_PULSE_WAIT_S)
        try:
            fcntl.ioctl(device, _PPS_FETCH, fetched)
        except OSError as error:
            raise EngineError(f"{path}: no pulse came within {_PULSE_WAIT_S} s: {error.strerror}") from error
        return [of_pulse(fetched.assert_s * 1_000_000_000 + fetched.assert_ns, first, bracket())]

    return Reference(
        name=chosen.name,
        described=phrase(
            "pulse per second at {path}, stamped by the kernel; the interrupt's own delay is in the stamps", path=path
        ),
        read=next_pulse,
        pause_s=0.0,
        is_real=True,
        at_least_s=2.0,
        close=lambda: os.close(device),
    )


def of_pulse(stamp_ns: int, first: Reading, last: Reading) -> Reading:
    """A pulse that the kernel stamped at `stamp_ns`: the reference was at the whole second nearest to it then.

    A clock that is off by half a second or more counts another second, alike for every pulse: a rate does not care.
    Raises EngineError if the time of day changed meanwhile.
    """
    try:
        low, high = Translation(first, last).ticks(stamp_ns)
    except ValueError as error:
        raise EngineError(f"the time of day changed while a pulse was awaited: {error}") from error
    return Reading(low, nearest_second(stamp_ns), high)


def nearest_second(stamp_ns: int) -> int:
    """The whole second nearest to a stamp, in ns."""
    return (stamp_ns + 500_000_000) // 1_000_000_000 * 1_000_000_000
