"""A cause of loss at a device of the lab, one trial with it, and what must be told of the frames that it lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from keisoku.subjects.device.record.drops import DropPlace, Drops
from keisoku.subjects.device.record.facts import Facts
from support.device_shell import DeviceShell
from support.lab_trials import on_lab, patient_trial, plan_for, trial
from support.trials import ATTEMPTS, incomplete

FRAMES = 120
PROGRAMS = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 2); __type(key, __u32); __type(value, __u64); }
    counted SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_DEVMAP); __uint(max_entries, 2); __type(key, __u32); __type(value, __u32); }
    exits SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_CPUMAP); __uint(max_entries, 2); __type(key, __u32); __type(value, __u32); }
    workers SEC(".maps");
/* Every third packet that is as long as a test frame. */
static __always_inline int chosen(__u32 length)
{
    __u32 all = 0, own = 1;
    __u64 *count = bpf_map_lookup_elem(&counted, &all);
    if (length != 146 || !count || ++*count % 3)
        return 0;
    if ((count = bpf_map_lookup_elem(&counted, &own)))
        ++*count;
    return 1;
}
#define THIRD(NAME, ANSWER) \
    SEC("xdp") int NAME(struct xdp_md *c) { return chosen(c->data_end - c->data) ? ANSWER : XDP_PASS; }
THIRD(third_dropped, XDP_DROP)
THIRD(third_aborted, XDP_ABORTED)
THIRD(third_unknown, 77)
THIRD(third_lost, bpf_redirect(99999, 0))
/* The maps have no second entry. */
THIRD(third_no_exit, bpf_redirect_map(&exits, 1, XDP_ABORTED))
THIRD(third_to_exit, bpf_redirect_map(&exits, 0, XDP_ABORTED))
THIRD(third_no_worker, bpf_redirect_map(&workers, 1, XDP_ABORTED))
THIRD(third_to_worker, bpf_redirect_map(&workers, 0, XDP_ABORTED))
SEC("tc") int third_shot(struct __sk_buff *skb) { return chosen(skb->len) ? 2 : -1; }
char LICENSE[] SEC("license") = "GPL";
"""
"""Each frees every third test frame, and counts these."""


class Bed(DeviceShell):
    """A device of the lab, and what is found out about it by other means."""

    def program(self) -> int:
        """What the programs of this file dropped."""
        text = self.run("bpftool map dump name counted")
        return sum(map(int, re.findall(r'"key": 1,\s*"value": (\d+)', text)))


Count = Callable[[Bed], int]


@dataclass(frozen=True)
class Cause:
    """Why a device loses frames."""

    name: str
    build: str = ":"
    undo: str = ":"
    plan: dict[str, Any] = field(default_factory=dict)
    count: Count | None = None
    """Frames that it dropped; None: every one."""
    device: str = "router"
    expect: dict[str, str] = field(default_factory=dict)
    """Patterns of fields of the place."""


def mib(group: str, name: str) -> Count:
    return lambda bed: bed.mib(group, name)


def rule(text: str, family: str = "ip", hook: str = "forward priority 0;") -> str:
    return f"nft 'table {family} t {{ chain c {{ type filter hook {hook} {text} }}; }}'"


def headers(ip: str, ether: str = "") -> dict[str, Any]:
    return {"headers": f"Ether({ether})/IP({ip})/UDP()"}


NO_RULE = "nft flush ruleset"
XDP_OFF = "ip link set dev @one@ xdp off"


def xdp(program: str, way: str = "xdp") -> str:
    return f"mount -t bpf bpf /sys/fs/bpf; ip link set dev @one@ {way} object @programs@ program {program}"


def newest(name: str) -> str:
    """The number of the map of this name that was made last, in the words of a shell."""
    return f"$(bpftool map show name {name} | sed -n 's/^\\([0-9]*\\):.*/\\1/p' | sort -n | tail -n 1)"


