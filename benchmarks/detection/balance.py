"""How often `keisoku balance` says what a hidden fabric does, and how often it calls an even one uneven.

Run it by itself: `python benchmarks/detection/balance.py [FIRST LAST]`, with the range of seeds: those below 1000 are
for development, all others for showing. Each seed draws one fabric of each kind: its members, the header fields of its
hash, shares, and what it does when a member fails. Virtual time only.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.simulated_trials import carry_out, device, plan

from keisoku.ground.frame.field_bits import field_bits
from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.spreading import Spread
from keisoku.subjects.device.engine.simulated import routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.procedure.balance.balance import ALL, MEMBER
from keisoku.subjects.device.procedure.balance.deciding import FIELD
from keisoku.subjects.device.procedure.balance.moves import EVENT
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

FIRST, LAST = 1000, 1250
RESOLUTION = 0.04
FIELDS = {
    "ipv4": {
        "source MAC address": "Ether.src",
        "source IPv4 address": "IP.src",
        "destination IPv4 address": "IP.dst",
        "DSCP of IPv4": "IP.tos",
        "UDP source port": "UDP.sport",
        "UDP destination port": "UDP.dport",
    },
    "ipv6": {
        "source MAC address": "Ether.src",
        "source IPv6 address": "IPv6.src",
        "destination IPv6 address": "IPv6.dst",
        "DSCP of IPv6": "IPv6.tc",
        "IPv6 flow label": "IPv6.fl",
        "UDP source port": "UDP.sport",
        "UDP destination port": "UDP.dport",
    },
}
NETWORKS = {"ipv4": "198.19.0.0/16", "ipv6": "2001:2:0:8000::/49"}
CLASSES = ("IP.tos", "IPv6.tc")
"""By these alone the flows of the verdict do not differ."""


@dataclass
class Fabric:
    """What is hidden."""

    ports: int
    headers: str
    decides: set[str]
    """Titles of the fields of its hash."""
    own: list[str]
    """Lines of its table."""
    weights: Sequence[float] = ()
    expected: str = ""

    @property
    def toml(self) -> str:
        """Its file."""
        names = ", ".join(f'"{FIELDS[self.headers][title]}"' for title in sorted(self.decides))
        ports = ", ".join(map(str, range(2, self.ports + 1)))
        lines = [f"ports = {self.ports}", "link_bits_per_second = 10_000_000_000", "[spread]", f"ports = [{ports}]"]
        lines += [f"fields = [{names}]", *self.own]
        return "\n".join(line for line in lines if line) + "\n"


def _hash(chance: random.Random, members: int) -> Fabric:
    headers = chance.choice(("ipv4", "ipv6"))
    titles = list(FIELDS[headers])
    decides = set(chance.sample(titles, chance.randint(1, len(titles))))
    if all(FIELDS[headers][title] in CLASSES for title in decides):
        decides.add("UDP source port")
    own = [f"seed = {chance.randrange(2**40)}", f"lost = {chance.randint(2, members + 1)}"]
    if chance.random() < 0.5:
        own.append("resilient = true")
    return Fabric(members + 1, headers, decides, own)


def _weighted(fabric: Fabric, shares: Sequence[float]) -> None:
    fabric.weights = shares
    fabric.own.append(f"weights = [{', '.join(f'{share:.9f}' for share in shares)}]")


def even(chance: random.Random) -> Fabric:
    """Equal members."""
    fabric = _hash(chance, chance.randint(2, 12))
    if chance.random() < 0.3:
        fabric.own.append('mapping = "modulo"')
    return fabric


def weighted(chance: random.Random) -> Fabric:
    """Members of given weights, which are expected."""
    fabric = _hash(chance, chance.randint(2, 8))
    weights = [chance.randint(1, 5) for _ in range(fabric.ports - 1)]
    _weighted(fabric, weights)
    fabric.expected = ":".join(map(str, weights))
    return fabric


def uneven(chance: random.Random) -> Fabric:
    """One member has exactly twice the resolution more or less than its share; the others share the rest."""
    fabric = _hash(chance, chance.randint(2, 8))
    members, deviation = fabric.ports - 1, 2 * RESOLUTION * chance.choice((-1, 1))
    if 1 / members + deviation <= 0:
        deviation = -deviation
    shares = [(1 - 1 / members - deviation) / (members - 1)] * members
    shares[chance.randrange(members)] = 1 / members + deviation
    _weighted(fabric, shares)
    return fabric


def turns(chance: random.Random) -> Fabric:
    """Flows take the members in turn."""
    fabric = _hash(chance, chance.randint(2, 12))
    fabric.own.append("turns = true")
    return fabric


def polarised(chance: random.Random) -> Fabric:
    """Two stages with one hash."""
    first, second = chance.randint(2, 4), chance.randint(2, 4)
    fabric = _hash(chance, first * second)
    fabric.own += [f"stages = [{first}, {second}]", "same_hash = true"]
    return fabric


def staged(chance: random.Random) -> Fabric:
    """The same with two hashes."""
    fabric = polarised(chance)
    fabric.own.remove("same_hash = true")
    return fabric


def sprayed(chance: random.Random) -> Fabric:
    """Each frame by a member at random."""
    fabric = _hash(chance, chance.randint(2, 12))
    fabric.own.append("spray_frames = 1")
    return fabric


def flowlets(chance: random.Random) -> Fabric:
    """Some frames at a time."""
    fabric = _hash(chance, chance.randint(2, 12))
    fabric.own.append(f"spray_frames = {chance.randint(2, 6)}")
    return fabric


KINDS: dict[str, tuple[Callable[[random.Random], Fabric], str]] = {
    "even": (even, "even"),
    "weighted as expected": (weighted, "even"),
    "one member off by twice the resolution": (uneven, "uneven"),
    "flows in turn": (turns, "more even"),
    "two stages with one hash": (polarised, "polarised"),
    "two stages with two hashes": (staged, "even"),
    "sprayed frame by frame": (sprayed, "frame by frame"),
    "sprayed in flowlets": (flowlets, "flowlets"),
}
"""Each with what is to be said."""


@dataclass
class Score:
    """Of all fabrics of one kind."""

    said: Counter[str] = field(default_factory=Counter)
    flows: int = 0
    misplaced: int = 0
    """Flows whose member is another than the fabric's."""
    fields: int = 0
    wrong_fields: int = 0
    events: int = 0
    wrong_events: int = 0
    """Whose moved flows are not exactly those of the fabric."""
    inside: int = 0
    members: int = 0
    """Intervals of all members of one fabric, and how often all contain the true shares."""


