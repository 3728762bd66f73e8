"""Whether streams wanted a CPU: states of threads by hand, and those of real threads."""

from __future__ import annotations

import ctypes
import threading
import time

import pytest

from keisoku.ground.host.thread_watch import STREAMS, Look, ThreadWatch, name_and_state, wants_cpu
from keisoku.ground.run.result import Result
from keisoku.running.study.cpu_wanted import wanted_percent, with_cpu

_PR_SET_NAME = 15


def test_a_stream_that_moves_between_cpus_was_not_taken_for_one_that_the_cpus_do_not_limit() -> None:
    """Of two threads that work in turn, on two CPUs, neither is busy for over 90 % of the time; one always is."""
    looks = [Look(at, wants_cpu([("tx", "RS"[at % 2]), ("rx", "SR"[at % 2])])) for at in range(500)]
    found = wanted_percent(looks, [(0, 249), (250, 499)])
    assert found is not None and found.value == 100 and found.uncertainty is not None
    assert found.value - found.uncertainty > 99


def test_streams_that_wait_for_a_line_want_no_cpu() -> None:
    looks = [Look(at, at % 4 == 0) for at in range(400)]
    found = wanted_percent(looks)
    assert found is not None and found.value == 25
    assert found.uncertainty == pytest.approx(4.5, abs=0.5)  # of 400 looks


def test_spans_that_differ_make_the_interval_wide() -> None:
    looks = [Look(at, at < 100) for at in range(200)]
    found = wanted_percent(looks, [(0, 99), (100, 199)])
    assert found is not None and found.value == 50
    assert found.uncertainty == pytest.approx(12.706 * 50, rel=1e-4)  # Student's factor of one degree of freedom
    assert wanted_percent(looks, [(300, 400)]) is None and wanted_percent([]) is None
    assert with_cpu(Result(measurement="x", rows=[]), []).rows == []


def test_a_name_with_brackets_is_read() -> None:
    assert name_and_state("17 (a (b) c) R 1 17") == ("a (b) c", "R")


def test_threads_are_found_by_their_names() -> None:
    """One that computes is seen to want a CPU, one that waits is not there by another name."""
    over = threading.Event()

    def compute(name: bytes) -> None:
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name)
        while not over.is_set():
            pass

    def looks(name: bytes) -> list[Look]:
        over.clear()
        thread = threading.Thread(target=compute, args=(name,))
        with ThreadWatch(STREAMS) as watch:
            thread.start()
            end = time.monotonic() + 0.3
            while time.monotonic() < end:
                pass
            over.set()
            thread.join()
        return watch.looks

    assert looks(b"another") == []
    found = looks(b"keisoku-stream-")
    assert found and sum(look.wanted for look in found) > len(found) / 2
