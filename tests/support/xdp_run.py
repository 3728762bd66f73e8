"""What a frame takes in the XDP program of an interface, as the kernel measures it by itself (BPF_PROG_TEST_RUN)."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import subprocess

_CALL = {"x86_64": 321, "aarch64": 280}
_TEST_RUN, _FD_BY_ID = 10, 13
_LENGTH_NS = 1_000_000
"""Of one run: short, because a neighbour of the core slows it for some ms at a time."""


class _ById(ctypes.Structure):
    _fields_ = (("id", ctypes.c_uint32), ("next", ctypes.c_uint32), ("flags", ctypes.c_uint32))


class _Run(ctypes.Structure):
    _fields_ = (
        ("program", ctypes.c_uint32),
        ("returned", ctypes.c_uint32),
        ("in_bytes", ctypes.c_uint32),
        ("out_bytes", ctypes.c_uint32),
        ("data_in", ctypes.c_uint64),
        ("data_out", ctypes.c_uint64),
        ("repeat", ctypes.c_uint32),
        ("duration_ns", ctypes.c_uint32),
        ("rest", ctypes.c_uint64 * 4),
    )


def run_ns(namespace: str, interface: str, tries: int = 1000) -> float:
    """The median of the lowest tenth of many short runs, in ns a frame of 60 bytes: a neighbour of the core slows the
    others. Raises OSError if the kernel refuses."""
    said = subprocess.run(
        ["ip", "-n", namespace, "-d", "-j", "link", "show", "dev", interface], capture_output=True, check=True
    )
    number = json.loads(said.stdout)[0]["xdp"]["prog"]["id"]
    program = _bpf(_FD_BY_ID, _ById(number))
    frame = ctypes.create_string_buffer(60)
    try:
        first = _Run(program, 0, 60, 0, ctypes.addressof(frame), 0, 1000)
        _bpf(_TEST_RUN, first)
        repeat = int(_LENGTH_NS / max(1, first.duration_ns))
        runs = [_Run(program, 0, 60, 0, ctypes.addressof(frame), 0, repeat) for _ in range(tries)]
        for run in runs:
            _bpf(_TEST_RUN, run)
        return float(sorted(run.duration_ns for run in runs)[tries // 20])
    finally:
        os.close(program)


def _bpf(command: int, attributes: ctypes.Structure) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    number = library.syscall(_CALL[platform.machine()], command, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if number < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(number)