def measured(fabric: Fabric, seed: int) -> tuple[Plan, Result, list[TrialRecord]]:
    """One run on it."""
    own = {"resolution_percent": 100 * RESOLUTION, "fields": True, "event": "member-lost", "weights": fabric.expected}
    own |= {"destinations": NETWORKS[fabric.headers], "stable_s": 0.3, "watch_s": 0.4, "frames_per_flow": 20}
    ports = [str(number) for number in range(1, fabric.ports + 1)]
    asked = plan("balance", ports=ports, frame_bytes=[128], seed=seed, headers=fabric.headers, balance=own)
    return (asked, *carry_out(asked, device(fabric.toml)))


def spoken(result: Result) -> str:
    """The verdict in a word or two."""
    remark = next(row.remark for row in result.rows if row.case == ALL)
    if "sprayed" in remark:
        return "flowlets" if remark.endswith("in flowlets") else remark.rsplit(": ", 1)[1]
    return remark.removeprefix("as ").partition(":")[0].partition(" than")[0].partition(" as ")[0]


def bits(asked: Plan, trial: Trial, spread: Spread) -> list[bytes]:
    """Of each flow of a trial, what the fabric hashes."""
    traffic = Traffic(routes_between(asked.pairs()), asked.contents(), asked.seed, (), asked.listening())
    return [field_bits(table.frame(0), table.stack, spread.fields) for table in traffic.tables(trial)]


def judge(score: Score, fabric: Fabric, seed: int) -> None:
    """Adds a run on a fabric, held against what the fabric does."""
    asked, result, records = measured(fabric, seed)
    spread = device(fabric.toml).spread
    assert spread is not None
    said = spoken(result)
    score.said[said] += 1
    if spread.spray_frames is not None:
        return
    first = records[0]
    truth = spread.chosen(bits(asked, first.trial, spread))
    streams = [stream.egress for stream in first.facts.streams if stream.egress is not None]
    members = [[one.port + 1 for one in egress.arrived if one.frames] for egress in streams]
    score.flows += len(truth)
    score.misplaced += sum(own != [port] for own, port in zip(members, truth, strict=True))
    ends = [row.figures["flow_share"].bounds for row in result.rows if row.group == MEMBER]
    if spread.stages is None:
        shares = fabric.weights or [1] * len(ends)
        score.members += 1
        pairs = [(end, 100 * share / sum(shares)) for end, share in zip(ends, shares, strict=True) if end is not None]
        score.inside += len(pairs) == len(ends) and all(low <= share <= high for (low, high), share in pairs)
    for row in result.rows:
        if row.group == FIELD and row.case in FIELDS[fabric.headers]:
            score.fields += 1
            score.wrong_fields += (row.remark == "decides") != (row.case in fabric.decides)
    before = bits(asked, records[-1].trial, spread)
    moves = list(zip(spread.chosen(before), spread.without_lost(before), strict=True))
    moved = sum(one != other for one, other in moves)
    needless = sum(one != other and one != spread.lost_port for one, other in moves)
    for row in result.rows:
        if row.group == EVENT:
            score.events += 1
            found = [row.figures[name].value for name in ("moved", "moved_needlessly") if name in row.figures]
            lost = any(one == spread.lost_port for one, _ in moves)
            score.wrong_events += found != ([moved, needless] if lost else [moved])


def main() -> None:
    """Prints a table of Markdown."""
    first, last = (int(text) for text in sys.argv[1:3]) if len(sys.argv) > 2 else (FIRST, LAST)
    print(
        f"| fabric, seeds {first} to {last - 1} | runs | said as it is | what else was said | all shares inside |",
        end="",
    )
    print(" flows, of these misplaced | fields, wrong | events, wrong |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (make, wanted) in KINDS.items():
        score = Score()
        for seed in range(first, last):
            judge(score, make(random.Random(f"{name} {seed}")), seed)
        runs, right = last - first, score.said.pop(wanted, 0)
        others = ", ".join(f"{text} {count}" for text, count in score.said.most_common())
        inside = f"{score.inside} of {score.members}" if score.members else ""
        flows = f"{score.flows}, {score.misplaced}" if score.flows else ""
        fields = f"{score.fields}, {score.wrong_fields}" if score.fields else ""
        events = f"{score.events}, {score.wrong_events}" if score.events else ""
        print(
            f"| {name} | {runs} | {right} ({right / runs:.1%}) | {others} | {inside} | {flows} | {fields} | {events} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
