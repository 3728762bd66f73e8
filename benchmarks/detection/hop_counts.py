"""How often `keisoku convergence --hops` tells micro-loops from other ways, in trials with several events.

Run it by itself: `python benchmarks/detection/hop_counts.py [TRIALS] [FIRST_SEED]`; prints a table. Devices are
simulated, and each one is drawn by its seed: how many events a round has, how many rounds, which hop counts the events'
ways have and for which events, which hop counts their loops have, and for how long. A way and a loop of one trial
differ in hops. `first to last` is the rule as it was: the time from the first to the last frame of a flow, whatever is
between them.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass

from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.device import parse_device
from keisoku.subjects.device.analysis.hops import hop_counts
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import reasons

FPS = 5000
SENT_HOPS = 10
STABLE_S = 0.1


@dataclass(frozen=True)
class Drawn:
    """A trial whose truth is known: spells of a hop count, each as its first frame and the one behind it."""

    names: int
    rounds: int
    flows: int
    watch_s: float
    loops: dict[int, list[tuple[int, int]]]
    ways: dict[int, list[tuple[int, int]]]


def drawn(seed: int) -> Drawn:
    """One trial with at least two events."""
    chance = random.Random(f"hop counts {seed}")
    names, rounds, flows = chance.randint(1, 3), chance.randint(1, 4), chance.choice([1, 1, 3, 10])
    watch_s = chance.choice([0.2, 0.5, 1.0])
    own_fps, steps = FPS / flows, 2 * names
    watch = watch_s * own_fps
    starts = [STABLE_S * own_fps + place * watch for place in range(steps * rounds)]
    hops = chance.sample(range(1, SENT_HOPS), 4)
    loops: dict[int, list[tuple[int, int]]] = {}
    ways: dict[int, list[tuple[int, int]]] = {}
    taken: list[tuple[int, int]] = []
    for found in hops[: chance.randint(1, 2)]:
        # The same loop comes back at some events of each round, each time for a time of its own.
        steps_of_loop = set(chance.sample(range(steps), chance.randint(1, steps)))
        for place, start in enumerate(starts):
            if place % steps in steps_of_loop:
                first = round(start + chance.uniform(0, 0.02) * watch)
                length = max(1, round(10 ** chance.uniform(-3, math.log10(0.06)) * watch))
                if all(first + length <= begin or first >= end for begin, end in taken):
                    loops.setdefault(found, []).append((first, first + length))
                    taken.append((first, first + length))
    # A way is used from an event until another one, and again in each round; never two ways at a time.
    end_step = 0
    for found in hops[2 : 2 + chance.randint(0, 2)]:
        if end_step >= steps - 1:
            break
        begin_step = chance.randrange(end_step, steps - 1)
        end_step = chance.randint(begin_step + 1, steps - 1)
        for number in range(rounds):
            first = round(starts[number * steps + begin_step] + 0.1 * watch * chance.random())
            last = round(starts[number * steps + end_step] + 0.1 * watch * chance.random())
            for one, behind in without(first, last, taken):
                ways.setdefault(found, []).append((one, behind))
                taken.append((one, behind))
    return Drawn(names, rounds, flows, watch_s, loops, ways)


def without(first: int, behind: int, taken: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is left of a spell that others are not in."""
    left = [(first, behind)]
    for begin_, end in taken:
        left = [
            piece
            for one, last in left
            for piece in ((one, min(last, begin_)), (max(one, end), last))
            if piece[0] < piece[1]
        ]
    return left


def carried(own: Drawn) -> tuple[Result, TrialRecord]:
    """The procedure on a simulated device that does what was drawn."""
    names = [f"event-{number}" for number in range(own.names)]
    toml = "".join(f'[[interruption]]\nevent = "{name}"\nduration_ns = 1_000_000\n' for name in names)
    for found, spells in {**own.loops, **own.ways}.items():
        frames = [frame for first, behind in spells for frame in range(first, behind)]
        toml += f'[[rewrite]]\nchanges = ["IP.ttl=-{SENT_HOPS - found}"]\nframes = {frames}\n'
    settings = {"rate_fps": FPS, "stable_s": STABLE_S, "watch_s": own.watch_s, "rounds": own.rounds, "hops": True}
    plan = parse(
        {
            "methods": ["convergence"],
            "dut": "sim:drawn",
            "frame_bytes": [64],
            "streams": own.flows,
            "convergence": {"event": ",".join(names), **settings},
        }
    )
    ports = [int(text) for _, text in plan.port_fields()]
    traffic = Traffic(routes_between(plan.pairs()), plan.contents(), plan.seed, plan.modifiers)
    engine = SimulatedEngine(parse_device(toml, "drawn"), ports, traffic)
    method = begin("convergence", plan, engine.capabilities, Bias(exact=True, resolution_ns=1), {})
    trial = next(method)
    engine.start(trial, stream=1, seed=1)
    facts, seconds = engine.finish()
    record = TrialRecord(
        index=0,
        method="convergence",
        trial=trial,
        facts=facts,
        started_at="",
        engine_seconds=seconds,
        invalid_because=reasons(trial, facts),
    )
    try:
        method.send(record)
    except StopIteration as stop:
        return stop.value, record
    raise RuntimeError(f"the trial was not used: {record.invalid_because}")


def first_to_last(record: TrialRecord, watch_s: float) -> dict[int, bool]:
    """The rule as it was, by hop count; with one flow's spells it saw the time between the events."""
    spans = {one.found: (one.last_ns - one.first_ns) < 0.5 * watch_s * 1e9 for one in hop_counts(record)}
    return {found: short and found < SENT_HOPS for found, short in spans.items()}


def main() -> None:
    """Prints the table."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 180
    begin_seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    hits = {"first to last": 0, "frames a round": 0}
    alarms, loops, ways = dict(hits), 0, 0
    for seed in range(begin_seed, begin_seed + trials):
        own = drawn(seed)
        result, record = carried(own)
        rows = {row.case: row.remark == "a loop" for row in result.rows if row.group == "Hop count"}
        now = {int(case.split(" to ")[1]): is_loop for case, is_loop in rows.items()}
        # A loop of a few frames may be within the interruption: then none of them arrived.
        seen = own.loops.keys() & now.keys()
        loops, ways = loops + len(seen), ways + len(own.ways)
        for name, said in (("first to last", first_to_last(record, own.watch_s)), ("frames a round", now)):
            hits[name] += sum(said[found] for found in seen)
            alarms[name] += sum(said[found] for found in own.ways)
        if any(now[found] for found in own.ways) or not all(now[found] for found in seen):
            print(f"seed {seed}: {own.names} events, {own.rounds} rounds: {now}", file=sys.stderr)
    print(f"| rule | loops found, of {loops} | ways taken for loops, of {ways} |\n|---|---|---|")
    for name in hits:
        print(f"| {name} | {hits[name]} | {alarms[name]} |")


if __name__ == "__main__":
    main()
