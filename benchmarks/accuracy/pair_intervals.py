"""How often the interval of `path packet-pair` contains the capacity, and how wide it is, on random synthetic paths.

`python benchmarks/accuracy/pair_intervals.py [FIRST LAST [dense|gathered]]` (seeds; default 7000 7120; dense: only the
paths of the first row; gathered: on each path the narrow link, a link before it or the receiver lets go of arrivals at
the ticks of a timer, and `bounds` counts those whose long trains contradict the pairs). Paths have one to four links,
the narrow one of 2 Mb/s to 10 Gb/s, loads of 0 to 80 % at each by packets of 64 to 1500 bytes, clocks that differ by up
to 50 ppm, and stamps with a noise of 20 ns to 20 µs. Constants were chosen on seeds 0 to 60 and 5000 to 5120. Paths
whose narrow link carries packets of 64 bytes alone for half of its time or more have a row of their own: such a load is
like a slower link to a train, and no train shows it. `warned` are those whose flags say that the capacity may be too
low for this reason.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.synthetic_path import Link, SyntheticPath
from support.synthetic_session import SyntheticSession

from keisoku.subjects.path.packet_pair import stages
from keisoku.subjects.path.packet_pair.analysis import analyse
from keisoku.subjects.path.packet_pair.flags import TOO_LOW
from keisoku.subjects.path.packet_pair.settings import PacketPairSettings
from keisoku.subjects.path.train.probe import TrainPlan

FIRST, LAST = 7000, 7120
IP_BYTES = 1500
STEERED = 5e-4
"""What a run adds for the rate of its clock, which is no part of these figures."""


def path(seed: int) -> tuple[SyntheticPath, float]:
    """A function of the seed, with its capacity in bit/s."""
    chance = random.Random(seed)
    count = chance.randint(1, 4)
    narrow = 10 ** chance.uniform(0.3, 4.0) * 1e6
    place = chance.randrange(count)
    links = []
    for number in range(count):
        bps = narrow if number == place else narrow * chance.choice([1.5, 3, 10, 30])
        share = chance.choice([0.0, 0.0, 0.2, 0.4, 0.5, 0.5, 0.6, 0.8])
        links.append(Link(bps, share, chance.choice([64, 500, 1000, 1500])))
    service_ns = 8e9 * IP_BYTES / narrow
    noise_ns = chance.choice([20.0, 80.0, 300.0, 1000.0, 5000.0, 20_000.0])
    while noise_ns > 0.4 * service_ns:
        noise_ns /= 3
    skew = chance.uniform(-5e-5, 5e-5)
    return SyntheticPath(links, seed=seed, skew=skew, noise_ns=noise_ns, send_gap_ns=min(2000, service_ns / 5)), narrow


def gathered(seed: int) -> tuple[SyntheticPath, float]:
    """One of these paths with a timer of 0.3 to 6 times what a packet takes on the narrow link."""
    synthetic, narrow = path(seed)
    chance = random.Random(f"gathered {seed}")
    tick_ns = 8e9 * IP_BYTES / narrow * 10 ** chance.uniform(-0.5, 0.8)
    place = next(number for number, link in enumerate(synthetic.links) if link.bps == narrow)
    if chance.random() < 0.3:
        synthetic.coalesce_ns = tick_ns
    else:
        synthetic.links[chance.randint(0, place)].gather_ns = tick_ns
    return synthetic, narrow


def main() -> None:
    """Prints the table."""
    first, last = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (FIRST, LAST)
    found: dict[str, list[tuple[bool, bool, float, float]]] = {}
    bounds: list[bool] = []
    for seed in range(first, last):
        synthetic, truth = gathered(seed) if "gathered" in sys.argv else path(seed)
        narrow = next(link for link in synthetic.links if link.bps == truth)
        dense = narrow.cross_bytes == 64 and narrow.share >= 0.5
        if "dense" in sys.argv and not dense:
            continue
        session, settings = SyntheticSession(synthetic), PacketPairSettings(host="far")
        session.run([TrainPlan("train", "forward", IP_BYTES, 50)] * 6, 0.05)
        stages.pairs(session, settings, "forward", IP_BYTES, truth, synthetic.noise_ns, False, lambda _: None)
        trains = session.log.trains()
        result = analyse(trains, settings, {"kernel": synthetic.noise_ns}, {})
        figure = result.rows[0].figures["capacity"]
        if figure.bound:
            bounds.append(figure.value <= truth)
            continue
        kind = "half or more is 64-byte packets" if dense else "other loads"
        error, width = abs(figure.value / truth - 1), (figure.uncertainty or 0.0) / figure.value
        warned = any(flag.text.endswith(TOO_LOW) for flag in result.flags)
        found.setdefault(kind, []).append((error <= width + STEERED, warned, error, width))
    print(
        "| load of the narrow link | paths | with the truth | warned | with the truth or warned | median error"
        " | median half width | above 10 % |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for kind, rows in sorted(found.items()):
        held, warnings, errors, widths = zip(*rows, strict=True)
        either = sum(one or other for one, other in zip(held, warnings, strict=True))
        print(
            f"| {kind} | {len(rows)} | {sum(held)} | {sum(warnings)} | {either} | {100 * median(errors):.2f} %"
            f" | {100 * median(widths):.2f} % | {sum(width > 0.1 for width in widths)} |"
        )
    print(f"bounds: {len(bounds)}, of them true: {sum(bounds)}")


if __name__ == "__main__":
    main()
