"""How often the intervals of lines and clocks contain the truth, on random simulated devices.

`python benchmarks/accuracy/accuracy_lines.py [CASES] [FIRST_SEED] [FAMILY,…]` draws so many devices of each family
(default 120) and compares slope and constant of `sweep`, the offset of a port's clock by `clock-mismatch`, and ns/m of
`cable-series` with what the device was made of. Seeds below 100 000 were used while constants were chosen, and for
clocks those below 100 150.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.simulated_trials import carry_out, device, plan

from keisoku.errors import PlanError
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.calibration.cable_series import cable_series
from keisoku.subjects.device.record.run import DeviceRun

OTHERS = 12
"""Runs of a device whose mean is the truth of another."""
FRESH = 200_000
"""Seeds from here on have not been looked at while anything was chosen."""


@dataclass(frozen=True)
class Compared:
    """A figure, or none where nothing was stated, beside the truth."""

    quantity: str
    family: str
    truth: float
    figure: Quantity | None
    seed: int

    @property
    def error_share(self) -> float | None:
        """The error as a share of half the interval's width; None of a bound."""
        if self.figure is None or self.figure.bound or self.figure.bounds is None:
            return None
        half = (self.figure.bounds[1] - self.figure.bounds[0]) / 2
        return abs(self.figure.value - self.truth) / half if half else 0.0

    @property
    def inside(self) -> bool:
        """Whether the stated interval or bound contains the truth; arithmetic has 15 digits."""
        bounds = self.figure.bounds if self.figure else None
        small = 1e-12 * abs(self.truth)
        return bounds is not None and bounds[0] - small <= self.truth <= bounds[1] + small


def _jitter(random: Random, most_ns: float) -> str:
    kind = random.choice(["none", "uniform", "normal"])
    spread_ns = 10 ** random.uniform(0, 3) * most_ns / 1000
    return "" if kind == "none" else f'[jitter]\ndistribution = "{kind}"\nspread_ns = {spread_ns:.3f}\n'


def _mean_jitter_ns(toml: str) -> float:
    found = device(toml).jitter
    return found.spread_ns / 2 if found is not None and found.distribution == "uniform" else 0.0


def sweeps(seed: int) -> Iterator[Compared]:
    """Store-and-forward devices below their service rate, or without jitter at the smallest gap on slow ports too."""
    random = Random(f"sweep {seed}")
    slope, constant = random.uniform(0.5, 12), 10 ** random.uniform(2, 4.5)
    link = random.choice([1e8, 1e9])
    below = random.random() < 0.5
    jitter = _jitter(random, 2000) if below else ""
    resolution = random.choice([0, 0, 8, 20])
    ppm = random.uniform(-200, 100)
    family = "below the line" if below else "smallest gap, slow port" if ppm < 0 else "smallest gap"
    family += ", jitter" if jitter else ""
    family += ", stamps" if resolution else ""
    toml = f"link_bits_per_second = {link}\nresolution_ns = {resolution:.1f}\nclock_offset_ppm = {{2 = {ppm}}}\n"
    toml += f"[forwarding]\nns_per_byte = {slope}\nconstant_ns = {constant}\n{jitter}"
    toml += f"[output]\nbuffer_bytes = {round(10 ** random.uniform(4.3, 6.5))}\n"
    sizes = sorted(random.sample(range(64, 1519), random.randint(4, 12)))
    settings: dict[str, object] = {"trial_s": 10 ** random.uniform(-0.7, 0.5)}
    if below:
        settings["rate_fps"] = random.uniform(0.2, 0.6) * link / ((1518 + 20) * 8)
    made = plan("sweep", frame_bytes=sizes, sweep=settings, seed=seed + 1)
    line = carry_out(made, device(toml))[0].line
    yield Compared("slope, ns/byte", family, slope, line.slope if line else None, seed)
    yield Compared("constant, ns", family, constant + _mean_jitter_ns(toml), line.constant if line else None, seed)


def crowded(seed: int) -> Iterator[Compared]:
    """Jitter at the smallest gap: frames keep their order, so each waits for the slowest before it.

    How much that is depends on the number of frames and has no formula: the truth is the mean of other runs.
    """
    random = Random(f"crowded {seed}")
    ppm = random.choice([0.0, 0.0, random.uniform(-150, 100)])
    toml = f"clock_offset_ppm = {{2 = {ppm}}}\n[forwarding]\nns_per_byte = {random.uniform(0.5, 12)}\n"
    toml += f"constant_ns = {10 ** random.uniform(2, 4.5)}\n[output]\nbuffer_bytes = 1_000_000\n"
    kind, spread_ns = random.choice(["uniform", "normal"]), 10 ** random.uniform(1, 3.3)
    toml += f'[jitter]\ndistribution = "{kind}"\nspread_ns = {spread_ns:.3f}\n'
    sizes = sorted(random.sample(range(64, 1519), random.randint(4, 10)))
    settings = {"trial_s": 10 ** random.uniform(-1, -0.3)}
    found = []
    for number in range(OTHERS + 1):
        made = plan("sweep", frame_bytes=sizes, sweep=settings, seed=1000 * seed + 50 * number + 1)
        found.append(carry_out(made, device(toml))[0].line)
    one, others = found[0], [line for line in found[1:] if line is not None]
    if len(others) < OTHERS / 2:
        return
    family = kind + ("" if ppm == 0 else ", slow port" if ppm < 0 else ", fast port")
    for name, unit in (("slope", "ns/byte"), ("constant", "ns")):
        truth = statistics.fmean(getattr(line, name).value for line in others)
        yield Compared(f"{name} in a crowd, {unit}", family, truth, getattr(one, name) if one else None, seed)


