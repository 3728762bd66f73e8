"""How often the flag `busy-path` of `keisoku path packet-pair` is right, on random paths in virtual time.

`python benchmarks/detection/busy_path.py [FIRST] [COUNT]` measures COUNT paths (default 200) of every second seed from
FIRST (default 1; odd seeds were withheld while choosing its threshold). Half are idle. Prints how often it is raised by
load, and apart where a card or a host gathers arrivals by a timer, which hides short waits, and where the stamps are
too coarse for the path, which has a flag of its own.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from flag_table import print_table
from support.synthetic_path import Link, SyntheticPath

from keisoku.subjects.path.packet_pair.analysis import analyse
from keisoku.subjects.path.packet_pair.settings import PacketPairSettings

COARSE, GATHERED = ", coarse stamps", ", gathered arrivals"
LOADS = ("idle", "load to 0.1", "load to 0.2", "load to 0.5", "load to 0.8")
CLASSES = tuple(f"{load}{how}" for how in ("", GATHERED, COARSE) for load in LOADS)


def flagged(seed: int) -> tuple[str, bool]:
    """Class of the path, and whether it was called busy."""
    chance = random.Random(f"pair {seed}")
    links = [Link(chance.choice((10e6, 50e6, 100e6, 1e9))) for _ in range(chance.randint(1, 4))]
    load = chance.choice((0.0, 0.0, 0.0, *(chance.uniform(0.05, top) for top in (0.2, 0.5, 0.8))))
    narrow = min(links, key=lambda link: link.bps)
    narrow.share, narrow.cross_bytes = load, chance.choice((200, 800, 1500))
    noise_ns = 10 ** chance.uniform(1, 4.5)
    path = SyntheticPath(
        links,
        seed,
        skew=chance.uniform(-5e-5, 5e-5),
        noise_ns=noise_ns,
        send_gap_ns=10 ** chance.uniform(2.7, 3.5),
        coalesce_ns=chance.choice((0.0, 0.0, 0.0, 50e3)),
    )
    path.send("train", 1500, 50, 6, gap_ns=5e7)
    path.send("pair", 1500, 2, 150)
    result = analyse(path.trains, PacketPairSettings(host="host"), {"kernel": noise_ns}, {})
    name = LOADS[0] if load == 0 else next(one for one in LOADS[1:] if load <= float(one.split()[-1]))
    how = COARSE if result.flagged("clock-limited") else GATHERED if path.coalesce_ns else ""
    return name + how, result.flagged("busy-path")


if __name__ == "__main__":
    print_table(flagged, CLASSES, 2, "called busy")
