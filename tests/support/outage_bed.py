"""Two hosts with a router between them, in namespaces, and interruptions of the way between whose times are known.

A cause is a call of the kernel, and it happened between the clock readings around the call. Where it takes long, as to
take a link down, so much less is known of the truth.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.undo import record, undo

_numbers = itertools.count(7_000)
NEAR, FAR = "198.18.40.2", "198.18.41.2"
NEAR6, FAR6 = "fd00:40::2", "fd00:41::2"
PORT = 8622
NEIGHBOUR_ASKED_AGAIN_MS = 10


@dataclass(frozen=True)
class Truth:
    """Between which readings of CLOCK_MONOTONIC (ns) it began, and ended."""

    begun_ns: tuple[int, int]
    ended_ns: tuple[int, int]

    @property
    def length_ns(self) -> tuple[int, int]:
        return self.ended_ns[0] - self.begun_ns[1], self.ended_ns[1] - self.begun_ns[0]


class Bed:
    """The namespaces near, router, far, and a spare one; made on entry, removed on exit."""

    def __init__(self) -> None:
        number = next(_numbers)
        names = {"near": "tester", "router": "router1", "far": "far", "spare": "target"}
        self.of = {key: Namespace(f"keisoku-{os.getpid()}-{number}-{name}") for key, name in names.items()}
        self.route: dict[str, IPRoute] = {}

    def __enter__(self) -> Bed:
        self._entries = [record("namespace", name=one.name) for one in self.of.values()]
        try:
            for one in self.of.values():
                one.create()
            for key, one in self.of.items():
                self.route[key] = IPRoute(netns=str(one.path))
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for route in self.route.values():
            route.close()
        undo(*self._entries)

    def _build(self) -> None:
        self._link("near", "a", NEAR, NEAR6)
        self._link("far", "b", FAR, FAR6)
        run_in_namespace(self.of["router"].path, forward)

    def name(self, key: str) -> str:
        return self.of[key].name

    def index(self, key: str, name: str) -> int:
        return int(self.route[key].link_lookup(ifname=name)[0])

    def _link(self, key: str, name: str, address: str, address6: str) -> None:
        """The host `key` behind the router's port `name`."""
        with self.of[key].path.open("rb") as there:
            router = self.route["router"]
            router.link("add", ifname=name, kind="veth", peer={"ifname": "eth0", "net_ns_fd": there.fileno()})
        gateway, gateway6 = address[:-1] + "1", address6[:-1] + "1"
        run_in_namespace(self.of["router"].path, lambda: raised(name, [(gateway, 24), (gateway6, 64)], None))
        ways = (gateway, gateway6)
        run_in_namespace(self.of[key].path, lambda: raised("eth0", [(address, 24), (address6, 64)], ways))

    # What interrupts the way: each returns what makes it, and what ends it.

    def causes(self) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
        """Those whose begin and end are one call each, by name; they interrupt one direction or both."""
        router = self.route["router"]
        b = self.index("router", "b")

        def blackhole(*addresses: str) -> tuple[Callable[[], object], Callable[[], object]]:
            def change(what: str) -> None:
                for address in addresses:
                    length = 128 if ":" in address else 32
                    router.route(what, dst=f"{address}/{length}", type="blackhole")

            return lambda: change("add"), lambda: change("del")

        return {
            "blackhole forward": blackhole(FAR),
            "blackhole reverse": blackhole(NEAR),
            "blackhole both": blackhole(FAR, NEAR),
            "blackhole IPv6": blackhole(FAR6, NEAR6),
            "nftables": (lambda: self.nft("drop"), lambda: self.nft("pass")),
            "link down": (lambda: router.link("set", index=b, state="down"), lambda: self._up(b)),
            "interface moved": (self._move, self._move_back),
            "address moved": (lambda: self.address("far", "del", FAR), lambda: self.address("far", "add", FAR)),
        }

    def _move(self) -> None:
        """The router's port to the far end is in another namespace, as that of a virtual machine on its way."""
        _into(self.route["router"], self.index("router", "b"), self.of["spare"])

    def _move_back(self) -> None:
        _into(self.route["spare"], self.index("spare", "b"), self.of["router"])
        run_in_namespace(
            self.of["router"].path, lambda: raised("b", [(FAR[:-1] + "1", 24), (FAR6[:-1] + "1", 64)], None)
        )

    def address(self, key: str, what: str, address: str) -> None:
        """An address leaves a host ('del'), or comes to it ('add'); its programs run on."""
        route = self.route[key]
        route.addr(what, index=self.index(key, "eth0"), address=address, prefixlen=24)
        if what == "add":
            gateway = address.rpartition(".")[0] + ".1"
            route.route("replace", dst="0.0.0.0/0", gateway=gateway)

    def _up(self, index: int) -> None:
        self.route["router"].link("set", index=index, state="up")

    def nft(self, what: str) -> None:
        """Drops what is forwarded by nftables, or ends that."""
        text = {
            "drop": "add table inet t; add chain inet t f { type filter hook forward priority 0; policy drop; }",
            "drop far": "add table inet t; add chain inet t f { type filter hook forward priority 0; }; "
            f"add rule inet t f ip daddr {FAR} drop; add rule inet t f ip saddr {FAR} drop",
            "pass": "delete table inet t",
        }[what]
        subprocess.run(["ip", "netns", "exec", self.name("router"), "nft", text], check=True)

    def interrupted(self, begin: Callable[[], object], end: Callable[[], object], length_s: float) -> Truth:
        """Interrupts the way for so long, and says when."""
        begun = _timed(begin)
        _sleep_until(begun[0] + round(length_s * 1e9))
        return Truth(begun, _timed(end))

    @contextmanager
    def far_end(self, key: str = "far", at: str = "::", port: int = PORT) -> Iterator[FarEnd]:
        """The other end as a program of its own."""
        end = FarEnd(f"{at}@{self.name(key)}", port)
        try:
            yield end
        finally:
            end.kill()


