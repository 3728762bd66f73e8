"""How often `keisoku ab cost` finds a slower data plane of the kernel, and how often it gives a false alarm.

Run it by itself, with root, clang, tc and nft: `python benchmarks/detection/slowdown.py [--tries 20] [--equals 20]
[--kinds xdp,tc,nft,fdb,routes,setting,ovs]`; the table is in benchmarks/README.md. The device is a bridge or a router
in a namespace of its own. Side B has a program of more steps before it (`xdp`, `tc`: so many that a frame takes 3 % or
1 % longer by the kernel's own measure), a number of rules, addresses or routes that is drawn (`nft`, `fdb`, `routes`),
or it looks up where each frame came from (`setting`: rp_filter of a router). `ovs` is Open vSwitch with DPDK, of which
B tracks connections. Comparisons are made quiet and beside two programs that never sleep, all in random order.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from ovs_dpdk import DAEMON, ovs_dpdk
from support.xdp_run import run_ns

import keisoku as ks

SPACE, PORTS, INSIDE = "keisoku-slow", ("ksl0", "ksl1"), ("dut0", "dut1")
SOURCE = r"""
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
static __always_inline unsigned long worked(unsigned long x)
{
    #pragma clang loop unroll(disable)
    for (int step = 0; step < WORK; step++) {
        x ^= x << 13;
        x ^= x >> 7;
        __asm__ volatile("" ::"r"(x));
    }
    return x;
}
SEC("xdp") int xdp_steps(struct xdp_md *frame)
{
    return worked(frame->ingress_ifindex + 88172645463325252ul) == 1 ? XDP_DROP : XDP_PASS;
}
SEC("tc") int tc_steps(struct __sk_buff *frame)
{
    return worked(frame->ifindex + 88172645463325252ul) == 1 ? 2 : -1;
}
char _license[] SEC("license") = "GPL";
"""
KINDS = ("xdp", "tc", "nft", "fdb", "routes", "setting", "ovs")
ROUTED = ("routes", "setting")
DRAWN = 100.0
"""In place of a percentage where a number is drawn."""
ENDS = {0.0: ("1min", "5%"), 1.0: ("5min", "0%"), 3.0: ("30s", "0%")}
"""Time and margin of a comparison of costs, by how much slower B is, in percent."""
OTHER_ENDS = ("1min", "0%")
"""The same where B is slower by something else, or another figure is compared."""
MEASURES = {
    "cost": (),
    "throughput": ("--profile", "quick"),
    "latency": ("--rate", "2kpps", "--duration", "50ms", "--figure", "min"),
}


def told(*words: object, text: str | None = None, inside: bool = False) -> None:
    """Carries out a command that must succeed, in the namespace of the device if it is `inside`."""
    line = [*(["ip", "netns", "exec", SPACE] if inside else []), *map(str, words)]
    subprocess.run(line, input=text, text=True, check=True, capture_output=True)


@contextmanager
def bed(kind: str, folder: Path) -> Iterator[None]:
    """The device between the ports: a bridge, Open vSwitch, or a router for 198.18.0.0/16."""
    subprocess.run(["ip", "netns", "delete", SPACE], check=False, capture_output=True)
    told("ip", "netns", "add", SPACE)
    try:
        for port, own in zip(PORTS, INSIDE, strict=True):
            told("ip", "link", "add", port, "type", "veth", "peer", "name", own, "netns", SPACE)
            told("ethtool", "-K", port, "gro", "on")
            told("ip", "link", "set", port, "up")
            told("sysctl", "-qw", f"net.ipv6.conf.{port}.disable_ipv6=1")
            told("sysctl", "-qw", f"net.ipv6.conf.{own}.disable_ipv6=1", inside=True)
            told("ip", "link", "set", own, "up", inside=True)
            told("ethtool", "-K", own, "gro", "on", inside=True)  # has no effect on a port that is down
        if kind == "ovs":
            # The kernel leaves a checksum to the card, and a packet socket shows the frame without it.
            told("ethtool", "-K", INSIDE[0], "tx", "off", inside=True)
            with ovs_dpdk(SPACE, INSIDE, folder):
                yield
            return
        if kind in ROUTED:
            told("sysctl", "-qw", "net.ipv4.ip_forward=1", inside=True)
            for number, own in enumerate(INSIDE):
                told("ip", "address", "add", f"198.{18 + number}.0.1/16", "dev", own, inside=True)
        else:
            told("ip", "link", "add", "br0", "type", "bridge", inside=True)
            told("sysctl", "-qw", "net.ipv6.conf.br0.disable_ipv6=1", inside=True)
            for own in INSIDE:
                told("ip", "link", "set", own, "master", "br0", inside=True)
            told("ip", "link", "set", "br0", "up", inside=True)
        yield
    finally:
        subprocess.run(["ip", "netns", "delete", SPACE], check=False)
        for port in PORTS:
            subprocess.run(["ip", "link", "delete", port], check=False, capture_output=True)


@contextmanager
def busy(programs: int) -> Iterator[None]:
    """So many programs that never sleep."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(programs)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


