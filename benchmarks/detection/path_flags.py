"""How often the flags of `keisoku path one-packet` are right: hits and false alarms on random paths in virtual time.

`python benchmarks/detection/path_flags.py [FIRST] [COUNT] [--processes N]` measures COUNT paths (default 100) with the
odd seeds from FIRST (default 1) on, which no threshold was chosen on; an even FIRST takes those that they were chosen
on. Each path has up to five hops, and by chance buckets, hidden stages, changes of slope, coalescing, cross traffic,
losses, outages and limits (tests/support/random_path.py). Prints a table of detectors, one of rates and losses, and one
of routers that take longer above 512 bytes where replies grow up to 548; `--slow` gives every path such a router.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.random_path import RandomPath, random_path

from keisoku.errors import EngineError
from keisoku.ground.run.result import Result
from keisoku.subjects.path.one_packet.judgement.analysis import HOP, analyse
from keisoku.subjects.path.one_packet.judgement.path import PathFit, fit_path
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.schedule import HopProbing
from keisoku.subjects.path.one_packet.settings import OnePacketSettings

BUDGET_S = 60.0
DETECTORS = ("token-bucket", "hidden-stages", "kink", "slow-router", "outage", "limit on replies")
SLOWED = (
    "no rate",
    "right all the same",
    "wrong, flagged",
    "wrong, the row says what else it may be, or a remark how much higher",
    "wrong, nothing said",
)
KINDS = (("nothing of these", ()), ("loss", ("loss",)), ("outage", ("outage",)), ("limit on replies", ("limiter",)))


@dataclass
class Seen:
    """What was found on a path, beside the truth."""

    seed: int
    traits: set[str]
    hits: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    rates: list[bool] = field(default_factory=list)
    """For each hop with a figure, whether its interval contains the truth."""
    losses: list[bool] = field(default_factory=list)
    missing: int = 0
    """Hops without a figure."""
    slowed: str = ""
    """What became of the forward rate of a router that takes longer above 512 bytes; empty: there is none."""
    cautious: list[bool] = field(default_factory=list)
    """For each hop whose router takes as long for each byte, whether it is said that it may not."""
    seconds: float = 0.0


def seen(seed: int, slow: bool = False) -> Seen:
    """Measures a path."""
    bed = random_path(seed, slow)
    wire = bed.path()
    kept: list[HopProbe] = []
    probing = HopProbing(wire, OnePacketSettings(host="host", budget_s=BUDGET_S), kept.extend, lambda text: None)
    try:
        path = probing.run()
    except EngineError as error:
        return Seen(seed, set(), wrong=[f"not measured: {error}"])
    fitted = fit_path(kept)
    result = analyse("host", fitted, kept, None, path.reached)
    found = Seen(seed, bed.traits, seconds=wire.now / 1e9)
    truth = {
        "token-bucket": (bed.bucket, bed.bucket_is_narrow),
        "hidden-stages": (bed.stages, bed.stages_are_seen),
        "kink": (bed.kink[0], bed.kink_is_seen),
        "slow-router": (bed.kink[0] if bed.kink_is_hidden else 0, bed.slowed_is_seen),
        "outage": (bed.outages, bool(bed.outages) and bed.outages_met(kept)),
    }
    for name, (hop, can_be) in truth.items():
        enter(found, name, {hop} - {0}, hops_flagged(result, name), can_be)
    enter(found, "limit on replies", set(bed.limited), hops_limited(result), bool(bed.limited))
    _rates(found, bed, fitted, result)
    if bed.kink_is_hidden:
        found.slowed = _slowed(bed, fitted, result)
    _losses(found, bed, result)
    return found


def enter(found: Seen, name: str, truth: set[int], flagged: set[int], can_be: bool) -> None:
    """Enters right flags, those on wrong hops, and false alarms."""
    kind = "with" if truth else "without"
    found.hits[name, kind] += 1
    found.hits[name, "can be seen"] += bool(truth) and can_be
    found.hits[name, "hit"] += bool(truth & flagged)
    found.hits[name, "hit of those"] += bool(truth & flagged) and can_be
    found.hits[name, "other hop"] += bool(truth) and bool(flagged - truth)
    found.hits[name, "false"] += not truth and bool(flagged)
    if flagged - truth or (truth and can_be and not truth & flagged):
        found.wrong.append(f"{name}: truth {sorted(truth)}, found {sorted(flagged)}")


def hops_flagged(result: Result, name: str) -> set[int]:
    """Numbers of the hops that a flag of this name says first."""
    texts = [flag.text for flag in result.flags if flag.name == name]
    return {int(number) for text in texts for number in re.findall(r"hop (\d+)", text)[:1]}


def hops_limited(result: Result) -> set[int]:
    """Numbers of the hops whose router is said to limit its replies."""
    rows = [row for row in result.rows if row.group != HOP and "reply_interval" in row.figures]
    return {int(row.case.split()[0]) for row in rows}


def _rates(found: Seen, bed: RandomPath, fitted: PathFit, result: Result) -> None:
    rows = [row for row in result.rows if row.group == HOP]
    for segment, row in zip(fitted.segments, rows, strict=True):
        bent = {bed.kink[0], bed.kink[0] + 1} if bed.kink[0] else set()
        slope = sum(1 / bed.out_bps(hop) for hop in range(segment.first_hop, segment.last_hop + 1))
        if segment.last_hop not in bent:
            found.cautious.append(segment.last_hop in fitted.unseen)
        if slope == 0 or segment.last_hop in bent or segment.forward is None:
            continue  # no link, or a slope that is none of a link, or not identifiable
        bounds = row.figures["forward"].bounds if "forward" in row.figures else None
        if bounds is None:
            found.missing += 1
        else:
            found.rates.append(bounds[0] <= 1 / slope <= bounds[1])


def _slowed(bed: RandomPath, fitted: PathFit, result: Result) -> str:
    """Of a change at 512 bytes where replies grow up to 548."""
    rows = [row for row in result.rows if row.group == HOP]
    place = next((at for at, one in enumerate(fitted.segments) if one.last_hop == bed.kink[0]), None)
    bounds = None if place is None or "forward" not in rows[place].figures else rows[place].figures["forward"].bounds
    if place is None or bounds is None:
        return SLOWED[0]
    flagged = any(bed.kink[0] in hops_flagged(result, name) for name in ("kink", "slow-router", "hidden-stages"))
    said = fitted.verdicts[place].shared_rate is not None or _is_bounded(bed, fitted, place)
    if bounds[0] <= bed.out_bps(bed.kink[0]) <= bounds[1]:
        return SLOWED[1]
    return SLOWED[2] if flagged else SLOWED[3] if said else SLOWED[4]


def _is_bounded(bed: RandomPath, fitted: PathFit, place: int) -> bool:
    """Whether a remark says by how much the rate may be higher, and that is enough where its condition is met."""
    hop, slope = bed.hops[bed.kink[0] - 1], fitted.segments[place].forward
    if (unseen := fitted.unseen.get(bed.kink[0])) is None or slope is None:
        return False
    enough = slope.lower - unseen.more <= 8e9 / bed.out_bps(bed.kink[0])
    return enough or (unseen.of_way_back and 0 < hop.reverse < hop.forward)


def _losses(found: Seen, bed: RandomPath, result: Result) -> None:
    for row in result.rows:
        if row.group != HOP and "lost" in row.figures and (bounds := row.figures["lost"].bounds) is not None:
            passed = math.prod((1 - hop.loss) ** 2 for hop in bed.hops[: int(row.case.split()[0])])
            found.losses.append(bounds[0] <= 100 * (1 - passed) <= bounds[1])


def print_detectors(found: Sequence[Seen]) -> None:
    """The table of hits and false alarms."""
    print(
        "| detector | paths with it | flagged on its hop | that can be seen | flagged | other hop | without | false |"
    )
    print("|---|---|---|---|---|---|---|---|")
    total: Counter[tuple[str, str]] = sum((one.hits for one in found), Counter())
    names = ("with", "hit", "can be seen", "hit of those", "other hop", "without", "false")
    for name in DETECTORS:
        print(f"| {name} | {' | '.join(str(total[name, kind]) for kind in names)} |")


def main() -> None:
    """Measures the paths and prints the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("first", nargs="?", type=int, default=1)
    options.add_argument("count", nargs="?", type=int, default=100)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--slow", action="store_true")
    chosen = options.parse_args()
    seeds = range(chosen.first, chosen.first + 2 * chosen.count, 2)
    with Pool(chosen.processes) as pool:
        found = pool.map(partial(seen, slow=chosen.slow), seeds, chunksize=1)
    print(f"seeds {seeds[0]} to {seeds[-1]}, every second one\n")
    print_detectors(found)
    print(
        "\n| paths with | number | rates in their interval | without a figure | losses in theirs | median s | most s |"
    )
    print("|---|---|---|---|---|---|---|")
    for title, traits in KINDS:
        disturbed = {"loss", "outage", "limiter"}
        chosen_paths = [one for one in found if set(traits) & one.traits or not (traits or disturbed & one.traits)]
        chosen_paths = [one for one in chosen_paths if one.seconds]
        if not chosen_paths:
            continue
        seconds = sorted(one.seconds for one in chosen_paths)
        rates = [inside for one in chosen_paths for inside in one.rates]
        losses = [inside for one in chosen_paths for inside in one.losses]
        cells = [
            title,
            str(len(chosen_paths)),
            f"{sum(rates)} of {len(rates)}",
            str(sum(one.missing for one in chosen_paths)),
            f"{sum(losses)} of {len(losses)}",
            f"{seconds[len(seconds) // 2]:.0f}",
            f"{seconds[-1]:.0f}",
        ]
        print(f"| {' | '.join(cells)} |")
    print("\n| forward rate of a router that is slower above 512 byte | hops |\n|---|---|")
    for what in SLOWED:
        print(f"| {what} | {sum(one.slowed == what for one in found)} |")
    cautious = [one for path in found for one in path.cautious]
    print(f"\nOf {len(cautious)} other hops a remark says of {sum(cautious)} that it is not ruled out there.\n")
    for one in found:
        for text in one.wrong:
            print(f"{one.seed}: {text} ({', '.join(sorted(one.traits))})", file=sys.stderr)


if __name__ == "__main__":
    main()
