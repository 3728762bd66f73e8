"""Where frames were lost in devices that were not looked at while `--why-lost` was built: what is told of each frame is
compared with counters of somebody else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest
from scapy.layers.l2 import Ether
from support.bpf_object import compiled
from support.lab_passages import needs
from support.lost_causes import (
    NO_RULE,
    PROGRAMS,
    Bed,
    Cause,
    check_place,
    headers,
    mib,
    one_trial,
    outcome_of,
    rule,
    told,
)
from support.tap_device import TapDevice

from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.daemons import Daemons
from keisoku.ground.lab.device.iproute import IP, TC
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.nftables import NFT
from keisoku.ground.lab.device.vswitch import PROGRAMS as OF_VSWITCH
from keisoku.ground.lab.device.vswitch import Vswitch
from keisoku.subjects.device.record.facts import Facts

pytestmark = [pytest.mark.lab, needs(NFT, IP, TC)]

BEHIND = "198.51.100.130"
"""What the router sends through the container."""


class Box(Bed):
    """The container, as seen from within."""

    @property
    def namespace(self) -> Path:
        return Path(f"/run/netns/keisoku-{os.getpid()}-server42")


def _forwards(bed: Bed, box: Box) -> None:
    """The router's way to `BEHIND` leads through the container by two veth pairs."""
    name = box.namespace.name
    bed.run(f"""ip link add c0 type veth peer name b0 netns {name}; ip link add c1 type veth peer name b1 netns {name}
        ip addr add 198.51.100.1/30 dev c0; ip addr add 198.51.100.5/30 dev c1; ip link set c0 up; ip link set c1 up
        ip route add 198.51.100.128/25 via 198.51.100.2
        ip rule add iif c1 lookup 77; ip route add default via @far@ dev @two@ table 77 onlink
        ip neigh replace @far@ lladdr @mac@ dev @two@ nud permanent""")
    box.run("""ip addr add 198.51.100.2/30 dev b0; ip addr add 198.51.100.6/30 dev b1; ip link set b0 up
        ip link set b1 up; ip link set lo up; ip route add default via 198.51.100.5
        echo 1 > /proc/sys/net/ipv4/ip_forward""")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    if not (shutil.which("clang") and shutil.which("bpftool")):
        return None
    return compiled(PROGRAMS, tmp_path_factory.mktemp("programs") / "programs.o")


@pytest.fixture(scope="module")
def beds(programs: Path | None) -> Iterator[tuple[Bed, Box]]:
    with Lab("router") as lab:
        bed, box = Bed(lab, programs), Box(lab, programs)
        namespace = Namespace(box.namespace.name)
        namespace.create()
        try:
            _forwards(bed, box)
            yield bed, box
        finally:
            namespace.remove()


