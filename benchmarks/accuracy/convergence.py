"""Whether interruptions are recovered to one frame gap each: 200 seeded outages, in virtual time or on the lab's faulty
device.

    python benchmarks/accuracy/convergence.py [virtual|lab] [OUTAGES] [FIRST]

The outages last 1 ms to 3 s and concern 1 to 1000 flows. The truth is what the device was told: of the simulated device
to the picosecond, of `lab:faulty` by the kernel's clock, on which its program decides about each frame, and by the
frames that it counted as dropped. docs/how-we-know/devices.md has the tables. The seeds are not those of
tests/simulated/test_convergence.py, with which the bounds were made.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.lab_trials import on_lab
from support.simulated_trials import carry_out, device, plan
from support.trials import drive

from keisoku.errors import EngineError
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.analysis.outage import Impact, frame_gap_ns, reaches
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.trial_record import TrialRecord

STABLE_S = 0.1
PUNCTUAL = 1.0
"""Of a frame gap."""
CLASSES = (("1 to 10", 1, 10), ("11 to 100", 11, 100), ("101 to 1000", 101, 1000))


@dataclass
class Case:
    """One outage, and what was found of it."""

    flows: int
    length_ns: int
    flows_found: int = 0
    covered: int = 0
    within_gap: int = 0
    counts_right: bool = True
    worst_gaps: float = 0.0
    punctual: int = 0
    """Flows whose frames the tester's host delayed by `PUNCTUAL` of a frame gap at most, before or in the device."""
    punctual_within: int = 0


def drawn(number: int) -> tuple[Case, random.Random]:
    """The case of this number."""
    chance = random.Random(f"soak {number}")
    flows = round(10 ** chance.uniform(0, 3))
    return Case(flows, round(10 ** chance.uniform(6, math.log10(3e9)))), chance


def judge(case: Case, record: TrialRecord, impacts: list[Impact], step_ns: int) -> None:
    """Compares each flow with the truth."""
    for impact in impacts:
        truth_ns = case.length_ns + step_ns * impact.flow
        gap_ns = frame_gap_ns(record, record.facts.streams[impact.flow])
        if not impact.is_affected:
            case.covered += truth_ns < gap_ns
            case.within_gap += truth_ns < gap_ns
            case.punctual += 1
            case.punctual_within += truth_ns < gap_ns
            continue
        off_ns = abs(impact.interruption.likely - truth_ns)
        latency = record.facts.streams[impact.flow].tracked.latency
        # A frame is stamped before the device decides about it: by a time that is part of the latency.
        transit_ns = latency.max_ns - latency.min_ns if latency else 0.0
        found = impact.interruption
        case.covered += found.lowest - transit_ns <= truth_ns <= found.highest + transit_ns
        case.within_gap += off_ns <= gap_ns
        # An interval is wider than a gap on either side by what frames left late.
        late_ns = (found.highest - found.lowest) / 2 - gap_ns
        if late_ns + transit_ns <= PUNCTUAL * gap_ns:
            case.punctual += 1
            case.punctual_within += off_ns <= gap_ns
        case.worst_gaps = max(case.worst_gaps, off_ns / gap_ns)
    case.flows_found = len(impacts)


def virtual(number: int) -> Case:
    """On a simulated device."""
    case, chance = drawn(number)
    begin_ns, step_ns = chance.randrange(50_000_000), chance.choice([0, 0, 1000, 50_000])
    rate_fps = chance.uniform(20_000, 100_000)
    toml = (
        f'[[interruption]]\nevent = "path-lost"\nbegin_ns = {begin_ns}\nduration_ns = {case.length_ns}\n'
        f"step_ns = {step_ns}\n"
    )
    watch_s = (begin_ns + case.length_ns + step_ns * case.flows) / 1e9 + 0.1
    own = {"event": "path-lost", "rate_fps": rate_fps, "stable_s": STABLE_S, "watch_s": watch_s}
    _, records = carry_out(plan("convergence", frame_bytes=[64], streams=case.flows, convergence=own), device(toml))
    judge(case, records[-1], reaches(records[-1])[1].impacts, step_ns)
    return case


def real(number: int) -> Case:
    """On the lab's faulty device."""
    case, chance = drawn(number)
    own = {
        "event": "path-lost",
        "rate_fps": chance.uniform(5_000, 20_000),
        "stable_s": STABLE_S,
        "watch_s": case.length_ns / 1e9 + 0.1,
    }
    name = f"faulty?outage={case.length_ns}ns"
    source = {"methods": ["convergence"], "dut": f"lab:{name}", "frame_bytes": [64], "streams": case.flows}
    waits = {"learning_wait_s": 0.05, "drain_s": 0.1, "rest_s": 0.0}
    made = parse({**source, "convergence": own, "phases": waits})
    with Lab(name) as lab:
        engine = on_lab(made, lab)
        try:
            method = begin("convergence", made, engine.capabilities, Bias(), {})
            _, records = drive("convergence", method, engine, seed=lambda index: index, streams=4096)
        except EngineError as error:
            # The lab refuses an outage that its host made late: it is not measured, and the next one may be.
            print(f"outage {number}: {error}", flush=True)
            return case
        finally:
            engine.close()
        dropped = lab.applied().dropped
    lost = sum(one.facts.tracked.lost_frames for one in records)
    case.counts_right = lost == dropped
    record = max(records, key=lambda one: (one.valid, -one.facts.sent.interrupted_ns))
    if record.valid:
        judge(case, record, reaches(record)[1].impacts, 0)
    return case


def main() -> None:
    """Prints the table of one place."""
    place = sys.argv[1] if len(sys.argv) > 1 else "virtual"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    cases = []
    for number in range(first, first + count):
        cases.append({"virtual": virtual, "lab": real}[place](number))
        if place == "lab":
            print(cases[-1], flush=True)
    heads = ["flows", "outages", "not measured", "flows compared", "truth in interval", "within ± 1 frame gap", "worst"]
    heads.append("of those with punctual frames")
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for name, least, most in CLASSES:
        own = [case for case in cases if least <= case.flows <= most]
        found = sum(case.flows_found for case in own)
        print(
            f"| {name} | {len(own)} | {sum(not case.flows_found for case in own)} | {found} "
            f"| {sum(case.covered for case in own)} | {sum(case.within_gap for case in own)} "
            f"| {max((case.worst_gaps for case in own), default=0):.2f} gaps "
            f"| {sum(case.punctual_within for case in own)} of {sum(case.punctual for case in own)} |"
        )
    compared = [case for case in cases if case.flows_found]
    print(f"counts equal to the device's: {sum(case.counts_right for case in compared)} of {len(compared)}")


if __name__ == "__main__":
    main()
