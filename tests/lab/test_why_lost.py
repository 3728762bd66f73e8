"""Where the kernel dropped each lost frame, for causes that are made here and counted by something else."""

from __future__ import annotations

import random
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.bpf_object import compiled
from support.device_shell import DeviceShell
from support.lab_passages import needs
from support.lab_trials import on_lab, patient_trial, plan_for, trial
from support.lost_mixtures import PROGRAMS as MIXED_PROGRAMS
from support.lost_mixtures import drawn, mixture_bed
from support.tap_device import TapDevice
from support.trials import ATTEMPTS, incomplete

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.faults import Faults
from keisoku.ground.lab.device.iproute import IP, TC
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.nftables import NFT
from keisoku.subjects.device.record.drops import DropPlace, Drops
from keisoku.subjects.device.record.facts import Facts

pytestmark = [pytest.mark.lab, needs(NFT, IP, TC)]

FRAMES = 120
PROGRAMS = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 2); __type(key, __u32); __type(value, __u64); }
    counted SEC(".maps");
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
SEC("xdp") int third_dropped(struct xdp_md *c) { return chosen(c->data_end - c->data) ? XDP_DROP : XDP_PASS; }
SEC("xdp") int third_aborted(struct xdp_md *c) { return chosen(c->data_end - c->data) ? XDP_ABORTED : XDP_PASS; }
SEC("xdp") int third_lost(struct xdp_md *c)
{
    return chosen(c->data_end - c->data) ? bpf_redirect(99999, 0) : XDP_PASS;
}
SEC("tc") int third_shot(struct __sk_buff *skb) { return chosen(skb->len) ? 2 : -1; }
char LICENSE[] SEC("license") = "GPL";
"""


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


def xdp(program: str) -> str:
    return f"mount -t bpf bpf /sys/fs/bpf; ip link set dev @one@ xdp object @programs@ program {program}"


def tc(way: str, interface: str) -> str:
    return f"""mount -t bpf bpf /sys/fs/bpf
        tc qdisc add dev @{interface}@ clsact
        tc filter add dev @{interface}@ {way} bpf direct-action object-file @programs@ section tc"""


CAUSES = [
    Cause("rule", rule("udp dport 7 counter drop;"), NO_RULE, count=Bed.nft, expect={"rule": r"ip/t/c/\d+"}),
    Cause("policy", rule("policy drop; counter;", "inet"), NO_RULE, count=Bed.nft, expect={"rule": "inet/t/c"}),
    Cause(
        "chain that was jumped to",
        "nft 'table inet t { chain d { counter drop; }; chain c { type filter hook forward priority 0; jump d; }; }'",
        NO_RULE,
        count=Bed.nft,
        expect={"rule": r"inet/t/d/\d+"},
    ),
    Cause(
        "rule before routing",
        rule("udp dport 7 counter drop;", hook="prerouting priority -300;"),
        NO_RULE,
        count=Bed.nft,
        expect={"rule": r"ip/t/c/\d+"},
    ),
    Cause(
        "rule at the interface",
        rule("udp dport 7 counter drop;", "netdev", "ingress device @one@ priority 0;"),
        NO_RULE,
        count=Bed.nft,
        expect={"rule": r"netdev/t/c/\d+"},
    ),
    Cause(
        "limit of a rule",
        rule("udp dport 7 limit rate over 1/hour burst 20 packets counter drop;"),
        NO_RULE,
        count=Bed.nft,
        expect={"rule": r"ip/t/c/\d+"},
    ),
    Cause("TTL", plan=headers("ttl=1"), count=mib("Ip", "InHdrErrors"), expect={"reason": "IP_INHDR"}),
    Cause(
        "MTU",
        "ip link set @two@ mtu 500",
        "ip link set @two@ mtu 1500",
        {"frame_bytes": [600], **headers("flags='DF'")},
        mib("Ip", "FragFails"),
        expect={"reason": "PKT_TOO_BIG"},
    ),
    Cause(
        "no route",
        "ip route del @net@",
        "ip route add @net@ dev @two@ scope link",
        count=mib("IpExt", "InNoRoutes"),
        expect={"reason": "IP_INNOROUTES"},
    ),
    Cause(
        "unreachable route",
        "ip route add unreachable @far@",
        "ip route del unreachable @far@",
        expect={"function": "ip_error"},
    ),
    Cause("blackhole", "ip route add blackhole @far@", "ip route del blackhole @far@", expect={"interface": "@one@"}),
    Cause("checksum", plan=headers("chksum=1"), count=mib("IpExt", "InCsumErrors"), expect={"reason": "IP_CSUM"}),
    Cause(
        "rp_filter",
        "echo 1 > /proc/sys/net/ipv4/conf/@one@/rp_filter",
        "echo 0 > /proc/sys/net/ipv4/conf/@one@/rp_filter",
        headers("src='198.18.2.77'"),
        mib("TcpExt", "IPReversePathFilter"),
        expect={"reason": "IP_RPFILTER"},
    ),
    Cause("source of the host itself", plan=headers("src='127.0.0.1'"), expect={"reason": "IP_LOCALNET|NOT_SPECIFIED"}),
    Cause("other host", plan=headers("", "dst='02:00:00:00:00:99'"), expect={"reason": "OTHERHOST"}),
    Cause(
        "queue (tbf)",
        "tc qdisc add dev @two@ root tbf rate 1mbit burst 2000 limit 3000",
        "tc qdisc del dev @two@ root",
        count=lambda bed: bed.qdisc("@two@", "tbf"),
        expect={"reason": "QDISC_.*", "interface": "@two@", "qdisc": "tbf"},
    ),
    Cause(
        "queue (leaf of HTB)",
        """tc qdisc add dev @two@ root handle 1: htb default 1
        tc class add dev @two@ parent 1: classid 1:1 htb rate 1mbit
        tc qdisc add dev @two@ parent 1:1 handle 10: pfifo limit 5""",
        "tc qdisc del dev @two@ root",
        count=lambda bed: bed.qdisc("@two@", "pfifo"),
        expect={"reason": "QDISC_.*", "interface": "@two@", "qdisc": "htb"},
    ),
    Cause("XDP_DROP", xdp("third_dropped"), XDP_OFF, count=Bed.program, expect={"program": r"third_dropped.*"}),
    Cause("XDP_ABORTED", xdp("third_aborted"), XDP_OFF, count=Bed.program, expect={"reason": "XDP_ABORTED"}),
    Cause("redirect", xdp("third_lost"), XDP_OFF, count=Bed.program, expect={"kind": "redirect", "reason": "E.*"}),
    Cause(
        "tc program at the input",
        tc("ingress", "one"),
        "tc qdisc del dev @one@ clsact",
        count=Bed.program,
        expect={"reason": "TC_INGRESS", "program": "third_shot.*"},
    ),
    Cause(
        "tc program at the output",
        tc("egress", "two"),
        "tc qdisc del dev @two@ clsact",
        count=Bed.program,
        expect={"reason": "TC_EGRESS", "program": "third_shot.*", "interface": "@two@"},
    ),
    Cause(
        "rule of a bridge",
        rule("udp dport 7 counter drop;", "bridge"),
        NO_RULE,
        count=Bed.nft,
        device="bridge",
        expect={"rule": r"bridge/t/c/\d+"},
    ),
    Cause(
        "no other port",
        "bridge fdb replace @mac@ dev @one@ master static",
        "bridge fdb del @mac@ dev @one@ master",
        device="bridge",
        expect={"interface": "@one@"},
    ),
    Cause(
        "isolated ports",
        "bridge link set dev @one@ isolated on; bridge link set dev @two@ isolated on",
        "bridge link set dev @one@ isolated off; bridge link set dev @two@ isolated off",
        device="bridge",
        expect={"interface": "@one@"},
    ),
]
"""Every one of these drops all test frames, or as many as `count` says."""
XDP_SEES = {"XDP_DROP", "XDP_ABORTED", "redirect"}
NEEDS_PROGRAMS = {*XDP_SEES, "tc program at the input", "tc program at the output"}


@pytest.fixture(scope="module")
def beds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Bed]]:
    programs = None
    if shutil.which("clang") and shutil.which("bpftool"):
        programs = compiled(PROGRAMS, tmp_path_factory.mktemp("programs") / "programs.o")
    made: dict[str, Bed] = {}
    with ExitStack() as stack:

        def bed(device: str) -> Bed:
            if device not in made:
                made[device] = Bed(stack.enter_context(Lab(device)), programs)
            return made[device]

        yield bed


def one_trial(bed: Bed, count: Count, frames: int = FRAMES, **plan: Any) -> tuple[Facts, int]:
    """The facts of a trial in which all frames were sent, and by how much a count rose in it."""
    given = {"frame_bytes": [150], "why_lost": True, **plan}
    wanted = plan_for(bed.lab.device.name, **given)
    asked = trial(wanted, frames) if "stream" in plan else patient_trial(frames, wanted.frame_bytes[0], 4000.0)
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


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_every_lost_frame_has_the_place_that_dropped_it(cause: Cause, beds: Callable[[str], Bed]) -> None:
    bed = beds(cause.device)
    if cause.name in NEEDS_PROGRAMS and bed.programs is None:
        pytest.skip("needs clang and bpftool")
    bed.run(cause.build)
    try:
        facts, counted = one_trial(bed, cause.count or (lambda bed: 0), **cause.plan)
    finally:
        bed.run(cause.undo)
    if cause.name in XDP_SEES:
        needs_part(facts, "programs", "redirect")
    drops, places = told(facts)
    assert len(places) == 1, places
    (place,) = places
    lost = facts.tracked.lost_frames
    absent = dict(drops.absent)
    assert place.frames == lost == (facts.sent.offered_frames if cause.count is None else counted) > 0
    assert drops.not_seen == 0 and not place.of_tester
    assert place.namespace == bed.namespace.name
    for name, pattern in cause.expect.items():
        if (name, "nftables" in absent) == ("rule", True) or (name, "programs" in absent) == ("program", True):
            assert not getattr(place, name)
            continue
        wanted = pattern.replace("@one@", str(bed.lab.ports[0].dut_interface))
        wanted = wanted.replace("@two@", str(bed.lab.ports[1].dut_interface))
        assert re.fullmatch(wanted, getattr(place, name)), place
    assert place.first_ns is not None and place.last_ns is not None
    assert 0 <= place.first_ns <= place.last_ns <= facts.sent.last_sent_ns + 200_000_000


def test_a_device_without_faults_drops_nothing(beds: Callable[[str], Bed]) -> None:
    facts, _ = one_trial(beds("router"), lambda bed: 0)
    drops, places = told(facts)
    assert not places and drops.lost_frames == drops.not_seen == 0
    # The kernel frees what the tester's own program received: that is no drop.
    assert not any(place.of_tester for place in drops.places)


@pytest.mark.parametrize("engine", ["xdp", "afxdp", "packet"])
@pytest.mark.parametrize("frame_bytes", [64, 150, 1500])
def test_frames_of_every_engine_are_recognised(engine: str, frame_bytes: int, beds: Callable[[str], Bed]) -> None:
    """A packet socket's frames lie in pages of their own."""
    bed = beds("router")
    bed.run(rule("udp dport 7 counter drop;"))
    try:
        facts, counted = one_trial(bed, Bed.nft, engine=engine, frame_bytes=[frame_bytes])
    finally:
        bed.run(NO_RULE)
    _, (place,) = told(facts)
    assert place.frames == counted == facts.sent.offered_frames


