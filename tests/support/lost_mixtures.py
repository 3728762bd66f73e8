"""Causes of loss at a router of the lab, one for each stream, and a trial of several at once.

What each of them drops is known otherwise: by counters of nftables, SNMP, tc and BPF, or because it drops all frames of
its stream or those of some sequence numbers.
"""

from __future__ import annotations

import ctypes
import random
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.record.drops import DropPlace
from keisoku.subjects.device.record.facts import Facts
from support.device_shell import DeviceShell
from support.lab_trials import on_lab, plan_for, trial
from support.tap_device import TapDevice
from support.trials import ATTEMPTS, incomplete

FRAME_BYTES = 150
PROGRAMS = """
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 8); __type(key, __u32); __type(value, __u64); }
    dropped SEC(".maps");
/* UDP to this port behind an IPv4 header without options. */
static __always_inline int chosen(void *data, void *end, __u16 port)
{
    unsigned char *at = data;
    __u32 own = port & 7;
    if (data + 42 > end || at[12] != 8 || at[13] != 0 || at[23] != 17 || (at[36] << 8 | at[37]) != port)
        return 0;
    __u64 *count = bpf_map_lookup_elem(&dropped, &own);
    if (count)
        __sync_fetch_and_add(count, 1);
    return 1;
}
#define OF(C) (void *)(long)C->data, (void *)(long)C->data_end
SEC("xdp") int by_xdp(struct xdp_md *c)
{
    if (chosen(OF(c), 4009))
        return XDP_DROP;
    if (chosen(OF(c), 4010))
        return XDP_ABORTED;
    return chosen(OF(c), 4011) ? bpf_redirect(99999, 0) : XDP_PASS;
}
SEC("tc/in") int by_tc_in(struct __sk_buff *c) { return chosen(OF(c), 4012) ? 2 : -1; }
SEC("tc/out") int by_tc_out(struct __sk_buff *c) { return chosen(OF(c), 4013) ? 2 : -1; }
char LICENSE[] SEC("license") = "GPL";
"""
_ACCEPT, _REFUSE = b"\x06\x00\x00\x00\xff\xff\xff\xff", b"\x06\x00\x00\x00\x00\x00\x00\x00"
"""Classic BPF: return the whole packet, or nothing of it."""
_ATTACH_FILTER = 26
_FULL, _FILTERED, _CHECKED = 9, 11, 10
"""Ports at which programs of the device listen."""
_RULES = """table ip t {
    chain other { udp dport 4002 counter drop; }
    chain first { type filter hook prerouting priority -300; udp dport 4003 counter drop; }
    chain c { type filter hook forward priority 0; udp dport 4001 counter drop; jump other;
        udp dport 4004 limit rate over 1/hour burst 20 packets counter drop;
        udp dport 4005 @th,824,8 & 7 == 3 counter drop;
        udp dport 4006 counter reject; }
}
table inet p { chain c { type filter hook forward priority 10; policy drop; udp dport != 4007 accept; counter; }; }
table netdev n { chain c { type filter hook ingress device @one@ priority 0; udp dport 4008 counter drop; }; }"""
_BUILD = f"""nft '{_RULES}'
ip route add unreachable 198.51.100.1; ip route add blackhole 198.51.100.2; ip route add prohibit 198.51.100.3
ip route add 198.18.2.50/32 dev @two@ mtu lock 100
ip link set full up txqueuelen 10; ip route add 198.51.100.4 dev full
ip neigh replace 198.51.100.4 lladdr @mac@ dev full nud permanent
ip link add q0 type veth peer name q1; ip link set q0 up; ip link set q1 up
ip route add 198.51.100.5 dev q0; ip neigh replace 198.51.100.5 lladdr @mac@ dev q0 nud permanent
tc qdisc add dev q0 root tbf rate 1mbit burst 2000 limit 3000
echo 1 > /proc/sys/net/ipv4/conf/@one@/rp_filter
echo 1 > /proc/sys/net/ipv4/neigh/@two@/mcast_solicit; echo 10 > /proc/sys/net/ipv4/neigh/@two@/retrans_time_ms
echo 3000 > /proc/sys/net/ipv4/neigh/@two@/unres_qlen_bytes"""
_WITH_PROGRAMS = """mount -t bpf bpf /sys/fs/bpf
tc qdisc add dev @one@ clsact; tc qdisc add dev @two@ clsact
tc filter add dev @one@ ingress bpf direct-action object-file @programs@ section tc/in
tc filter add dev @two@ egress bpf direct-action object-file @programs@ section tc/out"""
_WITH_XDP = "mount -t bpf bpf /sys/fs/bpf; ip link set dev @one@ xdp object @programs@ program by_xdp"
_OPTIONAL = {
    "vxlan": "ip link add vx type vxlan id 7 dstport 4789; ip link set vx up",
    "xfrm": "ip xfrm policy add dir fwd dst 198.51.100.6/32 action block; ip route add 198.51.100.6 dev @two@",
    "police": """tc filter add dev @one@ ingress prio 9 protocol ip u32 match ip dport 4014 0xffff \
        police rate 8kbit burst 2000 drop""",
}
"""What not every kernel has: a part is left out where this fails."""


