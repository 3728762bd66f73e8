"""The kernel's clocks as they are now: source, steering and differences. Clocks are read, never set."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass
from pathlib import Path

from keisoku import _core
from keisoku.errors import EngineError

_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
STA_UNSYNC = 0x0040
"""STA_UNSYNC of linux/timex.h: the clock is not disciplined."""
_SCALED_PPB = 1000 / 65536
"""`timex.freq` is in ppm with 16 bits of fraction."""
_TRIES = 5


@dataclass(frozen=True)
class Steering:
    """The kernel's answer to adjtimex(2)."""

    frequency_ppb: float
    """By how much CLOCK_MONOTONIC is made faster than the kernel's own rate."""
    status: int
    maximum_error_us: int
    tick_us: int

    @property
    def synchronised(self) -> bool:
        """True if a daemon disciplines the clock and reports that it is synchronised."""
        return not self.status & STA_UNSYNC


@dataclass(frozen=True)
class HostClocks:
    """At one moment. Differences are bounded: (least, most) in ns."""

    at_ns: int
    """CLOCK_MONOTONIC."""
    clock_source: str
    steering: Steering
    suspended_ns: tuple[int, int]
    """CLOCK_BOOTTIME less CLOCK_MONOTONIC."""
    realtime_ns: tuple[int, int]
    """CLOCK_REALTIME less CLOCK_MONOTONIC: changes only when the time of day is stepped."""


class _Timex(ctypes.Structure):
    """`struct timex` of linux/timex.h."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("constant", ctypes.c_long),
        ("precision", ctypes.c_long),
        ("tolerance", ctypes.c_long),
        ("seconds", ctypes.c_long),
        ("microseconds", ctypes.c_long),
        ("tick", ctypes.c_long),
        ("rest", ctypes.c_long * 16),
    )


def clock_source() -> str:
    """The kernel's clock source: tsc, kvm-clock, hpet, …; 'unknown' if the kernel does not report it."""
    try:
        return _CLOCK_SOURCE.read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"


def steering() -> Steering:
    """Reads adjtimex with nothing to change. Raises EngineError if the kernel does not answer it."""
    timex = _Timex()
    library = ctypes.CDLL(None, use_errno=True)
    if library.adjtimex(ctypes.byref(timex)) < 0:
        raise EngineError("adjtimex: the kernel does not report how it steers the clock")
    return Steering(timex.freq * _SCALED_PPB, timex.status, timex.maxerror, timex.tick)


def host_clocks() -> HostClocks:
    """All of it, now."""
    return HostClocks(
        at_ns=time.monotonic_ns(),
        clock_source=clock_source(),
        steering=steering(),
        suspended_ns=_difference(time.CLOCK_BOOTTIME),
        realtime_ns=_difference(time.CLOCK_REALTIME),
    )


def _difference(clock: int) -> tuple[int, int]:
    """A clock less CLOCK_MONOTONIC: each reading bounds it, bounds of several are intersected."""
    low, high = -(2**63), 2**63
    for _ in range(_TRIES):
        before = time.monotonic_ns()
        shown = time.clock_gettime_ns(clock)
        after = time.monotonic_ns()
        low, high = max(low, shown - after), min(high, shown - before)
    return min(low, high), max(low, high)


def counter(host: HostClocks) -> tuple[str, bool]:
    """The counter's name, and whether the kernel keeps time by it. Raises EngineError if there is none to calibrate."""
    found = _core.clock_counter(host.clock_source)
    if found is None:
        raise EngineError("this processor has no counter that promises one rate: there is nothing to calibrate")
    return found
