"""How often the intervals of `path one-packet` contain the truth, and how wide they are, on random virtual paths.

`python benchmarks/accuracy/path_intervals.py [FIRST LAST]` (seeds; default 10000 10150). Paths have one to five hops of
2 to 1000 Mb/s, half of them with another rate on the way back, routers that quote as RFC 1812 or RFC 792, Poisson cross
traffic of 0, 20 or 50 %, an MTU of 1500 or 9000, and hosts that are on time or late by 5 to 40 µs with nearly every
packet. The prober's clock is off by up to 500 ppm, which it does not know. Constants were chosen on seeds 100 to 400.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.virtual_path import VirtualHop, VirtualPath, rfc792, rfc1812

from keisoku.subjects.path.one_packet.judgement.analysis import HOP, STEERED, analyse
from keisoku.subjects.path.one_packet.judgement.path import fit_path
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.schedule import HopProbing
from keisoku.subjects.path.one_packet.probing.wire import HopPacket, HopReply
from keisoku.subjects.path.one_packet.settings import OnePacketSettings

M = 1e6
FIRST, LAST = 10_000, 10_150
BUDGET_S = 30.0


class SteeredPath(VirtualPath):
    """A path whose prober's clock runs at another rate."""

    rate = 0.0

    def exchange(self, packets: Sequence[HopPacket], timeout_ns: int) -> list[HopReply]:
        """As the path, by that clock."""
        replies = super().exchange(packets, timeout_ns)
        return [
            reply if reply.rtt_ns is None else reply._replace(rtt_ns=round(reply.rtt_ns * (1 + self.rate)))
            for reply in replies
        ]


@dataclass
class Tally:
    """What became of the figures of one direction on one kind of host."""

    held: list[bool] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    bounds: list[bool] = field(default_factory=list)
    absent: int = 0


def path(seed: int) -> SteeredPath:
    """A function of the seed."""
    chance = random.Random(seed)
    hops = []
    for _ in range(chance.randint(1, 5)):
        forward = 10 ** chance.uniform(0.3, 3.0) * M
        reverse = forward if chance.random() < 0.5 else 10 ** chance.uniform(0.3, 3.0) * M
        quote = rfc1812 if chance.random() < 0.85 else rfc792
        propagation = 10 ** chance.uniform(3, 6.7)
        cross = (chance.choice([0.0, 0.0, 0.0, 0.2, 0.5]), chance.choice([64, 500, 1000, 1500]))
        hops.append(VirtualHop(forward, reverse, propagation_ns=propagation, cross=cross, quote=quote))
    wake = chance.choice([0.0, 0.0, 5e3, 20e3, 40e3])
    jitter, stall, mtu = 10 ** chance.uniform(2, 4), chance.choice([0.0, 0.0, 0.02]), chance.choice([1500, 1500, 9000])
    made = SteeredPath(hops, jitter_ns=jitter, wake_ns=wake, stall=stall, mtu=mtu, seed=seed)
    made.rate = random.Random(f"clock {seed}").uniform(-STEERED, STEERED)
    return made


def measure(seed: int, tallies: dict[str, Tally]) -> None:
    """One campaign; every rate that its path allows to be known is counted."""
    wire = path(seed)
    kept: list[HopProbe] = []
    HopProbing(wire, OnePacketSettings(host="host", budget_s=BUDGET_S), kept.extend, lambda _: None).run()
    answer = analyse("host", fit_path(kept), kept, None, True)
    near_quotes = True
    for hop, row in zip(wire.hops, [row for row in answer.rows if row.group == HOP], strict=False):
        identifiable = near_quotes and hop.quote is rfc1812
        near_quotes = hop.quote is rfc1812
        for name, truth in (("forward", hop.forward), ("reverse", hop.reverse or hop.forward)):
            if name == "reverse" and not identifiable:
                continue
            tally = tallies.setdefault(f"{name}, {'late host' if wire.wake_ns else 'host on time'}", Tally())
            figure = row.figures.get(name)
            if figure is None or figure.bounds is None:
                tally.absent += 1
                continue
            lower, upper = figure.bounds
            if figure.bound:
                tally.bounds.append(lower <= truth)
                continue
            tally.held.append(lower <= truth <= upper)
            tally.errors.append(abs(figure.value / truth - 1))
            tally.widths.append((upper - lower) / 2 / figure.value)


def main() -> None:
    """Prints the table."""
    first, last = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (FIRST, LAST)
    tallies: dict[str, Tally] = {}
    for seed in range(first, last):
        measure(seed, tallies)
    print("| rate | figures | with the truth | median error | median half width | bounds, true | none |")
    print("|---|---|---|---|---|---|---|")
    for name, tally in sorted(tallies.items()):
        print(
            f"| {name} | {len(tally.held)} | {100 * sum(tally.held) / len(tally.held):.1f} %"
            f" | {100 * median(tally.errors):.3f} % | {100 * median(tally.widths):.3f} %"
            f" | {len(tally.bounds)}, {sum(tally.bounds)} | {tally.absent} |"
        )


if __name__ == "__main__":
    main()