def clocks(seed: int) -> Iterator[Compared]:
    """Ports slower or faster than the line, with ample and with small buffers, searched for or at a given load."""
    random = Random(f"clock {seed}")
    link = random.choice([1e8, 1e9])
    ppm = random.uniform(-200, 50)
    size = random.choice([64, 128, 256, 512, 1024, 1518])
    ample = random.random() < 0.5
    buffer_bytes = 4_000_000 if ample else round(size * 2 ** random.uniform(1, 6))
    line = link / ((size + 20) * 8)
    settings: dict[str, object] = {"trial_s": random.choice([0.5, 2, 5]), "repetitions": random.choice([1, 2, 3])}
    family = "ample buffer" if ample else "small buffer"
    if random.random() < 0.3:
        settings["rate_fps"] = line * (1 - random.uniform(0, 1.2) * abs(ppm) * 1e-6)
        family += ", given load"
    jitter = _jitter(random, 1000)
    resolution = random.choice([0, 0, 8])
    toml = f"link_bits_per_second = {link}\nclock_offset_ppm = {{2 = {ppm}}}\nresolution_ns = {resolution:.1f}\n"
    toml += f"[output]\nbuffer_bytes = {buffer_bytes}\n{jitter}"
    family += ", jitter" if jitter else ""
    family += ", stamps" if resolution else ""
    made = plan(
        "clock_mismatch",
        frame_bytes=[size],
        throughput={"trial_s": settings["trial_s"]},
        clock_mismatch=settings,
        seed=seed + 1,
    )
    rows = carry_out(made, device(toml))[0].rows
    figures = [row.figures["mismatch"] for row in rows if "mismatch" in row.figures]
    # The first case is the answer; rows at lower loads only show that growth stops.
    yield Compared("clock, ppm", family, -ppm, figures[0] if figures else None, seed)


def cables(seed: int) -> Iterator[Compared]:
    """An instrument on 3 to 6 cables, with the scatter and the stamps of its own."""
    random = Random(f"cable {seed}")
    ns_per_m, constant = random.uniform(3.5, 6.5), random.uniform(50, 5000)
    resolution = random.choice([0, 1, 8])
    jitter = _jitter(random, 30)
    toml = f"resolution_ns = {resolution:.1f}\ncable = {{length_m = 0.0, ns_per_m = {ns_per_m}}}\n"
    toml += f'[forwarding]\nmode = "cut-through"\nns_per_byte = 0.0\nconstant_ns = {constant}\n{jitter}'
    family = ("jitter" if jitter else "no jitter") + (", stamps" if resolution else "")
    longest = 10 ** random.uniform(0.5, 2)
    lengths = [random.uniform(0, longest) for _ in range(random.randint(1, 4))] + [0.0, longest]
    size, repetitions = random.choice([64, 128, 512, 1518]), random.randint(2, 5)
    loads = random.choice([(1.0, 10.0, 50.0, 90.0), (10.0,), (20.0, 90.0)])
    runs = []
    for number, length_m in enumerate(lengths):
        settings = {"trial_s": 0.02, "repetitions": repetitions, "length_m": length_m, "loads_percent": loads}
        made = plan("calibrate", frame_bytes=[size], calibrate=settings, seed=1000 * (seed + 1) + number)
        result, records = carry_out(made, device(toml).with_cable(length_m))
        source = made.model_dump(mode="json", exclude_none=True)
        runs.append(DeviceRun(Path(f"{length_m:g} m"), source, {}, records, [result]))
    try:
        (found,) = cable_series(runs)
    except PlanError:
        return
    yield Compared("cable, ns/m", family, ns_per_m, found.propagation, seed)
    yield Compared("cable, constant ns", family, constant + _mean_jitter_ns(toml), found.constant, seed)


FAMILIES: dict[str, Callable[[int], Iterator[Compared]]] = {
    "sweep": sweeps,
    "crowded": crowded,
    "clock": clocks,
    "cable": cables,
}


def table(found: list[Compared]) -> str:
    """Markdown: one line a quantity and family, and one a quantity over all."""
    lines = [
        "| quantity | family | cases | inside | bounds | not stated | 1 / median of error / half width |",
        "|---|---|---|---|---|---|---|",
    ]
    for quantity in dict.fromkeys(one.quantity for one in found):
        own = [one for one in found if one.quantity == quantity]
        for family in [*sorted({one.family for one in own}), ""]:
            chosen = [one for one in own if not family or one.family == family]
            stated = [one for one in chosen if one.figure is not None and one.figure.bounds is not None]
            bounds = [one for one in stated if one.figure and one.figure.bound]
            inside = sum(one.inside for one in stated)
            shares = [share for one in stated if (share := one.error_share) is not None]
            ratio = 1 / max(1e-300, statistics.median(shares)) if shares else 0.0
            percent = f"{100 * inside / len(stated):.1f} %" if stated else ""
            lines.append(
                f"| {quantity} | {family or '**all**'} | {len(chosen)} | {inside} of {len(stated)} {percent} |"
                f" {len(bounds)} | {len(chosen) - len(stated)} | {ratio:.3g} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Draws the devices, measures them and prints the table; cases outside go to the standard error."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    first = int(sys.argv[2]) if len(sys.argv) > 2 else FRESH
    names = sys.argv[3].split(",") if len(sys.argv) > 3 else list(FAMILIES)
    found = [one for name in names for seed in range(first, first + count) for one in FAMILIES[name](seed)]
    for one in found:
        if not one.inside:
            bounds = one.figure.bounds if one.figure else None
            value = one.figure.value if one.figure else None
            print(one.quantity, one.family, one.seed, "truth", one.truth, "figure", value, bounds, file=sys.stderr)
    print(table(found))


if __name__ == "__main__":
    main()
