"""Events that the kernel counts or samples for a thread or a CPU (perf_event_open(2))."""

from __future__ import annotations

import ctypes
import os
import platform
from fcntl import ioctl

HARDWARE, SOFTWARE = 0, 1
"""Kinds of events (PERF_TYPE_*)."""
DISABLED, INHERITED, NOT_IDLE, NO_USER_CHAIN, OWN_CLOCK = 1 << 0, 1 << 1, 1 << 7, 1 << 22, 1 << 25
"""Flags of `Attributes`: off at first, also of threads that are made later, not while a CPU is idle, …"""
_CALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "armv7l": 364}
"""Numbers of perf_event_open."""
_CLOSE_ON_EXEC = 8
_ENABLE, _DISABLE = 0x2400, 0x2401


class Attributes(ctypes.Structure):
    """The beginning of `struct perf_event_attr` (PERF_ATTR_SIZE_VER3)."""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("event", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
        ("sample", ctypes.c_uint64),
        ("read", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("wake_up", ctypes.c_uint32),
        ("breakpoint", ctypes.c_uint32),
        ("rest", ctypes.c_uint64 * 3),
        ("registers", ctypes.c_uint64),
        ("user_stack", ctypes.c_uint32),
        ("clock", ctypes.c_int32),
    )


def open_event(attributes: Attributes, thread: int, cpu: int) -> int:
    """The descriptor of an event of a thread (0: this one; -1: all of a CPU) on a CPU (-1: on any).

    Raises OSError if the kernel refuses, with ENOENT where the machine has no such event.
    """
    attributes.size = ctypes.sizeof(Attributes)
    call = _CALL.get(platform.machine())
    if call is None:
        raise OSError(0, f"not known how to ask a kernel for {platform.machine()}")
    library = ctypes.CDLL(None, use_errno=True)
    event = library.syscall(call, ctypes.byref(attributes), thread, cpu, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
    if event < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(event)


def enable(event: int) -> None:
    """From now on it counts, or samples."""
    ioctl(event, _ENABLE)


def disable(event: int) -> None:
    """From now on it does not."""
    ioctl(event, _DISABLE)