@dataclass(frozen=True)
class Expected:
    """A place by patterns of its fields, and how many frames it drops; None: all others that are lost."""

    fields: dict[str, str]
    count: Callable[[DeviceShell], int] | None = None


@dataclass(frozen=True)
class Cause:
    name: str
    headers: str
    places: tuple[Expected, ...]
    needs: str = ""
    """A part that is not there everywhere."""
    every: tuple[int, int] | None = None
    """Only frames whose numbers leave this rest (the second) are dropped."""
    keeps: bool = False
    """What is not dropped ends in the device, without being seen."""


def mib(group: str, name: str) -> Callable[[DeviceShell], int]:
    return lambda device: device.mib(group, name)


def _rule(port: int, chain: str, count: bool = True) -> Expected:
    pattern = rf"udp dport {port}\b.*?counter packets (\d+)"

    def counted(device: DeviceShell) -> int:
        return sum(map(int, re.findall(pattern, device.run("nft list ruleset"))))

    return Expected({"reason": "NETFILTER_DROP", "rule": chain}, counted if count else None)


def _policy(device: DeviceShell) -> int:
    return sum(map(int, re.findall(r"(?m)^\s*counter packets (\d+)", device.run("nft list table inet p"))))


def _program(port: int) -> Callable[[DeviceShell], int]:
    def counted(device: DeviceShell) -> int:
        text = device.run("bpftool map dump name dropped")
        return sum(map(int, re.findall(rf'"key": {port & 7},\s*"value": (\d+)', text)))

    return counted


def _sent_drops(interface: str) -> Callable[[DeviceShell], int]:
    return lambda device: int(device.run(f"cat /sys/class/net/{interface}/statistics/tx_dropped"))


def _without_room(device: DeviceShell) -> int:
    """Of all namespaces."""
    head, *rows = Path("/proc/net/stat/arp_cache").read_text().splitlines()
    return sum(int(row.split()[head.split().index("unresolved_discards")], 16) for row in rows)


def _socket_drops(port: int) -> Callable[[DeviceShell], int]:
    def counted(device: DeviceShell) -> int:
        rows = [row.split() for row in device.run("cat /proc/thread-self/net/udp").splitlines()]
        return sum(int(row[12]) for row in rows[1:] if int(row[1].rpartition(":")[2], 16) == port)

    return counted


def _blocked(device: DeviceShell) -> int:
    rows = (row.split() for row in device.run("cat /proc/thread-self/net/xfrm_stat").splitlines())
    return sum(int(value) for name, value in rows if name.endswith("PolBlock"))


def _ip(ip: str = "", udp: str = "", ether: str = "") -> str:
    return f"Ether({ether})/IP({ip})/UDP({udp})"


def _reason(pattern: str, count: Callable[[DeviceShell], int] | None = None, **fields: str) -> tuple[Expected]:
    return (Expected({"reason": pattern, **fields}, count),)