def test_what_a_program_of_the_device_drops_is_not_seen_elsewhere(beds: Callable[[str], Bed]) -> None:
    """Frames for the device itself end in a socket: those for which it has room were delivered, and nobody forwards."""
    bed = beds("router")

    def listen() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4000)
        made.setblocking(False)
        made.bind(("0.0.0.0", 7))
        return made

    own = bed.lab.ports[0].dut_ipv4
    read: list[int] = []
    with closing(run_in_namespace(bed.namespace, listen)) as listener:

        def count(bed: Bed) -> int:
            read.append(0)
            with suppress(BlockingIOError):
                while listener.recv(2048):
                    read[-1] += 1
            return bed.mib("Udp", "RcvbufErrors")

        facts, full = one_trial(bed, count, **headers(f"dst='{own}'"))
    drops, (place,) = told(facts)
    assert (place.reason, place.frames) == ("SOCKET_RCVBUFF", full)
    assert drops.not_seen == read[-1] == facts.sent.offered_frames - full > 0


def test_a_neighbour_that_does_not_answer(beds: Callable[[str], Bed]) -> None:
    """Some frames wait for its answer in vain, and for some there is no room to wait."""
    bed = beds("router")
    bed.run("""echo 1 > /proc/sys/net/ipv4/neigh/@two@/mcast_solicit
        echo 10 > /proc/sys/net/ipv4/neigh/@two@/retrans_time_ms
        echo 3000 > /proc/sys/net/ipv4/neigh/@two@/unres_qlen_bytes""")

    def without_room(bed: Bed) -> int:
        head, *rows = Path("/proc/net/stat/arp_cache").read_text().splitlines()  # of all namespaces
        return sum(int(row.split()[head.split().index("unresolved_discards")], 16) for row in rows)

    facts, full = one_trial(bed, without_room, **headers("dst='198.18.2.200'"))
    drops, places = told(facts)
    found = {place.reason: place.frames for place in places}
    assert all(place.interface == bed.lab.ports[1].dut_interface for place in places)
    assert found == {"NEIGH_QUEUEFULL": full, "NEIGH_FAILED": facts.sent.offered_frames - full}
    assert full > 0 and drops.not_seen == 0


