"""Whether 'the CPUs limit the streams', as studies find it, is true: streams over random lines of the lab.

`python benchmarks/detection/cpu_limited.py [BEDS] [SEED]` (needs root). The truth is found by cause: half of the time
of all CPUs is taken at the same moments, so shortly that the queues of lines bridge it. What the CPUs limit becomes
slower by that share, what a line limits does not. The studies' own rule is asked beside it, which sees none of this: a
thread of the streams wanted a CPU for at least 90 % of the time, and a line is at most 95 % full.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.disturber import Disturber

from keisoku.ground.host.place import Place
from keisoku.ground.host.thread_watch import STREAMS, ThreadWatch
from keisoku.ground.lab.system.name import find_system
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.cpu_wanted import wanted_percent
from keisoku.running.study.truth import most_bps
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.trial import StreamTrial
from keisoku.subjects.system.load.bulk_client import MESSAGE_BYTES
from keisoku.subjects.system.load.bulk_servers import bulk_aims
from keisoku.subjects.system.load.target import Aim

PAIRS = 4
DURATION_S = 1.0
STOP_MS, EVERY_MS = 0.5, 1.0
FOLLOWS, DOES_NOT = 0.5, 0.25
"""Loss of rate per share of the CPUs that is taken: from the one on they limit, up to the other they do not."""
WANTED, FULL = 90.0, 0.95


def measure(rate_bps: int | None, streams: int) -> tuple[float, float, Quantity]:
    """Bits per second, loss of rate per share of the CPUs taken, and the time in which a CPU was wanted."""
    plain: list[float] = []
    slow: list[float] = []
    spans: list[tuple[int, int]] = []
    taken: list[float] = []
    line = "none" if rate_bps is None else str(rate_bps)
    with find_system(f"system?rates={line}", "system") as lab, bulk_aims(lab) as (aim,), ThreadWatch(STREAMS) as watch:
        for _ in range(PAIRS):
            bps, span = _once(aim, streams)
            plain.append(bps)
            spans.append(span)
            with Disturber(STOP_MS, EVERY_MS, together=True) as disturber:
                slow.append(_once(aim, streams)[0])
            taken += [one.taken_ns / one.span_ns for one in disturber.taken]
    seen = wanted_percent(watch.looks, spans)
    assert seen is not None
    lost = 1 - statistics.fmean(after / before for before, after in zip(plain, slow, strict=True))
    return statistics.fmean(plain), lost / statistics.fmean(taken), seen


def _once(aim: Aim, streams: int) -> tuple[float, tuple[int, int]]:
    """Bits per second after the warm-up, and the span of it by time.monotonic_ns()."""
    address, _, port = aim.server.rpartition(":")
    trial = StreamTrial(protocol="tcp", message_bytes=MESSAGE_BYTES, streams=streams, duration_s=DURATION_S)
    with StreamSession(Place(address, aim.namespace), int(port)) as session:
        began: list[int] = []

        def begin() -> None:
            began.append(time.monotonic_ns())

        rows = session.measure(trial, begin)
    begin_ns = began[0] + round(trial.warm_up_s * 1e9)
    settled_ns = max(row["settled_ns"] for row in rows)
    return 8e9 * sum(row["settled_bytes"] / row["settled_ns"] for row in rows), (begin_ns, begin_ns + settled_ns)


def said(bps: float, rate_bps: int | None, cpu: Quantity) -> str:
    """What the studies' rule makes of it."""
    lower, upper = cpu.value - (cpu.uncertainty or 0), cpu.value + (cpu.uncertainty or 0)
    if upper < WANTED or (rate_bps is not None and bps > FULL * most_bps(rate_bps, 1500)):
        return "refuted"
    return "held" if lower >= WANTED else "undecided"


def main() -> None:
    """Prints a row for each bed, and the table."""
    beds, seed = (int(given) for given in [*sys.argv[1:], *("20", "1")[len(sys.argv) - 1 :]])
    counts: Counter[tuple[str, str]] = Counter()
    for number in range(beds):
        drawn = random.Random(f"{seed} {number}")
        rate_bps = None if drawn.random() < 0.4 else round(10 ** drawn.uniform(7, 9.3))
        streams = drawn.choice((1, 1, 2, 4))
        bps, loss, cpu = measure(rate_bps, streams)
        truth = "limited" if loss >= FOLLOWS else "not limited" if loss <= DOES_NOT else "between"
        answer = said(bps, rate_bps, cpu)
        counts[truth, answer] += 1
        line = "–" if rate_bps is None else f"{rate_bps / 1e6:.0f}"
        print(
            f"{number}: line {line} Mb/s, {streams} streams: {bps / 1e6:.1f} Mb/s, {loss:.2f} lost per share taken,"
            f" CPU wanted {cpu.value:.0f} ± {cpu.uncertainty or 0:.0f} %: {truth}, {answer}",
            flush=True,
        )
    print("| truth | held | undecided | refuted |\n|---|---|---|---|")
    for truth in ("limited", "between", "not limited"):
        print(f"| {truth} | " + " | ".join(str(counts[truth, one]) for one in ("held", "undecided", "refuted")) + " |")


if __name__ == "__main__":
    main()
