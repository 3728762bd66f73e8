"""Where the kernel dropped each lost frame, for causes that are made here and counted by something else."""

from __future__ import annotations

import random
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest
from support.bpf_object import compiled
from support.lab_passages import needs
from support.lab_trials import plan_for, trial
from support.lost_causes import (
    EXIT,
    FRAMES,
    NO_EXIT,
    NO_RULE,
    PROGRAMS,
    XDP_OFF,
    Bed,
    Cause,
    check_place,
    headers,
    mib,
    needs_part,
    newest,
    one_trial,
    outcome_of,
    rule,
    tc,
    told,
    xdp,
)
from support.lost_mixtures import PROGRAMS as MIXED_PROGRAMS
from support.lost_mixtures import drawn, mixture_bed
from support.tap_device import TapDevice

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.faults import Faults
from keisoku.ground.lab.device.iproute import IP, TC
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.nftables import NFT
from keisoku.subjects.device.plan_testbed import open_engine

pytestmark = [pytest.mark.lab, needs(NFT, IP, TC)]

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
        "unknown answer of XDP",
        xdp("third_unknown"),
        XDP_OFF,
        count=Bed.program,
        expect={"kind": "program", "reason": "77", "program": r"third_unknown.*"},
    ),
    *(
        Cause(
            f"entry that is missing ({program})",
            xdp(program),
            XDP_OFF,
            count=Bed.program,
            expect={"kind": "program", "reason": "XDP_ABORTED", "program": rf"{program}.*"},
        )
        for program in ("third_no_exit", "third_no_worker")
    ),
    *(
        Cause(
            f"redirect to an interface {what}",
            f"{xdp('third_to_exit')}; {EXIT}; {build}",
            NO_EXIT,
            count=Bed.program,
            expect=expect,
        )
        for what, build, expect in (
            ("that is down", "ip link set e0 down", {"kind": "redirect", "reason": "ENETDOWN", "interface": "@one@"}),
            ("whose MTU is less", "ip link set e0 mtu 100", {"kind": "redirect", "reason": "EMSGSIZE"}),
            ("whose peer is down", "ip link set e1 down", {"kind": "devmap", "interface": "e0"}),
            ("whose driver refuses", "ip link set e1 mtu 100", {"kind": "devmap", "interface": "e0"}),
        )
    ),
    Cause(
        "redirect for packets",
        xdp("third_lost", "xdpgeneric"),
        "ip link set dev @one@ xdpgeneric off",
        count=Bed.program,
        expect={"kind": "freed", "reason": "XDP", "interface": "@one@"},
    ),
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


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_every_lost_frame_has_the_place_that_dropped_it(cause: Cause, beds: Callable[[str], Bed]) -> None:
    bed = beds(cause.device)
    if "@programs@" in cause.build and bed.programs is None:
        pytest.skip("needs clang and bpftool")
    facts, counted = outcome_of(cause, bed)
    if " xdp object " in cause.build:
        needs_part(facts, "programs", "redirect", "devmap")
    check_place(cause, bed, facts, counted)


def test_a_cpu_without_room_for_redirected_frames(beds: Callable[[str], Bed]) -> None:
    """What it has room for goes on to the kernel's IP, which counts it."""
    bed = beds("router")
    if bed.programs is None:
        pytest.skip("needs clang and bpftool")
    bed.run(f"{xdp('third_to_worker')}; bpftool map update id {newest('workers')} key 0 0 0 0 value 1 0 0 0")
    try:
        facts, received = one_trial(bed, mib("Ip", "InReceives"), rate=1e6)
    finally:
        bed.run(XDP_OFF)
    needs_part(facts, "cpumap")
    drops, (place,) = told(facts)
    assert place.frames == drops.lost_frames == facts.sent.offered_frames - received > 0
    assert (place.kind, place.interface) == ("cpumap", "CPU 0")


def test_the_cable_beside_a_device_is_not_watched() -> None:
    """Its programs ran for each frame at the device besides, whose time they were taken for (70 ns)."""
    plan = plan_for("bridge", methods=["cost"], frame_bytes=[64], why_lost=True)
    with open_engine(plan) as engine:
        for number, on_cable in enumerate((False, True)):
            engine.start(trial(plan, 10).model_copy(update={"on_cable": on_cable}), stream=1 + 64 * number, seed=0)
            facts, _ = engine.finish()
            assert (facts.drops is None) == on_cable


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
