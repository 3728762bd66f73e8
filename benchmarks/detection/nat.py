"""How often `keisoku line survey` is right about a NAT, on random ones in virtual time whose behaviour is known.

`python benchmarks/detection/nat.py [FIRST] [COUNT]` looks at COUNT of them (default 100) for 48 s each, with seeds from
FIRST (default 1) on. Prints a table of verdicts, and how wide the intervals of timeouts are.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import numpy as np
from support.virtual_nat import SECOND, VirtualNat, random_nat

from keisoku.subjects.path.nat.behaviour import behaviour

LONGEST_S = 48.0
BANDS_S = ((0, 3), (3, 10), (10, 16), (16, 40), (40, 1000))


def main() -> None:
    """Look, and print."""
    first, count = (int(given) for given in [*sys.argv[1:3], *("1", "100")[len(sys.argv) - 1 :]][:2])
    verdicts: Counter[tuple[str, str, str]] = Counter()
    inside: Counter[tuple[float, float]] = Counter()
    outside: Counter[tuple[float, float]] = Counter()
    bounds: Counter[tuple[float, float]] = Counter()
    widths: dict[tuple[float, float], list[float]] = {band: [] for band in BANDS_S}
    for seed in range(first, first + count):
        nat = random_nat(random.Random(seed))
        found = behaviour(VirtualNat(nat, seed).run(LONGEST_S))
        kind = "address" if nat.translates else "none" if nat.filtering is None else "firewall"
        verdicts["kind", kind, found.translation] += 1
        for name, told, verdict in zip(
            ("mapping", "filtering"), nat.told, (found.mapping, found.filtering), strict=True
        ):
            verdicts[name, told, verdict] += 1
        if nat.translates:
            reaches = nat.hairpins and "independent" in (nat.mapping, nat.filtering)
            verdicts["hairpinning", str(reaches), str(found.hairpins)] += 1
        if kind == "none":
            continue
        for truth_s, timeout in ((nat.answered_s, found.answered), (nat.unanswered_s, found.unanswered)):
            band = next(one for one in BANDS_S if one[0] <= truth_s < one[1])
            if timeout is None or timeout.quantity.bounds is None:
                outside[band] += 1
                continue
            lower, upper = (one / SECOND for one in timeout.quantity.bounds)
            (inside if lower <= truth_s <= upper else outside)[band] += 1
            if timeout.quantity.bound:
                bounds[band] += 1
            else:
                widths[band].append(upper - lower)
    print("| | truth | said | times |")
    for (name, truth, said), times in sorted(verdicts.items()):
        print(f"| {name} | {truth} | {said}{_judged(truth, said)} | {times} |")
    print("| timeout | inside | outside | only a bound | median width | widest |")
    for band in BANDS_S:
        wide = widths[band] or [float("nan")]
        print(
            f"| {band[0]} to {band[1]} s | {inside[band]} | {outside[band]} | {bounds[band]} "
            f"| {np.median(wide):.2f} s | {max(wide):.2f} s |"
        )


def _judged(truth: str, said: str) -> str:
    if truth == said:
        return ""
    return " (says less)" if said in ("unknown", "not-port", "None") else " (wrong)"


if __name__ == "__main__":
    main()