@dataclass(frozen=True)
class Sides:
    """What is carried out before a run of each side, and what makes B slower."""

    name: str
    a: str
    b: str


class Made:
    """Makes the files that the sides load."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance, self._known = folder, chance, dict[int, float]()
        self._frame_ns: float | None = None

    def sides(self, kind: str, percent: float) -> Sides:
        """A comparison of this kind; of equals for 0 %."""
        make = getattr(self, f"_{kind}")
        own: Sides = make(percent)
        return own if percent else Sides(f"{kind}, equal", own.a, own.a)

    def _object(self, steps: int) -> Path:
        found = self.folder / f"{steps}.o"
        if not found.exists():
            source = self.folder / "steps.c"
            source.write_text(SOURCE)
            include = f"-I/usr/include/{subprocess.check_output(['uname', '-m'], text=True).strip()}-linux-gnu"
            told("clang", "-O2", "-g", "-target", "bpf", include, f"-DWORK={steps}", "-c", source, "-o", found)
        return found

    def _own_ns(self, steps: int) -> float:
        """What a frame takes in the program of so many steps, by the kernel's own measure."""
        if steps not in self._known:
            load = f"ip -n {SPACE} -force link set {INSIDE[0]} xdpdrv obj {self._object(steps)} sec xdp"
            told(*load.split())
            self._known[steps] = run_ns(SPACE, INSIDE[0])
        return self._known[steps]

    def _pair(self, percent: float) -> tuple[Path, Path, float]:
        """The programs of both sides, and by how much a frame takes longer in B, in percent. The first steps of a loop
        are nearly free, so the number of steps is sought."""
        # Each side has a program of its own place in memory, as two builds have.
        few = many = self.chance.randrange(20)
        if self._frame_ns is None:
            self._own_ns(few)  # it is loaded for the first time, and so part of this frame
            row = ks.measure(
                "cost", tx=f"xdp:{PORTS[0]}", rx=f"xdp:{PORTS[1]}", frame_bytes=64, out=self.folder / "base"
            )
            self._frame_ns = row.results[0].rows[0].figures["cost"].value
        wanted_ns = self._own_ns(few) + percent / 100 * self._frame_ns
        step = 1
        while self._own_ns(many + step) < wanted_ns:
            many, step = many + step, 2 * step
        while step > 1:
            step //= 2
            if self._own_ns(many + step) < wanted_ns:
                many += step
        many += 1
        more = 100 * (self._own_ns(many) - self._own_ns(few)) / self._frame_ns
        return self._object(few), self._object(many), more

    def _xdp(self, percent: float) -> Sides:
        load = f"ip -n {SPACE} -force link set {INSIDE[0]} xdpdrv obj {{}} sec xdp"
        few, many, more = self._pair(percent)
        return Sides(f"xdp, {more:.2f} %", load.format(few), load.format(many))

    def _tc(self, percent: float) -> Sides:
        tc = f"ip netns exec {SPACE} tc"
        load = (
            f"{tc} qdisc replace dev {INSIDE[0]} clsact && {tc} filter replace dev {INSIDE[0]} ingress pref 1 handle 1"
            " bpf direct-action obj {} sec tc"
        )
        few, many, more = self._pair(percent)
        told("ip", "-n", SPACE, "-force", "link", "set", INSIDE[0], "xdpdrv", "off")
        return Sides(f"tc, {more:.2f} %", load.format(few), load.format(many))

    def _nft(self, percent: float) -> Sides:
        return self._drawn("nft", "rules in a chain", 1, 200, self._rules)

    def _rules(self, count: int) -> str:
        rules = "\n".join(f"ether saddr 02:00:00:00:{each // 256:02x}:{each % 256:02x} drop" for each in range(count))
        chain = f"chain forward {{ type filter hook forward priority 0; policy accept;\n{rules}\n}}\n"
        path = self.folder / f"rules-{count}.nft"
        path.write_text(f"table bridge slow {{ }}\ndelete table bridge slow\ntable bridge slow {{ {chain} }}\n")
        return f"ip netns exec {SPACE} nft -f {path}"

    def _fdb(self, percent: float) -> Sides:
        return self._drawn("fdb", "addresses of a bridge", 1, 4000, self._addresses)

    def _addresses(self, count: int) -> str:
        path = self.folder / f"fdb-{count}.txt"
        lines = [
            f"fdb replace 02:01:00:00:{each // 256:02x}:{each % 256:02x} dev {INSIDE[1]} master"
            for each in range(count)
        ]
        path.write_text("\n".join(lines) + "\n")
        return f"bridge -n {SPACE} fdb flush dev {INSIDE[1]} master; bridge -n {SPACE} -batch {path}"

    def _routes(self, percent: float) -> Sides:
        return self._drawn("routes", "routes", 1, 10_000, self._table)

    def _table(self, count: int) -> str:
        path = self.folder / f"routes-{count}.txt"
        lines = [f"route replace 10.{each // 256}.{each % 256}.0/24 via 198.19.0.2 proto 99" for each in range(count)]
        path.write_text("\n".join(lines) + "\n")
        return f"ip -n {SPACE} route flush proto 99; ip -n {SPACE} -batch {path}"

    def _setting(self, percent: float) -> Sides:
        keep = f"ip netns exec {SPACE} sysctl -qw net.ipv4.conf.{INSIDE[0]}.rp_filter="
        return Sides("setting, rp_filter 0 → 1", f"{keep}0", f"{keep}1")

    def _ovs(self, percent: float) -> Sides:
        rules = [
            "actions=normal",
            "priority=9,ip,actions=ct(table=1)\ntable=1,actions=normal\npriority=1,actions=normal",
        ]
        sides = []
        for name, own in zip(("normal", "tracked"), rules, strict=True):
            path = self.folder / f"{name}.flows"
            path.write_text(f"{own}\n")
            sides.append(f"ovs-ofctl -O OpenFlow13 replace-flows unix:{self.folder / 'br0.mgmt'} {path}")
        return Sides("ovs, connections tracked", *sides)

    def _drawn(self, kind: str, what: str, least: int, most: int, made: object) -> Sides:
        """Two numbers, each drawn on a scale of ratios; B has the larger one."""
        few, many = sorted(round(least * (most / least) ** self.chance.random()) for _ in range(2))
        assert callable(made)
        return Sides(f"{kind}, {few} → {many} {what}", made(few), made(many))


