"""Packet pairs on paths whose truth is known: error and time, beside what pathrate published or was seen to take.

Rates in Mb/s. Run: python benchmarks/speed/path_pair.py [--repetitions 5]. Needs root.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field

import numpy as np
from path import off

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.cross_traffic import CrossTraffic
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.run.result import Result
from keisoku.subjects.path.packet_pair.analysis import analyse
from keisoku.subjects.path.packet_pair.settings import PacketPairSettings
from keisoku.subjects.path.packet_pair.stages import measure
from keisoku.subjects.path.train.session import TrainSession

GIGABIT, FAST, SLOW = 1_000_000_000, 100_000_000, 10_000_000
REPETITIONS = 5


@dataclass(frozen=True)
class Case:
    """One path; `limit` is the largest relative error that is right."""

    name: str
    hops: list[Hop]
    truth_bps: float
    limit: float
    cross: list[CrossTraffic] = field(default_factory=list)
    flag: str | None = None
    figure: str = "capacity"
    beside: str = ""
    """What pathrate 2.4.1 did on a path like this."""


CASES = (
    Case("100 Mb/s, quiet", [Hop(GIGABIT), Hop(FAST)], FAST, 0.03, beside="45 s"),
    Case(
        "100 Mb/s under 40 % load",
        [Hop(GIGABIT), Hop(FAST), Hop(GIGABIT)],
        FAST,
        0.03,
        [CrossTraffic(2, share=0.4)],
        beside="99–102 Mb/s in 17 min 42 s",
    ),
    Case(
        "100 Mb/s under 80 % load",
        [Hop(GIGABIT), Hop(FAST), Hop(GIGABIT)],
        FAST,
        0.05,
        [CrossTraffic(2, share=0.8, sizes_bytes=(40, 576, 1500))],
    ),
    Case("1 Gb/s, jumbo frames", [Hop(GIGABIT, mtu=9100, queue_bytes=600_000)], GIGABIT, 0.03),
    Case(
        "token bucket, 15 000 byte at 10 Mb/s",
        [Hop(GIGABIT), Hop(SLOW, bucket_bytes=15_000)],
        SLOW * 1500 / 1514,
        0.03,
        flag="token-bucket",
        figure="sustained_rate",
        beside="no answer in 150 s",
    ),
    Case("two stages of 100 Mb/s in a hop", [Hop(FAST, stages=(FAST,))], FAST, 0.03, flag="hidden-l2-stage"),
)


def once(case: Case) -> tuple[Result, float]:
    """One measurement, forward and reverse, and how long it took in s."""
    with (
        PathLab(case.hops, cross_traffic=case.cross) as lab,
        off(lab.core),
        FarEnd("path", Place(lab.target_address, lab.target_namespace)) as server,
    ):
        settings = PacketPairSettings(host=lab.target_address, port=server.port)
        began_s = time.monotonic()
        with TrainSession(Place(lab.target_address, lab.tester_namespace), server.port) as session:
            facts = measure(session, settings)
            trains = session.log.trains()
        noise = facts["stamp_noise_ns"]
        assert isinstance(noise, dict)
        found = analyse(trains, settings, noise, facts)
        return found, time.monotonic() - began_s


def value(found: Result, figure: str) -> float:
    """bit/s, forward."""
    row = next(row for row in found.rows if row.case == "forward")
    return row.figures[figure].value if figure in row.figures else float("nan")


def main() -> None:
    """Prints a line for each path, and says where the median is off by more than it may be."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repetitions", type=int, default=REPETITIONS)
    repetitions = options.parse_args().repetitions
    print(f"{'path':38} {'truth':>9} {'median':>9} {'worst':>7} {'time':>7}  flagged  pathrate")
    for case in CASES:
        values, times, flagged = [], [], 0
        for _ in range(repetitions):
            found, took_s = once(case)
            values.append(value(found, case.figure))
            times.append(took_s)
            flagged += case.flag is not None and found.flagged(case.flag)
        errors = np.abs(np.array(values) / case.truth_bps - 1)
        off_limits = not np.median(errors) <= case.limit or (case.flag is not None and flagged <= repetitions // 2)
        flags = "" if case.flag is None else f"{flagged}/{repetitions}"
        print(
            f"{case.name:38} {case.truth_bps / 1e6:9.2f} {np.median(values) / 1e6:9.2f} {100 * errors.max():6.2f}%"
            f" {np.median(times):6.2f}s  {flags:7}  {case.beside}{'  WRONG' if off_limits else ''}",
            flush=True,
        )


if __name__ == "__main__":
    main()