CAUSES = (
    Cause("TTL", _ip("ttl=1"), _reason("IP_INHDR", None, function="ip_forward")),
    Cause("IP checksum", _ip("chksum=1"), _reason("IP_CSUM", mib("IpExt", "InCsumErrors"))),
    Cause("IP length", _ip("len=2000"), _reason("PKT_TOO_SMALL", mib("IpExt", "InTruncatedPkts"))),
    Cause("IP version", _ip("version=5"), _reason("IP_INHDR", None, function="ip_rcv_core")),
    Cause("source of the host", _ip("src='127.0.0.1'"), _reason("IP_LOCALNET|NOT_SPECIFIED")),
    Cause("source of many", _ip("src='224.0.0.5'"), _reason("IP_INVALID_SOURCE|NOT_SPECIFIED")),
    Cause("other host", _ip(ether="dst='02:00:00:00:00:99'"), _reason("OTHERHOST")),
    Cause("EtherType", "Ether(type=0x88b5)", _reason("UNHANDLED_PROTO")),
    Cause("no route", _ip("dst='203.0.113.9'"), _reason("IP_INNOROUTES|NOT_SPECIFIED", mib("IpExt", "InNoRoutes"))),
    Cause("unreachable", _ip("dst='198.51.100.1'"), _reason(".*", function="ip_error")),
    Cause("blackhole", _ip("dst='198.51.100.2'"), _reason(".*", interface="@one@")),
    Cause("prohibit", _ip("dst='198.51.100.3'"), _reason(".*", function="ip_error")),
    Cause("MTU", _ip("dst='198.18.2.50',flags='DF'"), _reason("PKT_TOO_BIG|NOT_SPECIFIED", mib("Ip", "FragFails"))),
    Cause(
        "reverse path",
        _ip("src='198.18.2.77'"),
        _reason("IP_RPFILTER|NOT_SPECIFIED", mib("TcpExt", "IPReversePathFilter")),
    ),
    Cause("no listener", _ip("dst='@own@'", "dport=4444"), _reason("NO_SOCKET", mib("Udp", "NoPorts"))),
    Cause(
        "full socket", _ip("dst='@own@'", f"dport={_FULL}"), _reason("SOCKET_RCVBUFF", _socket_drops(_FULL)), keeps=True
    ),
    Cause(
        "socket's filter", _ip("dst='@own@'", f"dport={_FILTERED}"), _reason("SOCKET_FILTER", _socket_drops(_FILTERED))
    ),
    Cause(
        "UDP checksum",
        _ip("dst='@own@'", f"dport={_CHECKED},chksum=1"),
        _reason("UDP_CSUM", mib("Udp", "InCsumErrors")),
    ),
    Cause("protocol", "Ether()/IP(dst='@own@',proto=253)", _reason("IP_NOPROTO", mib("Ip", "InUnknownProtos"))),
    Cause("first rule", _ip(udp="dport=4001"), (_rule(4001, r"ip/t/c/\d+"),)),
    Cause("rule of another chain", _ip(udp="dport=4002"), (_rule(4002, r"ip/t/other/\d+"),)),
    Cause("rule before routing", _ip(udp="dport=4003"), (_rule(4003, r"ip/t/first/\d+"),)),
    Cause("rule's limit", _ip(udp="dport=4004"), (_rule(4004, r"ip/t/c/\d+"),)),
    Cause("rule of numbers", _ip(udp="dport=4005"), (_rule(4005, r"ip/t/c/\d+"),), every=(8, 3)),
    Cause("rule that answers", _ip(udp="dport=4006"), (_rule(4006, r"ip/t/c/\d+"),)),
    Cause("policy", _ip(udp="dport=4007"), (Expected({"reason": "NETFILTER_DROP", "rule": "inet/p/c"}, _policy),)),
    Cause("rule at the interface", _ip(udp="dport=4008"), (_rule(4008, r"netdev/n/c/\d+"),)),
    Cause(
        "full ring",
        _ip("dst='198.51.100.4'"),
        _reason("FULL_RING", _sent_drops("full"), interface="full"),
        keeps=True,
    ),
    Cause(
        "queue",
        _ip("dst='198.51.100.5'"),
        (
            Expected(
                {"reason": "QDISC_.*", "interface": "q0", "qdisc": "tbf"}, lambda device: device.qdisc("q0", "tbf")
            ),
            Expected({"reason": "OTHERHOST", "interface": "q1"}),
        ),
    ),
    Cause(
        "neighbour",
        _ip("dst='198.18.2.200'"),
        (
            Expected({"reason": "NEIGH_QUEUEFULL", "interface": "@two@"}, _without_room),
            Expected({"reason": "NEIGH_FAILED", "interface": "@two@"}),
        ),
    ),
    Cause(
        "VNI",
        "Ether()/IP(dst='@own@')/UDP(dport=4789)/VXLAN(flags=8,vni=99)/Ether()/IP()/UDP()",
        _reason("VXLAN_VNI_NOT_FOUND|NOT_SPECIFIED"),
        "vxlan",
    ),
    Cause("IPsec policy", _ip("dst='198.51.100.6'"), _reason("XFRM_POLICY", _blocked), "xfrm"),
    Cause(
        "policer",
        _ip(udp="dport=4014"),
        _reason("TC_INGRESS", lambda device: device.policed("@one@")),
        "police",
    ),
    Cause(
        "tc program at the input",
        _ip(udp="dport=4012"),
        _reason("TC_INGRESS", _program(4012), program="by_tc_in.*"),
        "programs",
    ),
    Cause(
        "tc program at the output",
        _ip(udp="dport=4013"),
        _reason("TC_EGRESS", _program(4013), program="by_tc_out.*"),
        "programs",
    ),
    Cause("XDP_DROP", _ip(udp="dport=4009"), _reason("XDP_DROP", _program(4009), program="by_xdp.*"), "xdp"),
    Cause("XDP_ABORTED", _ip(udp="dport=4010"), _reason("XDP_ABORTED", _program(4010), program="by_xdp.*"), "xdp"),
    Cause("redirect", _ip(udp="dport=4011"), (Expected({"kind": "redirect"}, _program(4011)),), "xdp"),
    Cause("none", _ip(), ()),
)
BYSTANDERS = ("nobody", "unread packet socket at the input", "unread packet socket at the output", "reader")
"""Who gets copies of the frames beside. An unread socket soon has no room, and drops them."""


