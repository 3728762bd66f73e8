"""Where in the kernel the slowest frames waited, for parts of it that are made slow here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.bpf_object import compiled
from support.lab_passages import needs
from support.lab_trials import on_lab, patient_trial, plan_for
from support.trials import ATTEMPTS, incomplete

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.iproute import IP, TC
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.waits import Waits
from keisoku.subjects.device.report.late_places import LateFrames, late_frames

pytestmark = [pytest.mark.lab, needs(IP, TC)]

FRAMES = 4000
LENGTH = 146
"""Of a test frame without its FCS."""
PROGRAMS = f"""
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
struct {{ __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32); __type(value, __u64); }}
    counted SEC(".maps");
static long until(__u32 round, __u64 *end_ns) {{ return bpf_ktime_get_ns() >= *end_ns; }}
/* Holds every fortieth packet that is as long as a test frame for a millisecond. */
static __always_inline void hold(__u32 length)
{{
    __u32 zero = 0;
    __u64 *count = bpf_map_lookup_elem(&counted, &zero), end_ns = bpf_ktime_get_ns() + 1000000;
    if (length == {LENGTH} && count && ++*count % 40 == 0)
        bpf_loop(1 << 20, until, &end_ns, 0);
}}
SEC("xdp") int slow_xdp(struct xdp_md *c) {{ hold(c->data_end - c->data); return XDP_PASS; }}
SEC("tc") int slow_tc(struct __sk_buff *skb) {{ hold(skb->len); return -1; }}
char LICENSE[] SEC("license") = "GPL";
"""


HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
while True:
    end = time.monotonic() + 0.003
    while time.monotonic() < end:
        pass
    time.sleep(0.01)
"""
"""Busy for 3 ms in every 13."""


@dataclass(frozen=True)
class Bed:
    """A device of the lab, and programs for it."""

    lab: Lab
    programs: Path | None

    def run(self, commands: str) -> None:
        """A script of the shell in the device."""
        a, b = self.lab.ports[:2]
        namespace = a.dut_namespace_path
        assert namespace is not None
        for name, value in (("one", a.dut_interface), ("two", b.dut_interface), ("programs", self.programs)):
            commands = commands.replace(f"@{name}@", str(value))
        done = run_in_namespace(
            namespace, lambda: subprocess.run(["sh", "-ec", commands], capture_output=True, text=True)
        )
        if "qdisc kind is unknown" in done.stderr:
            pytest.skip("this kernel has no such queue")
        assert done.returncode == 0, done.stderr

    def name(self, text: str) -> str:
        a, b = self.lab.ports[:2]
        return text.replace("@one@", str(a.dut_interface)).replace("@two@", str(b.dut_interface))


@dataclass(frozen=True)
class Cause:
    """What makes a part of a device slow."""

    name: str
    build: str
    undo: str
    expect: dict[str, str]
    """Fields of the place."""
    device: str = "router"


NO_QUEUE = "tc qdisc del dev @two@ root"


def tc(way: str, interface: str) -> str:
    return f"""mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
        tc qdisc add dev @{interface}@ clsact
        tc filter add dev @{interface}@ {way} bpf direct-action object-file @programs@ section tc"""


def queue(kind: str) -> dict[str, str]:
    return {"kind": "queue", "interface": "@two@", "qdisc": kind}


CAUSES = [
    Cause("tbf", "tc qdisc add dev @two@ root tbf rate 11mbit burst 2000 limit 100000", NO_QUEUE, queue("tbf")),
    Cause(
        "tbf of a bridge",
        "tc qdisc add dev @two@ root tbf rate 11mbit burst 2000 limit 100000",
        NO_QUEUE,
        queue("tbf"),
        device="bridge",
    ),
    Cause(
        "leaf of HTB",
        """tc qdisc add dev @two@ root handle 1: htb default 1
        tc class add dev @two@ parent 1: classid 1:1 htb rate 11mbit
        tc qdisc add dev @two@ parent 1:1 handle 10: pfifo limit 1000""",
        NO_QUEUE,
        queue("htb"),
    ),
    Cause("netem", "tc qdisc add dev @two@ root netem delay 3ms limit 10000", NO_QUEUE, queue("netem")),
    Cause("netem, jitter", "tc qdisc add dev @two@ root netem delay 2ms 1ms limit 10000", NO_QUEUE, queue("netem")),
    Cause(
        "fq_codel behind a rate",
        """tc qdisc add dev @two@ root handle 1: tbf rate 11mbit burst 2000 limit 100000
        tc qdisc add dev @two@ parent 1:1 handle 10: fq_codel""",
        NO_QUEUE,
        queue("tbf"),
    ),
    Cause(
        "filter of a router",
        tc("ingress", "one"),
        "tc qdisc del dev @one@ clsact",
        {"kind": "stack", "interface": "@two@", "came_from": "@one@", "handler": ""},
    ),
    Cause(
        "filter of a bridge",
        tc("ingress", "one"),
        "tc qdisc del dev @one@ clsact",
        {"kind": "stack", "interface": "@two@", "came_from": "@one@", "handler": "br_handle_frame"},
        device="bridge",
    ),
    Cause(
        "filter before the queue",
        tc("egress", "two"),
        "tc qdisc del dev @two@ clsact",
        {"kind": "stack", "interface": "@two@", "came_from": "@one@"},
    ),
    Cause(
        "XDP program",
        "ip link set dev @one@ xdp object @programs@ program slow_xdp",
        "ip link set dev @one@ xdp off",
        {"kind": "ring", "interface": "@one@"},
    ),
]
NEEDS_PROGRAMS = {"filter of a router", "filter of a bridge", "filter before the queue", "XDP program"}


