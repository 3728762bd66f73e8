"""How often `keisoku ab cost` gives a false alarm, and finds 2.5 %, on a host that is calm for a part of the time.

Run it anywhere: `python benchmarks/detection/seldom_calm.py [--comparisons 100] [--seed 1]`; it takes about half an
hour on two CPUs. Runs are drawn: calm ones scatter by 1.1 %, and slow ones take 13 to 30 % longer. The core stays as
it was from one run to the next with a probability, and else is calm with another one. What makes pairs of runs and
judges them is that of `keisoku ab`.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import median

import numpy as np

from keisoku.ground.run.pairing import series
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.paired import Judgement, Rule, differences, judge
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.measurement.side_runs import LATEST, order
from keisoku.subjects.device.analysis.calm import NEAR, NEAR_KNOWN, level_of
from keisoku.subjects.device.method.frame_cost import TRIES
from keisoku.subjects.device.procedure.own.cost import PROCEDURE

LEVEL_NS, TESTER_NS = 1900.0, 300.0
HOSTS = ((0.15, 0.3), (0.3, 0.6), (0.7, 0.6), (0.95, 0.5))
"""Probabilities that a run is calm, and that the core stays as it was."""
QUESTIONS = ((0.0, 0.0, 60), (0.0, 0.05, 60), (0.025, 0.0, 22), (0.025, 0.0, 60))
"""By how much B's frames take longer, the margin, and pairs: about 22 are made in half a minute."""


class Host:
    """Draws the levels of runs, in ns a frame."""

    def __init__(self, chance: np.random.Generator, calm: float, stays: float) -> None:
        self._chance, self._share, self._stays = chance, calm, stays
        self._calm = bool(chance.random() < calm)

    def run(self, frame_ns: float) -> float:
        """One run."""
        if self._chance.random() >= self._stays:
            self._calm = bool(self._chance.random() < self._share)
        if self._calm:
            return frame_ns * math.exp(self._chance.normal(0, 0.011))
        return frame_ns * (1.13 + abs(self._chance.normal(0, 0.06)))

    def side(self, frame_ns: float, known: list[float]) -> float | None:
        """The level of one side of a pair, as `FrameCost` finds it; None where it met no calm moment."""
        level, seen = level_of(known) if known else math.inf, list[float]()
        least = 1 if known else 2
        for _ in range(TRIES * least):
            seen.append(self.run(frame_ns))
            limit = min(NEAR_KNOWN * level, NEAR * float(np.quantile(seen, 0.25, method="lower")))
            calm = [one for one in seen if one <= limit]
            if len(calm) >= least:
                return sum(calm) / len(calm)
        return None


def result(level_ns: float | None) -> Result:
    """Of one run."""
    figures = {} if level_ns is None else {"batches": level_ns, "cost": level_ns - TESTER_NS}
    row = Row(frame_bytes=64, figures={name: Quantity(value=ns, unit="ns") for name, ns in figures.items()})
    return Result(measurement="cost", rows=[row])


def compared(host: tuple[float, float], question: tuple[float, float, int], seed: int) -> tuple[str, int]:
    """The verdict, and after how many pairs."""
    (more, margin, pairs), chance = question, np.random.default_rng(seed)
    machine, levels = Host(chance, *host), {"a": list[float | None](), "b": list[float | None]()}
    frame_ns = {"a": LEVEL_NS, "b": LEVEL_NS * (1 + more)}
    said: Judgement | None = None
    for pair in range(1, pairs + 1):
        for side in order(seed, pair):
            known = [level for level in levels[side][-LATEST:] if level is not None]
            levels[side].append(machine.side(frame_ns[side], known))
        a, b = ([[one] for one in PROCEDURE.alike([result(level) for level in levels[side]])] for side in "ab")
        for found in series(a, b, {"cost": ("cost",)}):
            used = [each / pairs for each in range(1, pair + 1)]
            said = judge(differences(found.matched), used, Rule("lower", margin))
            if said.ended:
                return said.verdict, pair
    return said.verdict if said else "not measured", pairs


def rows(comparisons: int, seed: int) -> Iterator[str]:
    """Lines of the table."""
    with ProcessPoolExecutor() as workers:
        for host in HOSTS:
            for question in QUESTIONS:
                found = list(
                    workers.map(partial(compared, host, question), range(seed, seed + comparisons), chunksize=5)
                )
                verdicts = Counter(verdict for verdict, _ in found)
                more, margin, pairs = question
                cells = [f"{host[0]:.0%}", f"{more:.1%}", f"{margin:.0%}", str(pairs)]
                cells += [str(verdicts[name]) for name in ("worse", "better")]
                cells.append(str(verdicts["equal"] + verdicts["no worse"]))
                yield "| " + " | ".join([*cells, f"{median(pair for _, pair in found):g}"]) + " |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print("| calm runs | B slower by | margin | pairs at most | worse | better | not worse | pairs, median |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for line in rows(asked.comparisons, asked.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