class MixtureBed:
    """A router of the lab with all causes at once, of which a trial meets those for which it has streams."""

    def __init__(self, lab: Lab, programs: Path | None, stack: ExitStack) -> None:
        self.device = DeviceShell(lab, programs)
        self.lab = lab
        namespace = self.device.namespace
        stack.enter_context(closing(TapDevice(namespace, "full")))
        self.device.run(_BUILD)
        self.parts = {""}
        if programs is not None:
            self.device.run(_WITH_PROGRAMS)
            self.parts.add("programs")
        for part, commands in _OPTIONAL.items():
            with suppress(AssertionError):
                self.device.run(commands)
                self.parts.add(part)
        own = str(lab.ports[0].dut_ipv4)
        self._own = own
        self._listeners = [
            stack.enter_context(closing(run_in_namespace(namespace, partial(_listen, own, port, code))))
            for port, code in ((_FULL, None), (_FILTERED, _REFUSE), (_CHECKED, _ACCEPT))
        ]

    def with_xdp(self) -> None:
        """Not from the begin: where a host does not permit programs at functions, what XDP drops is not seen."""
        self.device.run(_WITH_XDP)
        self.parts.add("xdp")

    @property
    def causes(self) -> list[Cause]:
        return [cause for cause in CAUSES if cause.needs in self.parts]

    def drain(self) -> int:
        """Reads what the listeners have received."""
        read = 0
        for listener in self._listeners:
            with suppress(BlockingIOError):
                while listener.recv(4096):
                    read += 1
        return read

    def mixture(
        self, causes: Sequence[Cause], weights: Sequence[int], bystander: str, frames: int, rate: float
    ) -> tuple[Facts, list[list[int | None]]] | None:
        """A trial with a stream for each cause: its facts, and what each place of each cause counted; None if the host
        disturbed every attempt."""
        streams = [
            {"headers": cause.headers.replace("@own@", self._own), "weight": weight}
            for cause, weight in zip(causes, weights, strict=True)
        ]
        wanted = plan_for("router", frame_bytes=[FRAME_BYTES], why_lost=True, stream=streams)
        asked = trial(wanted, frames, rate)
        # Learning frames would be counted with the others.
        asked = asked.model_copy(update={"phases": asked.phases.model_copy(update={"learning": False})})
        with closing(on_lab(wanted, self.lab)) as engine:
            for attempt in range(ATTEMPTS):
                self.drain()
                self.device.run("ip neigh flush dev @two@ 198.18.2.200 2>/dev/null || true")
                with _beside(bystander, self.device):
                    before = self._counts(causes)
                    engine.start(asked, stream=1 + 64 * attempt, seed=0)
                    facts, _ = engine.finish()
                    after = self._counts(causes)
                # Before the first one the engine warms up, by frames that are counted elsewhere.
                if attempt and not incomplete(asked, facts):
                    return facts, [
                        [None if one is None or two is None else one - two for one, two in zip(*pair, strict=True)]
                        for pair in zip(after, before, strict=True)
                    ]
        return None

    def _counts(self, causes: Sequence[Cause]) -> list[list[int | None]]:
        return [[place.count and place.count(self.device) for place in cause.places] for cause in causes]

    def differences(self, causes: Sequence[Cause], facts: Facts, counts: Sequence[Sequence[int | None]]) -> list[str]:
        """What is not as it must be, a sentence each: none where every lost frame has the right place and reason."""
        drops = facts.drops
        assert drops is not None
        wrong = []
        if drops.unread or drops.unlisted:
            wrong.append(f"{drops.unread} unread, {drops.unlisted} unlisted")
        absent = dict(drops.absent)
        unseen = 0
        for number, (cause, stream, counted) in enumerate(zip(causes, facts.streams, counts, strict=True)):
            rows = drops.frames.rows[drops.frames.rows[:, 0] == number]
            lost, offered = stream.tracked.lost_frames, stream.offered_frames
            places = {int(one): drops.places[one] for one in np.unique(rows[:, 2])}
            left = dict(places)
            named = len(rows)
            for expected, count in zip(cause.places, counted, strict=True):
                own = [one for one, place in left.items() if self._is(expected, place, absent)]
                found = int(np.isin(rows[:, 2], own).sum())
                if count is not None and found != count:
                    wrong.append(f"{cause.name}: {found} at {expected.fields}, {count} counted")
                for one in own:
                    del left[one]
            wrong += [f"{cause.name}: {int((rows[:, 2] == one).sum())} at {place!r}" for one, place in left.items()]
            if cause.every is not None:
                chosen = set(range(cause.every[1], offered, cause.every[0]))
                if set(rows[:, 1].tolist()) != chosen:
                    wrong.append(f"{cause.name}: not the frames that leave the rest {cause.every}")
            elif not cause.places:
                if lost:
                    wrong.append(f"{cause.name}: lost {lost}")
            elif not (cause.keeps or cause.name == "rule's limit" or cause.name == "policer") and named != offered:
                wrong.append(f"{cause.name}: {named} of {offered} have a place")
            if cause.keeps:
                unseen += lost - named
            elif named != lost:
                wrong.append(f"{cause.name}: {lost - named} of {lost} lost frames have no place")
        if drops.not_seen != unseen:
            wrong.append(f"{drops.not_seen} not seen, not {unseen}")
        return wrong

    def _is(self, expected: Expected, place: DropPlace, absent: dict[str, str]) -> bool:
        for name, pattern in expected.fields.items():
            if (name == "rule" and "nftables" in absent) or (name == "program" and "programs" in absent):
                pattern = ""
            if not re.fullmatch(self.device.named(pattern), getattr(place, name)):
                return False
        return place.namespace == self.device.namespace.name and not place.of_tester