DROPPED = rule("udp dport 7 counter drop;")
BEHIND_THE_ROUTER = headers(f"dst='{BEHIND}'")
IN_BOX = [
    Cause("rule", DROPPED, NO_RULE, BEHIND_THE_ROUTER, Bed.nft, expect={"rule": r"ip/t/c/\d+"}),
    Cause(
        "tc program",
        """mount -t bpf bpf /sys/fs/bpf
        tc qdisc add dev b0 clsact
        tc filter add dev b0 ingress bpf direct-action object-file @programs@ section tc""",
        "tc qdisc del dev b0 clsact",
        BEHIND_THE_ROUTER,
        Bed.program,
        expect={"reason": "TC_INGRESS", "program": "third_shot.*", "interface": "b0"},
    ),
    Cause("no way out of it", "ip link set b1 down", "ip link set b1 up; ip route add default via 198.51.100.5",
          BEHIND_THE_ROUTER, mib("IpExt", "InNoRoutes"), expect={"interface": "b0", "reason": "IP_INNOROUTES"}),
    Cause(
        "rp_filter",
        "echo 1 > /proc/sys/net/ipv4/conf/b0/rp_filter; ip route add 203.0.113.0/24 via 198.51.100.5",
        "echo 0 > /proc/sys/net/ipv4/conf/b0/rp_filter; ip route del 203.0.113.0/24",
        headers(f"src='203.0.113.9',dst='{BEHIND}'"),
        mib("TcpExt", "IPReversePathFilter"),
        expect={"reason": "IP_RPFILTER|NOT_SPECIFIED", "interface": "b0"},
    ),
    Cause(
        "rule at a macvlan",
        "ip -n @device@ link add link @one@ name mv address 02:00:00:00:00:77 netns @box@ type macvlan mode bridge;"
        "ip link set mv up;" + rule("udp dport 7 counter drop;", hook="prerouting priority -300;"),
        f"ip link del mv; {NO_RULE}",
        headers("", "dst='02:00:00:00:00:77'"),
        Bed.nft,
        expect={"rule": r"ip/t/c/\d+", "interface": "mv"},
    ),
]  # fmt: skip
IN_ROUTER = [
    Cause(
        "macvlan that is down",
        "ip link add link @one@ name mv address 02:00:00:00:00:77 type macvlan mode bridge",
        "ip link del mv",
        headers("", "dst='02:00:00:00:00:77'"),
        expect={"reason": "OTHERHOST", "interface": "@one@"},
    ),
    Cause(
        "tunnel that is larger than the MTU",
        """ip link add vx type vxlan id 7 dstport 4789 remote @far@ dev @two@ df set; ip link set vx up
        ip route add 198.51.100.4 dev vx; ip neigh replace 198.51.100.4 lladdr @mac@ dev vx nud permanent
        ip link set @two@ mtu 1400""",
        "ip link del vx; ip link set @two@ mtu 1500",
        {"frame_bytes": [1400], **headers("dst='198.51.100.4'")},
        mib("Ip", "FragFails"),
        expect={"reason": "PKT_TOO_BIG|NOT_SPECIFIED", "interface": "@two@|vx"},
    ),
]


def _tried(cause: Cause, bed: Bed, *outer: tuple[str, str]) -> None:
    if "@programs@" in cause.build and bed.programs is None:
        pytest.skip("needs clang and bpftool")
    for name, value in outer:
        cause = Cause(**{**vars(cause), "build": cause.build.replace(name, value)})
    facts, counted = outcome_of(cause, bed)
    check_place(cause, bed, facts, counted)


@pytest.mark.parametrize("cause", IN_BOX, ids=lambda cause: cause.name)
def test_a_container_behind_the_router(cause: Cause, beds: tuple[Bed, Box]) -> None:
    bed, box = beds
    _tried(cause, box, ("@device@", bed.namespace.name), ("@box@", box.namespace.name))


@pytest.mark.parametrize("cause", IN_ROUTER, ids=lambda cause: cause.name)
def test_parts_of_a_router(cause: Cause, beds: tuple[Bed, Box]) -> None:
    _tried(cause, beds[0])


def test_a_chain_without_faults_loses_nothing(beds: tuple[Bed, Box]) -> None:
    facts, _ = one_trial(beds[0], lambda bed: 0, **BEHIND_THE_ROUTER)
    assert told(facts)[1] == [] and facts.tracked.lost_frames == 0


def test_a_program_between_two_taps_that_loses_every_third_frame(beds: tuple[Bed, Box]) -> None:
    """What it drops is not seen, nor is what it forwards so late that the trial is over; no place is invented."""
    bed, _ = beds
    dropped: list[int] = []
    end, idle = Event(), Event()
    with closing(TapDevice(bed.namespace, "in0")) as inward, closing(TapDevice(bed.namespace, "out0")) as outward:
        bed.run("""ip link set in0 up; ip link set out0 up; ip route add 198.51.100.9 dev in0
            ip neigh replace 198.51.100.9 lladdr @mac@ dev in0 nud permanent
            ip rule add iif out0 lookup 77; ip route replace default via @far@ dev @two@ table 77 onlink""")
        mac = bed.run("cat /sys/class/net/out0/address").strip()

        def forward() -> None:
            while not end.wait(0.001):
                for frame in inward.sent():
                    packet = Ether(frame)
                    if packet.type != 0x800 or len(frame) != 146:
                        continue
                    dropped.append(1)
                    if len(dropped) % 3:
                        packet.dst = mac
                        outward.receive(bytes(packet))
                idle.set()

        def count(bed: Bed) -> int:
            # Twice: it may have looked already when it is asked.
            for _ in (1, 2):
                idle.clear()
                idle.wait()
            return len(dropped) // 3

        thread = Thread(target=forward)
        thread.start()
        try:
            facts, taken = one_trial(bed, count, **headers("dst='198.51.100.9'"))
        finally:
            end.set()
            thread.join()
            bed.run("ip rule del iif out0 lookup 77")
    drops, places = told(facts)
    assert not places, places
    assert drops.not_seen == facts.tracked.lost_frames >= taken > 0