def test_a_full_ring_of_a_tap_is_seen(beds: Callable[[str], Bed]) -> None:
    bed = beds("router")
    with closing(TapDevice(bed.namespace, "full")):
        bed.run("""ip link set full up txqueuelen 10; ip route add @far@ dev full
            ip neigh replace @far@ lladdr @mac@ dev full nud permanent""")
        dropped = "cat /sys/class/net/full/statistics/tx_dropped"
        facts, counted = one_trial(bed, lambda bed: int(bed.run(dropped)))
    drops, (place,) = told(facts)
    assert (place.reason, place.interface, place.frames) == ("FULL_RING", "full", counted)
    assert drops.not_seen == facts.sent.offered_frames - counted


def test_known_faults_are_told_one_by_one() -> None:
    chosen = sorted(random.Random(42).sample(range(FRAMES), 30))
    with Lab("faulty", faults=Faults(drop=tuple(chosen))) as lab:
        facts, _ = one_trial(Bed(lab, None), lambda bed: 0)
    drops, (place,) = told(facts)
    assert place.frames == len(chosen) and bool(place.program) == ("programs" not in dict(drops.absent))
    assert drops.frames.rows[:, 1].tolist() == chosen


def test_every_lost_frame_of_mixtures_has_its_own_cause(tmp_path: Path, mixtures: int = 6) -> None:
    """A sample of benchmarks/accuracy/lost_places.py: three causes at once, and somebody who gets copies."""
    chance = random.Random(4242)
    programs = (
        compiled(MIXED_PROGRAMS, tmp_path / "mixture.o") if shutil.which("clang") and shutil.which("bpftool") else None
    )
    disturbed = 0
    with mixture_bed(programs) as bed:
        for _ in range(mixtures):
            causes, weights, bystander = drawn(chance, bed.causes)
            outcome = bed.mixture(causes, weights, bystander, 120, 2000.0)
            if outcome is None:
                disturbed += 1
                continue
            facts, counts = outcome
            assert not bed.differences(causes, facts, counts), (causes, bystander)
    if disturbed == mixtures:
        pytest.skip("the host disturbed every trial")
