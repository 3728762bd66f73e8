"""Whether `keisoku marking` recovers hidden curves of the lab's serialising line, in real time.

    python benchmarks/accuracy/marking_line.py [SEED] [CASES]

Every fourth curve is a step. The truth are the settings of `lab:serial`; what its line marked is also counted, and
compared with what the tester saw. Needs root and a quiet machine; a case takes about 15 s.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.lab_trials import on_lab
from support.trials import drive

from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.analysis.marks import marked
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.procedure.rfc3168.marking import CURVE

RATE = "20Mbps"
SIZE = 1000
MOST_FPS = 6000
ATTEMPTS = 5
SLACK_BYTES = SIZE
"""The router hands a frame to the line some microseconds after it came, so a queue is compared to within a frame."""


def first(device: str) -> tuple[Row | None, int, dict[str, int]]:
    """The row of the first attempt that has figures, however late the line delivered: the queue by which it marks
    does not depend on that. No row if the host disturbed all. Besides the marks that the tester saw in that attempt,
    and the counts of the line."""
    seen, line = 0, dict[str, int]()
    for _ in range(ATTEMPTS):
        row, seen, line = measured(device)
        if row.figures:
            return row, seen, line
    return None, seen, line


def measured(device: str, mark: str = "ce") -> tuple[Row, int, dict[str, int]]:
    """The row of the curve, the marks that the tester saw, and the counts of the line."""
    source = {
        "methods": ["marking"],
        "dut": f"lab:{device}",
        "frame_bytes": [SIZE],
        "phases": {"learning_wait_s": 0.05, "drain_s": 0.3, "rest_s": 0.2},
        "marking": {"trial_s": 4.0, "saturation_s": 0.5, "maximum_fps": MOST_FPS, "mark": mark},
    }
    plan = parse(source)
    with Lab(device) as lab:
        engine = on_lab(plan, lab)
        try:
            method = begin("marking", plan, engine.capabilities, Bias(exact=True), {})
            result, records = drive("marking", method, engine, seed=lambda index: index, streams=64)
        finally:
            engine.close()
        line = lab.line()
    assert result is not None
    marks = [marked(stream) for record in records for stream in record.facts.streams]
    seen = sum(sum(one.ce.counts) + one.ce.negative for one in marks if one is not None)
    return next(row for row in result.rows if row.group == CURVE), seen, line


def near(figure: Quantity | None, truth: float, slack: float) -> bool:
    """Whether a figure's interval, widened by the slack, has the truth."""
    if figure is None or figure.interval is None:
        return False
    return figure.interval.lower - slack <= truth <= figure.interval.upper + slack


def main() -> None:
    """A line for each curve, then how many were recovered."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    chance = random.Random(seed)
    whole = none = 0
    for number in range(cases):
        least = chance.randrange(10_000, 60_000)
        most = least if number % 4 == 0 else least + chance.randrange(20_000, 80_000)
        share = round(chance.uniform(0.1, 0.9), 2)
        device = f"serial?rate={RATE}&queue=300kB&mark=curve&least={least}B&most={most}B&probability={share}"
        row, seen, line = first(f"{device}&seed={seed + number}")
        marks = f"marks {seen} of {line['marked_packets']}"
        late = f"late {line['late_packets'] / line['in_packets']:.1%}, at most {line['max_late_ns'] / 1e6:.2f} ms"
        if row is None:
            none += 1
            print(f"{number}: the host disturbed {ATTEMPTS} attempts; {marks}; {late}", flush=True)
            continue
        hits = [near(row.figures.get("kmin"), least, SLACK_BYTES), near(row.figures.get("kmax"), most, SLACK_BYTES)]
        if most > least:
            hits.append(near(row.figures.get("pmax"), 100 * share, 0.0))
        whole += all(hits)
        figures = {name: figure.bounds or figure.value for name, figure in row.figures.items()}
        print(f"{number}: truth {least} {most} {share}: {hits} {figures} {row.remark}; {marks}; {late}", flush=True)
    print(f"of {cases} curves all inside: {whole}; not measured: {none}")
    for by in ("pie", "codel"):
        row, seen, line = measured(f"serial?rate={RATE}&queue=300kB&mark={by}&target=10ms&interval=30ms")
        print(f"{by}: {row.remark}; marks {seen} of {line['marked_packets']}")


if __name__ == "__main__":
    main()