def compared(
    sides: Sides, kind: str, ends: tuple[str, str], seed: int, folder: Path, measure: str = "cost"
) -> tuple[str, str, float]:
    """The verdict, the change with its interval, and how long it took in seconds."""
    began_s = time.monotonic()
    command = [sys.executable, "-m", "keisoku", "ab", measure, *MEASURES[measure]]
    command += ["--tx", f"xdp:{PORTS[0]}", "--rx", f"xdp:{PORTS[1]}"]
    if kind == "ovs" and measure == "cost":
        command += ["--process", DAEMON.name]
    if kind in ROUTED:
        command += ["--gateway", "198.18.0.1,198.19.0.1", "--address", "198.18.0.2,198.19.0.2"]
    command += ["--size", "64", "--before-a", sides.a, "--before-b", sides.b, "--within", ends[0], "--margin", ends[1]]
    done = subprocess.run(
        [*command, "--seed", str(seed), "--json", "--out", str(folder / str(seed))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if not done.stdout:
        raise SystemExit(done.stderr)
    rows = json.loads(done.stdout)["results"][0]["rows"]
    if not rows:
        return "undecided", done.stderr.strip(), time.monotonic() - began_s
    change, pairs = rows[0]["figures"].get("change", {}), rows[0]["figures"]["pairs"]["value"]
    # Without a margin nothing can be shown to be no worse.
    found = {0: "none found" if ends[1] == "0%" else "not worse", 1: "worse"}.get(done.returncode, "undecided")
    interval = change.get("interval") or {}
    between = f"{interval.get('lower', 0):+.2f} … {interval.get('upper', 0):+.2f}"
    text = f"{change.get('value', 0):+.2f} % ({between}), {pairs:.0f} pairs"
    return found, text, time.monotonic() - began_s


def main() -> None:
    """Compares all and prints a line for each comparison, then the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=20, help="of each kind with a slower side, quiet and busy")
    parser.add_argument("--equals", type=int, default=20, help="of each kind, quiet and busy")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--percent", default="3,1", help="by how much B is slower where that is made")
    parser.add_argument(
        "--measure", default="cost", choices=MEASURES, help="what is compared, for a minute if not cost"
    )
    parser.add_argument("--hogs", default="0,2", help="programs that never sleep")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    kinds = asked.kinds.split(",")
    if "ovs" in kinds and not DAEMON.exists():
        parser.error("ovs needs openvswitch-switch-dpdk: install it, or leave ovs out of --kinds")
    own_ends = ENDS if asked.measure == "cost" else {0.0: ENDS[0.0]}
    todo = []
    for hogs in map(int, asked.hogs.split(",")):
        for kind in kinds:
            made = [float(each) for each in asked.percent.split(",")] if kind in ("xdp", "tc") else [DRAWN]
            todo += [(kind, percent, hogs) for percent in made for _ in range(asked.tries)]
            todo += [(kind, 0.0, hogs) for _ in range(asked.equals)]
    chance.shuffle(todo)
    found: dict[tuple[str, float, int], list[tuple[str, float]]] = {}
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        making = Made(folder, chance)
        for number, (kind, percent, hogs) in enumerate(todo):
            with bed(kind, folder):
                sides = making.sides(kind, percent)
                subprocess.run(["/bin/sh", "-c", sides.a], check=True, capture_output=True)
                with busy(hogs):
                    seed = 1000 * asked.seed + number
                    ends = own_ends.get(percent, OTHER_ENDS)
                    verdict, text, took_s = compared(sides, kind, ends, seed, folder, asked.measure)
            found.setdefault((kind, percent, hogs), []).append((verdict, took_s))
            print(f"{sides.name}, {hogs} hogs, {took_s:.0f} s: {verdict}: {text}", flush=True)
    print("\n| kind | slower | host | comparisons | verdicts | time (s), median |\n|---|---:|---|---:|---|---:|")
    for (kind, percent, hogs), verdicts in sorted(found.items()):
        counts = {
            said: sum(said == verdict for verdict, _ in verdicts) for said in dict.fromkeys(v for v, _ in verdicts)
        }
        middle = sorted(took_s for _, took_s in verdicts)[len(verdicts) // 2]
        slower = "drawn" if percent == DRAWN else f"{percent:g} %"
        said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        host = "two CPU hogs" if hogs else "quiet"
        print(f"| {kind} | {slower} | {host} | {len(verdicts)} | {said} | {middle:.0f} |")


if __name__ == "__main__":
    main()
