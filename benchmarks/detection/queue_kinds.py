"""How often `keisoku line responsiveness` is right about a queue, on random lines in virtual time whose queue is known.

`python benchmarks/detection/queue_kinds.py [FIRST] [COUNT]` measures COUNT lines of each kind (default 10) with seeds
from FIRST (default 1) on: thresholds were chosen on seeds below 1000. Prints a table of verdicts, and one of lengths
and places.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import numpy as np
from support.virtual_line import measured, random_line
from support.virtual_queue import Discipline

from keisoku.ground.run.settings import parsed
from keisoku.subjects.line.responsiveness.condition import WAYS
from keisoku.subjects.line.responsiveness.kind import QueueKind
from keisoku.subjects.line.responsiveness.outcome import by_condition
from keisoku.subjects.line.responsiveness.queue import Floor
from keisoku.subjects.line.responsiveness.queue_finding import queue_finding
from keisoku.subjects.line.responsiveness.settings import ResponsivenessSettings

TRUE_KINDS: dict[Discipline, QueueKind] = {
    "drop-tail": "drop-tail",
    "codel": "aqm",
    "fq": "fair-queueing",
    "fq-codel": "fair-queueing",
}


def main() -> None:
    """Measure, and print."""
    first, count = (int(given) for given in [*sys.argv[1:3], *("1", "10")[len(sys.argv) - 1 :]][:2])
    settings = parsed(ResponsivenessSettings, {"host": "far", "repetitions": 2})
    verdicts: Counter[tuple[str, str]] = Counter()
    shapers: Counter[tuple[str, str]] = Counter()
    hops: Counter[str] = Counter()
    errors: list[float] = []
    unfilled = 0
    for place, discipline in enumerate(TRUE_KINDS):
        for number in range(count):
            seed = first + place * count + number
            chance = random.Random(seed)
            shaper = chance.random() < 0.5
            line = random_line(chance, discipline, shaper)
            rounds = by_condition(measured(line, settings, seed))
            floor = Floor.from_idle(rounds["idle"])
            assert floor is not None
            for way in WAYS:
                found = queue_finding(rounds, floor, way)
                assert found is not None
                verdicts[discipline, found.kind] += 1
                if "-v" in sys.argv and found.kind != TRUE_KINDS[discipline]:
                    print(seed, way, discipline, found.kind, line.queues[way], line.round_trip_s, found.figures)
                shapers["shaper" if shaper else "line", found.before] += 1
                hops["right" if found.hop == line.hop else "not told" if found.hop is None else "wrong"] += 1
                if discipline == "drop-tail":
                    length = found.figures.get("length")
                    if length is None or length.bound:
                        unfilled += 1
                        continue
                    truth = 8e9 * line.queues[way].limit_bytes / line.queues[way].rate_bps
                    errors.append(100 * (length.value / truth - 1))
    print("| queue | " + " | ".join(kinds := ["none", "drop-tail", "aqm", "fair-queueing", "not told"]) + " |")
    for discipline in TRUE_KINDS:
        print(f"| {discipline} | " + " | ".join(str(verdicts[discipline, one]) for one in kinds) + " |")
    print("shaper or line:", dict(shapers))
    print("hop:", dict(hops))
    low, middle, high = np.quantile(errors, [0.0, 0.5, 1.0])
    within = np.mean(np.abs(errors) <= 5)
    print(
        f"drop-tail lengths: {len(errors)}, {unfilled} at least; error {low:.2f} … {middle:.2f} … {high:.2f} %, "
        f"{100 * within:.0f} % within 5 %"
    )


if __name__ == "__main__":
    main()