@pytest.fixture(scope="module")
def beds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Bed]]:
    programs = None
    if shutil.which("clang"):
        programs = compiled(PROGRAMS, tmp_path_factory.mktemp("programs") / "programs.o")
    made: dict[str, Bed] = {}
    with ExitStack() as stack:

        def bed(device: str) -> Bed:
            if device not in made:
                made[device] = Bed(stack.enter_context(Lab(device)), programs)
            return made[device]

        yield bed


def late_of(facts: Facts) -> LateFrames:
    record: Any = SimpleNamespace(index=0, facts=facts)
    late = late_frames([record])
    assert late is not None
    return late


def one_trial(lab: Lab, **plan: Any) -> Facts:
    """The facts of a trial in which all frames were sent and arrived."""
    wanted = plan_for(lab.device.name, frame_bytes=[LENGTH + 4], why_late=True, **plan)
    asked = patient_trial(FRAMES, LENGTH + 4)
    with closing(on_lab(wanted, lab)) as engine:
        for attempt in range(ATTEMPTS):
            engine.start(asked, stream=1 + 64 * attempt, seed=0)
            facts, _ = engine.finish()
            # Before the first one the engine warms up.
            if attempt and not incomplete(asked, facts) and not facts.tracked.lost_frames:
                return facts
    pytest.skip("the host disturbed every trial")


def agrees(facts: Facts) -> Waits:
    """The waits, which add up to what the account of the trial knows by itself."""
    waits = facts.waits
    assert waits is not None
    assert (waits.slowest, waits.not_followed) == (100, 0)
    # Other programs have packets that cannot be looked at, too.
    assert waits.unread <= facts.sent.offered_frames / 100
    rows = waits.frames.rows
    latency = facts.streams[0].tracked.latency
    assert latency is not None
    totals = np.bincount(rows[:, 1], weights=rows[:, 4])
    totals = totals[totals > 0]
    assert len(totals) == 100
    assert latency.max_ns is not None
    assert round(totals.max()) == latency.max_ns
    # In order, without a hole.
    same = rows[1:, 1] == rows[:-1, 1]
    assert np.array_equal((rows[:-1, 3] + rows[:-1, 4])[same], rows[1:, 3][same])
    return waits


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_the_part_that_was_made_slow_is_named(cause: Cause, beds: Callable[[str], Bed]) -> None:
    bed = beds(cause.device)
    if cause.name in NEEDS_PROGRAMS and bed.programs is None:
        pytest.skip("clang is needed")
    try:
        bed.run(cause.build)
        facts = one_trial(bed.lab)
    finally:
        bed.run(f"{cause.undo} || true")
    agrees(facts)
    late = late_of(facts)
    assert late.cause is not None
    place = late.cause.place
    assert {name: getattr(place, name) for name in cause.expect} == {
        name: bed.name(text) for name, text in cause.expect.items()
    }
    assert not place.of_tester


def named(begin: str) -> set[int]:
    """Numbers of the processes whose names begin so."""
    numbers = set()
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdecimal() and (process / "comm").read_text().startswith(begin):
                numbers.add(int(process.name))
    return numbers


def test_the_ring_is_named_where_the_cpu_that_polls_it_is_busy(beds: Callable[[str], Bed]) -> None:
    """NAPI in a thread of its own, which a program in real time keeps from its CPU."""
    bed = beds("router")
    before = named(bed.name("napi/@one@"))
    bed.run("echo 1 > /sys/class/net/@one@/threaded")
    threads = named(bed.name("napi/@one@")) - before
    assert threads
    cpu = max(os.sched_getaffinity(0))
    for thread in threads:
        os.sched_setaffinity(thread, {cpu})
    hog = subprocess.Popen([sys.executable, "-c", HOG, str(cpu)])
    try:
        late = late_of(one_trial(bed.lab))
    finally:
        hog.kill()
        hog.wait()
        bed.run("echo 0 > /sys/class/net/@one@/threaded")
    assert late.cause is not None
    assert (late.cause.place.kind, late.cause.place.interface) == ("ring", bed.name("@one@"))


@pytest.mark.parametrize("engine", ["xdp", "afxdp", "packet"])
@pytest.mark.parametrize("device", ["router", "bridge"])
def test_every_part_of_the_way_is_seen_by_each_engine(device: str, engine: str, beds: Callable[[str], Bed]) -> None:
    bed = beds(device)
    waits = agrees(one_trial(bed.lab, engine=engine))
    a, b = bed.lab.ports[:2]
    way = [(place.kind, place.interface) for place in waits.places if not place.of_tester]
    one, two = a.dut_interface, b.dut_interface
    assert way[1][0] in ("gro", "backlog")
    assert way == [("ring", one), (way[1][0], one), ("stack", two), ("queue", two)]
    assert {place.interface for place in waits.places if place.of_tester} <= {a.interface, b.interface}
    # Packet sockets stamp with another clock, which is brought to this one.
    assert waits.apart_ns == 0 if engine == "xdp" else waits.apart_ns < 100_000
