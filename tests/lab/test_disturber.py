"""The disturber takes from each CPU what it says, at moments of its own, and leaves nothing behind."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import disturber
from support.disturber import Disturber, moments

from keisoku.ground.host.look import look_at_host

MS = 1_000_000


def test_each_period_of_each_cpu_has_one_stop_at_a_moment_of_its_own() -> None:
    periods = 1000
    by_cpu = [list(itertools.islice(moments(cpu, 5 * MS, 100 * MS, 1), periods)) for cpu in (0, 1)]
    for begins in by_cpu:
        phases = [begin - index * 100 * MS for index, begin in enumerate(begins)]
        assert 0 <= min(phases) < 2 * MS
        assert 93 * MS < max(phases) <= 95 * MS
    assert by_cpu[0] != by_cpu[1]
    assert by_cpu[0] == list(itertools.islice(moments(0, 5 * MS, 100 * MS, 1), periods))
    assert by_cpu[0] != list(itertools.islice(moments(0, 5 * MS, 100 * MS, 2), periods))


@pytest.mark.lab
def test_it_takes_five_percent_of_each_cpu_by_its_own_account() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    with Disturber(stop_ms=1, every_ms=20) as running:
        subprocess.run([sys.executable, "-c", ""], check=True)  # takes some periods
    assert [taken.cpu for taken in sorted(running.taken, key=lambda taken: taken.cpu)] == cpus
    for taken in running.taken:
        assert 1 <= taken.stops <= taken.span_ns / (20 * MS) + 1
        assert taken.taken_ns >= taken.stops * MS


@pytest.mark.lab
def test_a_look_at_the_host_sees_what_it_takes() -> None:
    with Disturber(stop_ms=5, every_ms=50):
        look = look_at_host(0.3)
    for cpu in look.cpus:
        assert cpu.long_stops >= 1
        assert cpu.longest_stop_ns >= 4.9 * MS
        assert cpu.calm_ns
    assert not look.quiet
    assert look.sentence().startswith("this host is busy ")


@pytest.mark.lab
def test_nothing_of_it_outlives_the_process_that_started_it() -> None:
    reading, writing = os.pipe()
    script = (
        f"import sys; sys.path.insert(0, {str(Path(disturber.__file__).parent)!r}); import os, disturber\n"
        "disturber.Disturber().__enter__(); print('started', flush=True); os.read(0, 1)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[writing],
        stderr=writing,
    )
    os.close(writing)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"started\n"
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    # The other end is held by every process of the disturber, so that this returns when the last one has ended.
    assert os.read(reading, 1) == b""
    os.close(reading)
