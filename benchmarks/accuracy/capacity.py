"""How true `keisoku stream capacity` is on random paths in virtual time, and how often it is right about token buckets.

`python benchmarks/accuracy/capacity.py [FIRST] [COUNT]` measures COUNT paths of each kind (default 10) for 10 s, with
seeds from FIRST (default 1) on: limits were chosen on seeds below 1000. Prints a row for each kind: how far the
capacity is from the truth, how often its interval contains it, and how often a token bucket is said.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.virtual_capacity import VirtualPath, carried_out

from keisoku.ground.run.settings import parsed
from keisoku.subjects.stream.capacity.analysis import analyse
from keisoku.subjects.stream.capacity.capacity_test import CapacityTest, ObservedStatus
from keisoku.subjects.stream.capacity.rows import readings, table
from keisoku.subjects.stream.capacity.settings import CapacitySettings

SETTINGS = parsed(CapacitySettings, {"host": "far", "direction": "down"})
SLOT_S = 0.1


def drawn(kind: str, chance: random.Random) -> tuple[VirtualPath, float]:
    """A path of a kind, and the rate that lasts."""
    rate_bps = math.exp(chance.uniform(math.log(2e6), math.log(16e6)))
    queue_s = math.exp(chance.uniform(math.log(0.002), math.log(0.3)))
    queue_bytes = max(round(queue_s * rate_bps / 8), 3000)
    delay_ns = round(chance.uniform(1e6, 40e6))
    spread = 0.05 if kind == "varying" else 0.0
    slots = [rate_bps * chance.gauss(1, spread) for _ in range(200)]
    path = VirtualPath(lambda at_s: slots[min(int(at_s / SLOT_S), len(slots) - 1)], queue_bytes, delay_ns)
    if kind == "token bucket":
        path.peak_bps = rate_bps * chance.uniform(1.5, 4)
        # What is above the rate empties it in one to four seconds.
        path.fill(round((path.peak_bps - rate_bps) * chance.uniform(1, 4) / 8))
    return path, statistics.fmean(slots[: round((SETTINGS.duration_s + 1) / SLOT_S)])


def main() -> None:
    """Measure, and print."""
    first, count = (int(given) for given in [*sys.argv[1:3], *("1", "10")[len(sys.argv) - 1 :]][:2])
    print("| path | paths | error, median | largest | within 2 % | no interval | interval contains | bucket said |")
    print("|---|---|---|---|---|---|---|---|")
    for place, kind in enumerate(("constant", "varying", "token bucket")):
        errors, contained, said, bare = [], 0, 0, 0
        for number in range(count):
            chance = random.Random(first + place * count + number)
            path, truth_bps = drawn(kind, chance)
            told = carried_out(path, SETTINGS.activation("down"), up=False)
            seen = [ObservedStatus(at_ns, status, at_ns, 0, 0, 0, 0) for at_ns, status in told]
            rows = readings(table("down", CapacityTest(SETTINGS.activation("down"), seen, ipv6=False, silent=False)))
            result, _ = analyse(SETTINGS, rows, {})
            capacity = result.rows[0].figures["capacity"]
            errors.append(100 * abs(capacity.value / truth_bps - 1))
            bare += capacity.uncertainty is None
            contained += capacity.uncertainty is not None and abs(capacity.value - truth_bps) <= capacity.uncertainty
            said += result.flagged("token-bucket")
        close = sum(error <= 2 for error in errors)
        print(
            f"| {kind} | {count} | {statistics.median(errors):.2f} % | {max(errors):.2f} % | {close} | {bare}"
            f" | {contained} of {count - bare} | {said} |"
        )


if __name__ == "__main__":
    main()
