"""How often the flag `hidden-l2-stage` of `keisoku path packet-pair` is right, on random paths in virtual time.

`python benchmarks/detection/hidden_stages.py [FIRST] [COUNT]` measures COUNT paths (default 200) of the seeds from
FIRST (default 1). Half have a hidden stage; on a third of the others a program finds every train of the packet sizes
whole.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from flag_table import print_table
from support.synthetic_path import Link, SyntheticPath

from keisoku.subjects.path.packet_pair.analysis import analyse
from keisoku.subjects.path.packet_pair.kind import best_length
from keisoku.subjects.path.packet_pair.minimum_sum import link_capacity
from keisoku.subjects.path.packet_pair.settings import PacketPairSettings
from keisoku.subjects.path.packet_pair.stages import SMALL_SIZES
from keisoku.subjects.path.train.dispersion import dispersions

CLASSES = ("no stage", "no stage, trains found whole", "hidden stage")
READ_NS = 1500.0
"""From one packet to the next where a program finds them all."""


def flagged(seed: int) -> tuple[str, bool]:
    """Class of the path, and whether a stage was found."""
    chance = random.Random(f"stage {seed}")
    name = chance.choice((CLASSES[0], CLASSES[0], CLASSES[1], *3 * CLASSES[2:]))
    bps = 10 ** chance.uniform(7, 9)
    links = [Link(bps * chance.choice((2, 10)), chance.uniform(0, 0.5)) for _ in range(chance.randint(0, 2))]
    stages = 2 if name == CLASSES[2] else 1
    links.insert(chance.randint(0, len(links)), Link(bps, chance.uniform(0, 0.5), stages=stages))
    noise_ns = 10 ** chance.uniform(1, 3.3)
    path = SyntheticPath(links, seed, skew=chance.uniform(-5e-5, 5e-5), noise_ns=noise_ns, send_gap_ns=100.0)
    path.send("pair", 1500, 2, 100)
    rough = link_capacity(dispersions(path.trains))
    packets = 2 if rough is None else best_length(rough, 1500, noise_ns)
    if packets > 2:
        path.send("pair", 1500, packets, 100)
    path.read_ns = READ_NS if name == CLASSES[1] else 0.0
    for _ in range(20):
        for size in (*SMALL_SIZES, 1500):
            path.send("sweep", size, packets, 1)
    result = analyse(path.trains, PacketPairSettings(host="host"), {"kernel": noise_ns}, {})
    return name, result.flagged("hidden-l2-stage")


if __name__ == "__main__":
    print_table(flagged, CLASSES, 1, "stage found")
