"""What a look at the host makes of the stops that it saw, and what it says."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from support.synthetic_runs import host_run

from keisoku.faces.cli.doctor import summary
from keisoku.ground.host.checkup.machine import machine_findings
from keisoku.ground.host.look import CpuLook, HostLook, cpu_look, look_at_host, span_s
from keisoku.ground.report.page import render
from keisoku.subjects.device.report.part import part

MS = 1_000_000
S = 1000 * MS


def periodic(cpu: int = 0, stop_ms: int = 5, first_ms: int = 50) -> CpuLook:
    """A second in which the CPU was taken every 100 ms, and once for 60 µs."""
    stops = [(first_ms * MS + index * 100 * MS, stop_ms * MS) for index in range(10)]
    return cpu_look(cpu, S, [(1 * MS, 60_000), *stops])


CALM = cpu_look(1, S, [(3 * MS, 200_000)])


def test_shares_stops_and_calm_stretches_are_those_of_the_stops() -> None:
    look = periodic()
    assert (look.stops, look.long_stops, look.longest_stop_ns) == (11, 10, 5 * MS)
    assert look.taken_ns == 50 * MS + 60_000
    assert look.taken_share == pytest.approx(0.05006)
    # Before the first stop, between stops, and after the last one; short stops divide no calm stretch.
    assert look.calm_ns == (45 * MS, 50 * MS, *[95 * MS] * 9)
    assert sum(look.calm_ns) + 50 * MS == S


def test_the_share_of_undisturbed_trials_is_that_of_the_moments_at_which_they_could_begin() -> None:
    look = periodic()
    begins = range(S - 20 * MS + 1)
    calm = sum(
        all(begin + 20 * MS <= stop or begin >= stop + 5 * MS for stop in range(50 * MS, S, 100 * MS))
        for begin in begins[:: MS // 10]
    )
    assert look.undisturbed_share(20 * MS) == pytest.approx(calm / len(begins[:: MS // 10]), abs=0.003)
    assert look.undisturbed_share(95 * MS) == 0
    assert look.undisturbed_share(2 * S) == 0
    assert look.interruptions(60 * S) == 600
    assert CALM.undisturbed_share(60 * S) == 1


def test_the_record_of_a_very_busy_cpu_stays_short_and_says_nearly_the_same() -> None:
    """Stops of 2 ms, and between them calm stretches of 1 to 40 ms in turn."""
    begins = list(itertools.accumulate((1 + index % 40 + 2 for index in range(46)), initial=5))
    look = cpu_look(0, S, [(begin * MS, 2 * MS) for begin in begins])
    assert look.calm_stretches == 48
    assert len(look.calm_ns) == 20
    calm = [later - earlier - 2 for earlier, later in itertools.pairwise([-2, *begins, 1000])]
    assert sum(calm) + 2 * 47 == 1000
    assert look.calm_ns == tuple(sorted(look.calm_ns))
    assert look.calm_ns[10] == pytest.approx(sorted(calm)[24] * MS, abs=2 * MS)
    for trial_ms in (1, 10, 30):
        share = sum(max(0, each - trial_ms) for each in calm) / (1000 - trial_ms)
        assert look.undisturbed_share(trial_ms * MS) == pytest.approx(share, abs=0.03)


def test_a_host_is_judged_by_its_busiest_cpu() -> None:
    look = HostLook(cpus=(periodic(), CALM))
    assert look.busiest.cpu == 0
    assert not look.quiet
    assert HostLook(cpus=(CALM,)).quiet
    assert look.longest_stop_ns == 5 * MS
    assert look.undisturbed_share(20 * MS) == periodic().undisturbed_share(20 * MS)
    assert HostLook.model_validate(look.model_dump(mode="json")) == look


def test_the_sentence_says_what_was_seen_and_what_follows() -> None:
    busy = HostLook(cpus=(periodic(), CALM))
    seen = "this host is busy (CPU 0: 5 % taken, the longest stop was 5 ms)"
    assert busy.sentence() == seen
    assert busy.sentence(60 * S) == f"{seen}; expect about 600 interruptions in a trial of 60 s, and wide intervals"
    assert busy.sentence(20 * MS) == f"{seen}; expect 26 % of trials of 20 ms to be interrupted"
    assert busy.sentence(200 * MS) == f"{seen}; expect 2 interruptions in every trial of 200 ms"
    quiet = HostLook(cpus=(CALM,)).sentence(60 * S)
    assert quiet == "this host is quiet (CPU 1: 0.02 % taken in 1 s, the longest stop was 200 µs)"
    assert HostLook(cpus=(cpu_look(0, S, []),)).sentence().endswith("(CPU 0: 0 % taken in 1 s, nothing stopped it)")
    short = HostLook(cpus=(cpu_look(0, S, [(index * 10 * MS, 400_000) for index in range(100)]),))
    assert short.sentence(60 * S) == (
        "this host is busy (CPU 0: 4 % taken, the longest stop was 400 µs); a sender catches up after such stops, but"
        " the highest loads may not be reached"
    )


def test_a_cpu_without_any_calm_is_no_error() -> None:
    look = HostLook(cpus=(cpu_look(0, 2 * S, [(0, 2 * S)]),))
    assert look.cpus[0].calm_ns == ()
    assert look.sentence(S).startswith("this host is busy (CPU 0: all taken, the longest stop was 2 s)")


def test_the_page_says_what_was_seen_and_only_there() -> None:
    run = host_run()
    look = HostLook(cpus=(periodic(), CALM))
    looked = replace(run, context=run.context | {"host_look": look.model_dump(mode="json")})
    said = "Before the run: this host is busy (CPU 0: 5 % taken"
    assert said in render([part([looked])])
    assert "long_stops" not in render([part([looked])])
    assert said not in render([part([run])])


def test_a_look_takes_a_second_at_most_and_little_of_a_short_run() -> None:
    assert [span_s(expected) for expected in (None, 3600, 10, 0.1)] == [1, 1, 0.5, 0.2]


def test_the_threads_watch_the_cpus_that_are_given() -> None:
    busiest = look_at_host(0.01).busiest
    assert busiest.watched_ns >= 10 * MS
    assert [cpu.cpu for cpu in look_at_host(0.001, [busiest.cpu]).cpus] == [busiest.cpu]


def test_doctor_does_not_say_no_problem_of_a_busy_host() -> None:
    """It ended with "no problem" below "this host is busy"."""
    busy = [one for one in machine_findings(HostLook(cpus=(periodic(),))) if one.said.startswith("this host is busy")]
    assert summary(busy) == "1 finding limits what a figure can say (marked ·)"
    assert summary(2 * busy).startswith("2 findings limit what a figure")
    assert summary([]) == "no problem"