class KernelSwitch(Vswitch):
    """Open vSwitch whose datapath is the kernel's."""

    def _start(self, program: Program, *arguments: str, ready: Path) -> None:
        super()._start(program, *(one for one in arguments if one != "--disable-system"), ready=ready)

    def configure(self, *words: str) -> None:
        super().configure(*(word.replace("=netdev", "=system") for word in words))


def _lost_in_a_switch(kind: type[Vswitch], flow: str) -> tuple[Facts, int]:
    """The facts of a trial through Open vSwitch with this flow, and how many frames its meter dropped."""
    ofctl = next(program for program in OF_VSWITCH if program.name == "ovs-ofctl")
    with Lab("bridge") as lab:
        bed = Bed(lab, None)
        one, two = bed.named("@one@"), bed.named("@two@")
        bed.run("ip link set @one@ nomaster; ip link set @two@ nomaster")
        daemons = Daemons(f"keisoku-{os.getpid()}-server43")
        switch = run_in_namespace(bed.namespace, lambda: kind(daemons, None))
        try:
            run_in_namespace(bed.namespace, lambda: switch.bridge("sw", one, two))
            bridge = str(daemons.directory / "sw.mgmt")
            ofctl.run(
                "-O", "OpenFlow13", "add-meter", bridge, "meter=1,pktps,burst,band=type=drop,rate=1000,burst_size=10"
            )
            switch.set_flows("sw", [f"in_port=1,actions={flow}", "in_port=2,actions=output:1"])

            def count(_: Bed) -> int:
                told_by = ofctl.run("-O", "OpenFlow13", "meter-stats", bridge, "meter=1")
                bands = told_by.partition("bands:")[2]
                return int(re.search(r"packet_count:(\d+)", bands)[1]) if "meter" in flow else 0  # type: ignore[index]

            return one_trial(bed, count)
        finally:
            run_in_namespace(bed.namespace, lambda: switch.configure("del-br", "sw"))
            daemons.end()


FLOWS = pytest.mark.parametrize("flow", ["meter:1,output:2", "drop"])


@FLOWS
@needs(*OF_VSWITCH)
def test_a_meter_and_a_flow_of_open_vswitch(flow: str) -> None:
    """What a program in user space drops is not seen, and the program is named."""
    facts, metered = _lost_in_a_switch(Vswitch, flow)
    drops, places = told(facts)
    lost = facts.tracked.lost_frames
    assert lost == (metered if "meter" in flow else facts.sent.offered_frames) > 0
    # Where nothing arrives, the kernel's own protocols are the only ones that were seen to drop it.
    assert all(place.readers == ("ovs-vswitchd",) for place in places), places
    assert drops.not_seen + sum(place.frames for place in places) == lost
    assert not places or flow == "drop"


@FLOWS
@needs(*OF_VSWITCH)
def test_a_meter_and_a_flow_of_the_kernels_open_vswitch(flow: str) -> None:
    if subprocess.run(["modprobe", "openvswitch"], capture_output=True).returncode:
        pytest.skip("this kernel has no module openvswitch")
    facts, metered = _lost_in_a_switch(KernelSwitch, flow)
    drops, places = told(facts)
    lost = facts.tracked.lost_frames
    assert lost == (metered if "meter" in flow else facts.sent.offered_frames) > 0
    reasons = {place.reason for place in places}
    assert reasons == {"OVS_DROP_METER" if "meter" in flow else "OVS_DROP_LAST_ACTION"}, places
    assert sum(place.frames for place in places) == lost and drops.not_seen == 0