class FarEnd:
    """`keisoku outage serve`, which may be killed, stopped and started again."""

    def __init__(self, at: str, port: int) -> None:
        self._at, self._port = at, port
        self.start()

    def start(self) -> None:
        """Returns when it listens."""
        words = [sys.executable, "-m", "keisoku", "outage", "serve", "--at", self._at, "--port", str(self._port)]
        environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "PYTHONUNBUFFERED": "1"}
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.child.stdout is not None
        assert "listening" in self.child.stdout.readline()
        threading.Thread(target=self.child.stdout.read, daemon=True).start()

    def stop(self) -> None:
        self.child.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.child.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self.child.send_signal(signal.SIGCONT)
        self.child.kill()
        self.child.wait()


@contextmanager
def frozen(pid: int) -> Iterator[tuple[Callable[[], object], Callable[[], object]]]:
    """What freezes a process by a control group of version 2, and what lets it go on."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"]
    group = Path(mounts[0]) / f"keisoku-{os.getpid()}-{next(_numbers)}"
    group.mkdir()
    (group / "cgroup.procs").write_text(str(pid))
    try:
        yield lambda: (group / "cgroup.freeze").write_text("1"), lambda: (group / "cgroup.freeze").write_text("0")
    finally:
        with suppress(ProcessLookupError):
            (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()


def _into(route: IPRoute, index: int, place: Namespace) -> None:
    with place.path.open("rb") as there:
        route.link("set", index=index, net_ns_fd=there.fileno())


def _timed(call: Callable[[], object]) -> tuple[int, int]:
    before = time.monotonic_ns()
    call()
    return before, time.monotonic_ns()


def _sleep_until(until_ns: int) -> None:
    time.sleep(max(0.0, (until_ns - time.monotonic_ns()) / 1e9))


def forward() -> None:
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    Path("/proc/sys/net/ipv6/conf/all/forwarding").write_text("1")
    Path("/proc/sys/net/ipv6/conf/all/keep_addr_on_down").write_text("1")


def raised(name: str, addresses: list[tuple[str, int]], gateways: tuple[str, ...] | None) -> None:
    for setting in ("accept_dad", "dad_transmits"):
        Path(f"/proc/sys/net/ipv6/conf/{name}/{setting}").write_text("0")
    for version in (4, 6):
        # A first question for the neighbour's address is lost where the peer's carrier comes a moment later. The next
        # would follow after a second, which is a part of the interruption, but not of the truth that the bed knows.
        Path(f"/proc/sys/net/ipv{version}/neigh/{name}/retrans_time_ms").write_text(str(NEIGHBOUR_ASKED_AGAIN_MS))
    with IPRoute() as route:
        index = route.link_lookup(ifname=name)[0]
        for address, length in addresses:
            route.addr("add", index=index, address=address, prefixlen=length)
        for each in (1, index):
            route.link("set", index=each, state="up")
        for gateway, whole in zip(gateways or (), ("0.0.0.0/0", "::/0"), strict=False):
            route.route("add", dst=whole, gateway=gateway)


class FlowWatch:
    """What a host takes of flows to one port or from it: when each went on, by the kernel's stamps of what comes.

    TCP goes on where its bytes are in order: an application can have none before that. The kernel logs packets that are
    for the host itself (netfilter's input): what only passes its interface, as while the host has not the address,
    reaches nobody.
    """

    def __init__(self, bed: Bed, key: str, port: int) -> None:
        self._namespace, self._port, self._over = bed.of[key].path, port, threading.Event()
        self._progress: dict[int, list[int]] = {}
        self._connections: dict[int, _Connection] = {}
        self._latest: dict[int, int] = {}
        self._socket = run_in_namespace(self._namespace, _log)
        rule = f"add rule inet seen in iifname != lo meta l4proto {{ tcp, udp }} th %s {port} log group {_GROUP}"
        chain = "add chain inet seen in { type filter hook input priority 300; }"
        self._nft("; ".join(("add table inet seen", chain, rule % "sport", rule % "dport")))
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def end(self) -> dict[int, list[int]]:
        """When each flow went on, in ns of CLOCK_MONOTONIC."""
        self._over.set()
        self._thread.join()
        self._nft("delete table inet seen")
        self._socket.close()
        return self._progress

    def _nft(self, text: str) -> None:
        run_in_namespace(self._namespace, lambda: subprocess.run(["nft", text], check=True))

    def _read(self) -> None:
        while not self._over.is_set():
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                continue
            ahead_ns = time.time_ns() - time.monotonic_ns()
            while len(data) >= 16:
                length, kind = struct.unpack_from("=IH", data)
                if kind == _LOG << 8:
                    content = _attributes(data[20:length])
                    seconds, rest_us = struct.unpack("!QQ", content[_STAMP])
                    self._take(content[_PAYLOAD], seconds * 1_000_000_000 + rest_us * 1000 - ahead_ns)
                data = data[length + -length % 4 :]

    def _take(self, data: bytes, at_ns: int) -> None:
        if data[0] >> 4 == 4:
            header, length, protocol = 4 * (data[0] & 15), int.from_bytes(data[2:4], "big"), data[9]
        else:
            header, length, protocol = 40, 40 + int.from_bytes(data[4:6], "big"), data[6]
        if protocol == 17:
            self._went_on(_flow_of(data[header + 8 :]), at_ns)
            return
        source, target, sequence = struct.unpack_from("!HHI", data, header)
        port = source if target == self._port else target
        begin = header + 4 * (data[header + 12] >> 4)
        if data[header + 13] & 2:
            self._connections[port] = _Connection(sequence + 1)
            return
        connection = self._connections.get(port)
        if connection is None or length <= begin:
            return
        if sequence == connection.first:
            connection.flow = _flow_of(data[begin:])
            self._latest[connection.flow] = port
        # What still comes on a connection that was given up for another one reaches nobody.
        if connection.takes(sequence, length - begin) and self._latest.get(connection.flow) == port:
            self._went_on(connection.flow, at_ns)

    def _went_on(self, flow: int, at_ns: int) -> None:
        progress = self._progress.setdefault(flow, [])
        if not progress or progress[-1] != at_ns:
            progress.append(at_ns)


class _Connection:
    """Which bytes of one direction are there in order. A case is too short for numbers beyond 2^32."""

    def __init__(self, first: int) -> None:
        self.first, self.flow = first, -1
        self._expected = first
        self._beyond: list[tuple[int, int]] = []

    def takes(self, sequence: int, count: int) -> bool:
        """Whether more can be read after this segment than before."""
        before = self._expected
        self._beyond.append((sequence, sequence + count))
        self._beyond.sort()
        while self._beyond and self._beyond[0][0] <= self._expected:
            self._expected = max(self._expected, self._beyond.pop(0)[1])
        return self._expected > before


def _log() -> socket.socket:
    """Where the kernel of this thread's namespace hands the packets that it logs."""
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    made.bind((0, 0))
    made.settimeout(0.1)
    # Bind to the group; the front of each packet, each one at once (linux/netfilter/nfnetlink_log.h).
    for kind, content in ((1, struct.pack("!B", 1)), (2, struct.pack("!IBx", 128, 2)), (5, struct.pack("!I", 1))):
        attribute = struct.pack("=HH", 4 + len(content), kind) + content
        body = struct.pack("!BBH", 0, 0, _GROUP) + attribute + bytes(-len(attribute) % 4)
        made.send(struct.pack("=IHHII", 16 + len(body), _LOG << 8 | 1, 5, 0, 0) + body)
        (error,) = struct.unpack_from("=i", made.recv(4096), 16)
        if error:
            raise OSError(-error, os.strerror(-error))
    return made


def _flow_of(packet: bytes) -> int:
    """Of a packet of either end (core/src/outage/packet.rs)."""
    return int.from_bytes(packet[6:8], "big")


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & 0x7FFF] = data[4:length]
        data = data[length + -length % 4 :]
    return found


_NETLINK_NETFILTER, _LOG, _GROUP, _STAMP, _PAYLOAD = 12, 4, 7, 3, 9