@contextmanager
def mixture_bed(programs: Path | None) -> Iterator[MixtureBed]:
    with ExitStack() as stack:
        lab = stack.enter_context(Lab("router"))
        yield MixtureBed(lab, programs, stack)


def drawn(chance: random.Random, causes: Sequence[Cause]) -> tuple[list[Cause], list[int], str]:
    """Three causes, the shares of their streams and of one that loses nothing, and who gets copies."""
    chosen = chance.sample([cause for cause in causes if cause.places], 3)
    healthy = next(cause for cause in causes if not cause.places)
    # Sometimes nothing arrives at all.
    if chance.random() < 0.8:
        chosen.insert(chance.randrange(4), healthy)
    return chosen, [chance.randint(1, 4) for _ in chosen], chance.choice(BYSTANDERS)


@contextmanager
def _beside(bystander: str, device: DeviceShell) -> Iterator[None]:
    if bystander == "nobody":
        yield
        return
    interface = device.named("@two@" if bystander.endswith("output") else "@one@")
    room = 4_000_000 if bystander == "reader" else 5_000

    def listen() -> socket.socket:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        made.bind((interface, 3))
        return made

    with closing(run_in_namespace(device.namespace, listen)):
        yield


def _listen(address: str, port: int, code: bytes | None) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if port == _FULL:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4000)
    if code is not None:
        kept = ctypes.create_string_buffer(code)
        program = (1).to_bytes(8, "little") + ctypes.addressof(kept).to_bytes(8, "little")
        made.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
    made.setblocking(False)
    made.bind((address, port))
    return made