EXIT = f"""ip link add e0 type veth peer name e1; ip link set e0 up; ip link set e1 up; ethtool -K e1 gro on
    to=$(cat /sys/class/net/e0/ifindex)
    bpftool map update id {newest("exits")} key 0 0 0 0 value $((to & 255)) $((to >> 8)) 0 0"""
"""The way out by XDP is a veth that takes such frames."""
NO_EXIT = f"{XDP_OFF}; ip link del e0"


def tc(way: str, interface: str) -> str:
    return f"""mount -t bpf bpf /sys/fs/bpf
        tc qdisc add dev @{interface}@ clsact
        tc filter add dev @{interface}@ {way} bpf direct-action object-file @programs@ section tc"""


def one_trial(bed: Bed, count: Count, frames: int = FRAMES, rate: float = 4000.0, **plan: Any) -> tuple[Facts, int]:
    """The facts of a trial in which all frames were sent, and by how much a count rose in it."""
    given = {"frame_bytes": [150], "why_lost": True, **plan}
    wanted = plan_for(bed.lab.device.name, **given)
    asked = trial(wanted, frames) if "stream" in plan else patient_trial(frames, wanted.frame_bytes[0], rate)
    # Learning frames would be counted with the others.
    asked = asked.model_copy(update={"phases": asked.phases.model_copy(update={"learning": False})})
    with closing(on_lab(wanted, bed.lab)) as engine:
        for attempt in range(ATTEMPTS):
            before = count(bed)
            engine.start(asked, stream=1 + 64 * attempt, seed=0)
            facts, _ = engine.finish()
            # Before the first one the engine warms up, by frames that are counted elsewhere.
            if attempt and not incomplete(asked, facts):
                return facts, count(bed) - before
    pytest.skip("the host disturbed every trial")


def needs_part(facts: Facts, *parts: str) -> None:
    """Skips where this host does not let such programs be attached."""
    assert facts.drops is not None
    absent = dict(facts.drops.absent)
    for part in parts:
        if part in absent:
            pytest.skip(f"{part}: {absent[part]}")


def told(facts: Facts) -> tuple[Drops, list[DropPlace]]:
    """The places of lost frames, after what must hold in every trial."""
    drops = facts.drops
    assert drops is not None and not drops.unread and not drops.unlisted
    lost = facts.tracked.lost_frames
    places = [place for place in drops.places if place.frames]
    assert sum(place.frames for place in places) + drops.not_seen == drops.lost_frames == lost
    assert len(drops.frames) == sum(place.frames for place in places)
    for stream in facts.streams:
        own = drops.frames.rows[drops.frames.rows[:, 0] == stream.stream]
        assert stream.tracked.lost.hold(own[:, 1]).all() and len(set(own[:, 1].tolist())) == len(own)
    return drops, places


def outcome_of(cause: Cause, bed: Bed) -> tuple[Facts, int]:
    """The facts of a trial with this cause, which is gone afterwards, and how many frames it counted."""
    bed.run(cause.build)
    try:
        return one_trial(bed, cause.count or (lambda bed: 0), **cause.plan)
    finally:
        bed.run(cause.undo)


def check_place(cause: Cause, bed: Bed, facts: Facts, counted: int) -> None:
    """All lost frames are at one place, which is what the cause is, and there are as many as it counted."""
    drops, places = told(facts)
    assert len(places) == 1, places
    (place,) = places
    lost = facts.tracked.lost_frames
    absent = dict(drops.absent)
    assert place.frames == lost == (facts.sent.offered_frames if cause.count is None else counted) > 0
    assert drops.not_seen == 0 and not place.of_tester
    assert "namespace" in cause.expect or place.namespace == bed.namespace.name
    for name, pattern in cause.expect.items():
        if (name, "nftables" in absent) == ("rule", True) or (name, "programs" in absent) == ("program", True):
            assert not getattr(place, name)
            continue
        assert re.fullmatch(bed.named(pattern), getattr(place, name)), place
    assert place.first_ns is not None and place.last_ns is not None
    assert 0 <= place.first_ns <= place.last_ns <= facts.sent.last_sent_ns + 200_000_000
