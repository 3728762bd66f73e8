"""How often figures about multicast contain the truth, on simulated devices drawn at random, and each false alarm.

Run it by itself: `python benchmarks/accuracy/multicast_truth.py [FIRST LAST]`, with the range of seeds: those below
1000 are for choosing constants, all others for showing what was chosen. Virtual time only. The truth is the device's
file: how many groups it remembers, how long it takes to begin and to end to forward a group, and how many copies it
makes in a second. Each delay without a figure is listed with what the procedure said, and with what in the device's
file is the cause.
"""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.simulated_trials import carry_out, device, plan

from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Quantity

FIRST, LAST = 1000, 1120
LINK_BPS = 1e8
PHASES = {"learning": False, "learning_wait_s": 0.0, "drain_s": 0.2, "rest_s": 0.0}
GROUPS = 3
"""Groups of which delays are measured."""
PROTOCOLS = ("igmpv2", "igmpv3", "mldv1", "mldv2")
Compared = tuple[str, Quantity | None, float, str]
"""What was compared, the figure (None: it is missing), the truth, and what the procedure said beside it."""


@dataclass(frozen=True)
class Switch:
    """A device with snooping, drawn at random, and how it is measured."""

    groups: int
    join_ns: float
    leave_ns: float
    copies_per_second: float
    faults: str
    ports: int
    protocol: str
    rate_fps: float

    @classmethod
    def drawn(cls, seed: int) -> Switch:
        """A device; a third of them lose, duplicate or reorder some frames beside."""
        chance = random.Random(f"multicast {seed}")
        fault = chance.choice(("", "", "faults.duplicate_ratio = 0.002", "faults.reorder_ratio = 0.01"))
        return cls(
            groups=chance.randint(1, 300),
            join_ns=round(10 ** chance.uniform(3, 8)),
            leave_ns=round(10 ** chance.uniform(3, 8.4)),
            copies_per_second=round(10 ** chance.uniform(4.6, 5.6)),
            faults=fault,
            ports=chance.randint(3, 6),
            protocol=chance.choice(PROTOCOLS),
            rate_fps=round(10 ** chance.uniform(3, 4.3)),
        )

    @property
    def toml(self) -> str:
        """The device's file."""
        return (
            f"ports = {self.ports}\nlink_bits_per_second = {LINK_BPS}\n{self.faults}\n[snooping]\n"
            f"groups = {self.groups}\njoin_ns = {float(self.join_ns)}\nleave_ns = {float(self.leave_ns)}\n"
            f"copies_per_second = {float(self.copies_per_second)}\nwaiting_copies = {self.ports}\n"
        )

    @property
    def causes(self) -> list[str]:
        """Why delays of this device cannot have a figure."""
        asked = GROUPS * self.rate_fps * (self.ports - 1)
        found = []
        if asked > self.copies_per_second:
            found.append(f"{asked:,.0f} copies/s were asked for, and it makes {self.copies_per_second:,.0f}")
        if self.groups < GROUPS:
            found.append(f"it remembers {self.groups} of {GROUPS} groups")
        return found

    def measured(self, method: str, settings: dict[str, object]) -> list[Row]:
        """The rows of a procedure."""
        names = [str(number + 1) for number in range(self.ports)]
        own = plan(method, ports=names, frame_bytes=[128], phases=PHASES, **{method: settings})
        return list(carry_out(own, device(self.toml))[0].rows)


def compared(switch: Switch) -> Iterator[Compared]:
    """Every figure that has a truth."""
    settings = {"protocol": switch.protocol}
    rows = switch.measured(
        "group_delay",
        settings | {"groups": GROUPS, "group_fps": switch.rate_fps, "repetitions": 3, "stay_s": 0.3, "leave_s": 0.5},
    )
    for row in rows:
        yield "join delay", row.figures.get("join_delay"), switch.join_ns, row.remark
        yield "leave delay", row.figures.get("leave_delay"), switch.leave_ns, row.remark
        for name, truth in (("join", switch.join_ns), ("leave", switch.leave_ns)):
            for extreme in ("min", "max"):
                yield f"{name} {extreme}", row.figures.get(f"{name}_{extreme}"), truth, row.remark
    capacity = switch.measured(
        "group_capacity", settings | {"join_fps": 10_000, "test_fps": 10_000, "most_groups": 400}
    )
    yield "groups", capacity[0].figures.get("groups"), switch.groups, capacity[0].remark
    receiving = switch.ports - 1
    share = switch.measured(
        "multicast", settings | {"groups": [1], "trial_s": 0.5, "settle_s": 0.1, "resolution_percent": 0.5}
    )
    line_fps = LINK_BPS / 8 / (128 + 20)
    # The few copies that may wait are frames of a trial beyond the rate: less than the resolution.
    throughput_fps = min(line_fps, switch.copies_per_second / receiving)
    yield "throughput", share[0].figures.get("throughput"), throughput_fps, share[0].remark


def contains(figure: Quantity, truth: float) -> bool:
    """Whether the figure's interval contains the truth, to a millionth of it."""
    bounds = figure.bounds
    if bounds is None:
        return False
    slack = 1e-6 * truth
    return bounds[0] - slack <= truth <= bounds[1] + slack


def main(first: int, last: int) -> None:
    """A table: how many figures there are, how many contain the truth, those that do not, and why some are missing."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    missing: Counter[tuple[int, str, str]] = Counter()
    for seed in range(first, last):
        switch = Switch.drawn(seed)
        for name, figure, truth, said in compared(switch):
            count = counts[name]
            count[0] += 1
            if figure is None:
                count[1] += 1
                missing[seed, said, " and ".join(switch.causes) or "NOTHING EXPLAINS IT"] += name.endswith("delay")
            elif contains(figure, truth):
                count[2] += 1
            else:
                print(f"seed {seed}: {name} {figure.value:g} {figure.bounds}, truth {truth:g}; {switch}")
    print(f"{last - first} devices, seeds {first} to {last - 1}")
    print(f"{'figure':14} {'cases':>6} {'missing':>8} {'contain the truth':>18}")
    for name, (cases, none, right) in counts.items():
        print(f"{name:14} {cases:6} {none:8} {right:18}")
    for (seed, said, cause), delays in missing.items():
        print(f"seed {seed}: {delays} delays without a figure, as {cause}; it was said: {said}")


if __name__ == "__main__":
    chosen = [int(text) for text in sys.argv[1:]]
    main(*(chosen if len(chosen) == 2 else (FIRST, LAST)))
