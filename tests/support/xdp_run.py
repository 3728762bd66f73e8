"""What a frame takes in the XDP program of an interface, as the kernel measures it by itself (BPF_PROG_TEST_RUN)."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from keisoku._core import speed_of_cpu

_CALL = {"x86_64": 321, "aarch64": 280}
_TEST_RUN, _FD_BY_ID = 10, 13
_LENGTH_NS = 1_000_000
"""Of one run: short, because a neighbour of the core slows it for some ms at a time."""
_PIECES_NS = 20_000
"""Of fixed work before and after a run, which shows the pace of the core."""
_ONE_PACE = 1.01
"""The pace changed during a run if its ends differ by more."""


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
    """In ns a frame of 60 bytes, at the pace that the core has most of the time: the median of the lowest tenth of many
    short runs, because a neighbour of the core slows the others. Raises OSError if the kernel refuses."""
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
        found = []
        with _on_one_cpu() as cpu:
            pace_ns = _pace_ns(cpu)
            for _ in range(tries):
                run, before_ns = _Run(program, 0, 60, 0, ctypes.addressof(frame), 0, repeat), pace_ns
                _bpf(_TEST_RUN, run)
                pace_ns = _pace_ns(cpu)
                if max(before_ns, pace_ns) <= _ONE_PACE * min(before_ns, pace_ns):
                    found.append((run.duration_ns, (before_ns + pace_ns) / 2))
        usual_ns = statistics.multimode(round(pace, -1) for _, pace in found)[0]
        told = sorted(ns * usual_ns / pace for ns, pace in found)
        return told[len(told) // 20]
    finally:
        os.close(program)


@contextmanager
def _on_one_cpu() -> Iterator[int]:
    allowed = os.sched_getaffinity(0)
    cpu = min(allowed)
    os.sched_setaffinity(0, {cpu})
    try:
        yield cpu
    finally:
        os.sched_setaffinity(0, allowed)


def _pace_ns(cpu: int) -> float:
    while True:
        pieces, _, total_ns = speed_of_cpu(cpu, _PIECES_NS)
        if pieces:  # pieces that others interrupted are not among them
            return total_ns / pieces


def _bpf(command: int, attributes: ctypes.Structure) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    number = library.syscall(_CALL[platform.machine()], command, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if number < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(number)
