"""TCP by message size on a veth: keisoku beside a plain C send loop, iperf3 and nuttcp, in turns of one run; medians.

Single turns of one and the same sender scatter by a tenth, so ratios of medians have their 95 % interval beside them
(bootstrap over turns), and only what lies wholly below its goal is called so.
Run: python benchmarks/speed/stream.py [--quick]. Needs root, gcc, iperf3 and nuttcp. All use cubic, by the route, as
nuttcp has no option for it, one connection, and are judged by what the receiver read.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean, median

import numpy as np
from numpy.typing import NDArray
from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.place import Place
from keisoku.ground.lab.path.bare_path import TARGET_ADDRESS, TESTER_ADDRESS, BarePath
from keisoku.subjects.stream.measure import bare_server
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.trial import StreamTrial

SIZES = (1024, 4096, 8192, 16_384, 32_768, 61_440, 65_536, 77_824, 98_304, 131_072, 262_144, 524_288, 1_048_576)
PEERS = ("plain loop", "iperf3", "nuttcp")
GOALS = (0.95, 1.0, 1.0)
"""Shares of the peers' throughput."""
_PORT = 5511
_HERE = Path(__file__).parent

Sender = Callable[[int, float], float]
"""Message bytes, seconds: bit/s."""
ROUTE = {"dst": "198.18.7.0/24", "scope": 253}


class Bed:
    """All senders on one bare path."""

    def __init__(self, lab: BarePath, session: StreamSession, loop: Path) -> None:
        self.near, self.far = Namespace(lab.tester_namespace), Namespace(lab.target_namespace)
        self._session, self._loop = session, loop
        for place, name, address in ((self.near, "down", TESTER_ADDRESS), (self.far, "up", TARGET_ADDRESS)):
            place.run(lambda name=name, address=address: by_cubic(name, address))  # type: ignore[misc]
        self.senders: dict[str, Sender] = {
            "keisoku": self._keisoku,
            "plain loop": self._plain,
            "iperf3": self._iperf3,
            "nuttcp": self._nuttcp,
        }

    def _keisoku(self, size: int, seconds: float) -> float:
        trial = StreamTrial(protocol="tcp", message_bytes=size, duration_s=seconds, warm_up_s=0)
        (row,) = self._session.measure(trial)
        return 8e9 * float(row["settled_bytes"]) / float(row["settled_ns"])

    def _plain(self, size: int, seconds: float) -> float:
        command = [str(self._loop), "receive", TARGET_ADDRESS, str(_PORT)]
        receiver = self.far.run(lambda: subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        with receiver:
            assert receiver.stdout and receiver.stdout.readline() == "ready\n"
            sender = [str(self._loop), "send", TARGET_ADDRESS, str(_PORT), str(size), str(seconds)]
            self.near.run(lambda: subprocess.run(sender, check=True))
            count, elapsed_ns = map(int, receiver.stdout.read().split())
        return 8e9 * count / elapsed_ns

    def _iperf3(self, size: int, seconds: float) -> float:
        port = self._session.start_iperf3()
        try:
            command = [
                "iperf3",
                "-c",
                TARGET_ADDRESS,
                "-p",
                str(port),
                "-J",
                "-t",
                f"{seconds:g}",
                "-l",
                str(size),
            ]
            told = self.near.run(lambda: subprocess.run(command, capture_output=True, check=True))
        finally:
            self._session.end_iperf3()
        return float(json.loads(told.stdout)["end"]["sum_received"]["bits_per_second"])

    def _nuttcp(self, size: int, seconds: float) -> float:
        self.far.run(lambda: subprocess.run(["nuttcp", "-1"], check=True, stdout=subprocess.DEVNULL))
        command = ["nuttcp", "-fparse", f"-T{seconds:g}", f"-l{size}", TARGET_ADDRESS]
        told = self.near.run(lambda: subprocess.run(command, capture_output=True, text=True, check=True))
        found = re.search(r"rate_Mbps=([0-9.]+)", told.stdout)
        assert found, told.stdout
        return 1e6 * float(found[1])


def by_cubic(interface: str, address: str) -> None:
    """Has all connections over an interface of a bare path use cubic, whatever the host's own is."""
    with IPRoute() as ip:
        index = ip.link_lookup(ifname=interface)[0]
        ip.route("replace", oif=index, prefsrc=address, metrics={"cc_algo": "cubic"}, **ROUTE)


def measure(seconds: float, turns: int, sizes: tuple[int, ...]) -> dict[int, dict[str, list[float]]]:
    """bit/s by size and sender, one a turn; in each turn the order of all is random."""
    order = random.Random(1)
    found: dict[int, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="keisoku-bench-") as folder, bare_server() as (lab, server):
        loop = Path(folder) / "stream_loop"
        subprocess.run(["gcc", "-O2", str(_HERE / "peers" / "stream_loop.c"), "-o", str(loop)], check=True)
        with StreamSession(Place(TARGET_ADDRESS, lab.tester_namespace), server.port) as session:
            bed = Bed(lab, session, loop)
            for size in order.sample(sizes, len(sizes)):
                mine = found.setdefault(size, {name: [] for name in bed.senders})
                for _ in range(turns):
                    for name in order.sample(list(bed.senders), len(bed.senders)):
                        mine[name].append(bed.senders[name](size, seconds))
    return found


def ratios(found: dict[int, dict[str, list[float]]], peer: str) -> tuple[list[float], list[tuple[float, float]]]:
    """Ours to the peer's by median, size after size and last the geometric mean of all; and their 95 % intervals."""
    chance = np.random.default_rng(1)

    def medians(of: list[float]) -> NDArray[np.float64]:
        return np.asarray(np.median(chance.choice(of, (4000, len(of))), axis=1))

    sizes = sorted(found)
    mid = [median(found[size]["keisoku"]) / median(found[size][peer]) for size in sizes]
    drawn = [medians(found[size]["keisoku"]) / medians(found[size][peer]) for size in sizes]
    drawn.append(np.exp(np.mean(np.log(drawn), axis=0)))
    ends = [np.percentile(draws, (2.5, 97.5)) for draws in drawn]
    return [*mid, geometric_mean(mid)], [(float(low), float(high)) for low, high in ends]


def table(found: dict[int, dict[str, list[float]]]) -> str:
    """Median in Gb/s, ratios to the peers, and which of them is surely less than it should be."""
    lines = [f"{'byte':>9} {'Gb/s':>6} " + "".join(f"{'to ' + name:^22}" for name in PEERS)]
    columns = [ratios(found, name) for name in PEERS]
    rates = [f"{median(found[size]['keisoku']) / 1e9:.2f}" for size in sorted(found)]
    for at, (size, rate) in enumerate(zip([*sorted(found), "all"], [*rates, ""], strict=True)):
        low = [name for name, goal, (_, ends) in zip(PEERS, GOALS, columns, strict=True) if ends[at][1] < goal]
        cells = [f"{mid[at]:.3f} ({ends[at][0]:.2f}–{ends[at][1]:.2f})" for mid, ends in columns]
        below = f"  BELOW {', '.join(low)}" if low else ""
        lines.append(f"{size:>9} {rate:>6} " + "".join(f"{cell:^22}" for cell in cells) + below)
    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="three turns of fewer sizes")
    options.add_argument("--turns", type=int, default=11)
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    chosen = options.parse_args()
    sizes = tuple(chosen.sizes[::3] if chosen.quick else chosen.sizes)
    # nuttcp and iperf3 take whole seconds.
    print(table(measure(1.0, 3 if chosen.quick else chosen.turns, sizes)))


if __name__ == "__main__":
    main()
