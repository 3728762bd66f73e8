"""RFC 9693's procedures on real devices whose truth is known, and the tester's own limits. Needs root.

`python benchmarks/accuracy/connections.py hidden [FIRST] [COUNT]`: capacities and rates of COUNT (default 100)
simulated devices whose tables are hidden, in virtual time. `truth [FIRST] [COUNT]`: COUNT (default 12) NATs, firewalls
and NAT64s of the kernel by chance, with seeds from FIRST (default 1) on: capacities against the size of the table, and
connections against the kernel's own events. `teardown [COUNT] [REPETITIONS]`: the tear-down of COUNT connections
(default 50 000) against the times at which the kernel itself ended each. `ceiling`: the highest rate of new connections
of the tester, through a router that has no table. `soak [TRIALS]`: 1 million connections a trial (default 20), and what
memory the tester has after each.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.conntrack_events import DESTROY, NEW, announced
from support.hidden_tables import hidden
from support.lab_trials import measured, on_lab
from support.simulated_trials import carry_out, device, plan, untouched
from support.trials import drive, never, of_no_use

from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.report import digits
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.validity import reasons

WAITS = {"learning_wait_s": 0.05, "drain_s": 0.3, "rest_s": 0}
DEVICES = (
    ("nat", "udp", 64),
    ("firewall", "udp", 64),
    ("nat", "tcp", 76),
    ("firewall", "tcp", 76),
    ("nat64", "udp", 84),
)
MILLION = 1_000_000
TORN_DOWN = (("nat", 1, 25_000), ("firewall?table=250000", 10, 2_000))
"""Devices, which part of the connections each gets, and at how many a second they are opened: nftables looks through
all for each new one where their number is limited (`ct count`)."""


def hidden_truth(first: int = 1, count: int = 100) -> None:
    """Capacities within a thousandth or one connection, and rates."""
    errors: list[float] = []
    held = inside = 0
    for seed in range(first, first + count):
        table, capacity = hidden(seed)
        figure = _of_hidden("connection_capacity", table, connections=512, most_connections=8_000)
        assert figure.bounds is not None
        held += figure.bounds[0] <= capacity <= figure.bounds[1] and capacity - figure.value <= max(1, capacity / 1000)
        rate = random.Random(seed).uniform(2_000, 2_000_000)
        figure = _of_hidden(
            "connection_rate", f"entries = 100_000\nnew_per_second = {rate}\nwaiting = 0\n", connections=3000
        )
        assert figure.bounds is not None
        inside += figure.bounds[0] <= rate <= figure.bounds[1]
        errors.append(100 * (figure.value / rate - 1))
    print(f"capacity right, within 0.1 % or one connection: {held} of {count}")
    print(f"rate inside the interval: {inside} of {count}, error {min(errors):+.2f} … {max(errors):+.2f} %")


def _of_hidden(method: str, table: str, **settings: Any) -> Quantity:
    waits = {"learning_wait_s": 0, "drain_s": 0.01, "rest_s": 0}
    own = plan(method, frame_bytes=[64], phases=waits, **{method: settings})
    made = device(f"ports = 2\nlink_bits_per_second = 10_000_000_000\n[connections]\n{table}")
    result, _ = carry_out(own, made, untouched)
    return next(iter(result.rows[0].figures.values()))


def truth(first: int = 1, count: int = 12) -> None:
    """Capacities, and every opened connection against the kernel's announcement."""
    print("| seed | device | connections of | table | measured | inside | trials with as many connections announced |")
    for seed in range(first, first + count):
        family, transport, size = DEVICES[(seed - first) % len(DEVICES)]
        table = round(1000 * 20 ** random.Random(seed).random())
        figure, equal, trials = _capacity(f"{family}?table={table}", transport, size)
        assert figure.bounds is not None
        inside = "yes" if figure.bounds[0] <= table <= figure.bounds[1] else "no"
        said = digits.text(figure)
        print(f"| {seed} | {family} | {transport} | {table} | {said} | {inside} | {equal} of {trials} |", flush=True)


def _capacity(device: str, transport: str, size: int) -> tuple[Quantity, int, int]:
    """The capacity; in how many of how many trials the kernel announced as many connections as were opened."""
    compared: list[bool] = []
    with Lab(device) as lab, announced(lab, NEW) as new:

        def counted(trial: Trial, facts: Facts) -> bool:
            told = len(new.take())
            assert facts.opening is not None and facts.opened is not None
            if spoiled := of_no_use(trial, facts):
                return spoiled
            compared.append(told == facts.opening.sent.offered_frames - facts.opened.refused.count)
            return False

        own: dict[str, Any] = {
            "connections": 4096,
            "open_fps": 10_000,
            "most_connections": 1 << 16,
            "transport": transport,
        }
        result, _ = measured(lab, "connection_capacity", size, counted, waits=WAITS, **own)
    return result.rows[0].figures["connections"], sum(compared), len(compared)


def teardown(count: int = 50_000, repetitions: int = 10) -> None:
    """The measured tear-down against the kernel's own times of the ends of connections."""
    print("| device | keisoku's rate | calls | ended / arrived | the call, less that for one | kernel |")
    for family, part, open_fps in TORN_DOWN:
        figure, calls, alone_s = _torn_down(family, count // part, open_fps, repetitions)
        for ended, arrived, call_s, kernel_s in calls:
            print(
                f"| {family} | | | {ended} / {arrived} | {1e3 * (call_s - alone_s):.2f} ms | {1e3 * kernel_s:.2f} ms |"
            )
        off = [100 * ((call_s - alone_s) / kernel_s - 1) for _, _, call_s, kernel_s in calls]
        said = digits.text(figure) if figure is not None else "too few valid trials"
        middle = f"median {statistics.median(off):+.1f} %, {min(off):+.1f} … {max(off):+.1f} %"
        print(f"| {family} | {said} | {len(calls)} | | {middle} of the kernel's | |", flush=True)


def _torn_down(
    device: str, count: int, open_fps: int, repetitions: int
) -> tuple[Quantity | None, list[tuple[int, int, float, float]], float]:
    """The rate; of each time many connections were forgotten: how many the kernel ended, how many had arrived, how long
    the call took, and from the first end to the last by the kernel's own clock; and how long a call for one took."""
    calls: list[tuple[int, int, float, float]] = []
    alone: list[float] = []
    before = 0
    with Lab(device) as lab, announced(lab, DESTROY) as gone:

        def counted(trial: Trial, facts: Facts) -> bool:
            nonlocal before
            stops, opened = gone.take(), facts.opened
            assert opened is not None and opened.forgot_ns is not None and trial.opening is not None
            if len(stops) == 1:
                alone.append(opened.forgot_ns / 1e9)
            elif stops:
                calls.append((len(stops), before, opened.forgot_ns / 1e9, (max(stops) - min(stops)) / 1e9))
            before = trial.opening.connections - opened.refused.count
            return False

        own: dict[str, Any] = {"connections": count, "open_fps": open_fps, "repetitions": repetitions}
        result, _ = measured(lab, "connection_teardown", 64, counted, waits=WAITS, **own)
    return result.rows[0].figures.get("rate"), calls, statistics.median(alone)


def ceiling() -> None:
    """The highest rate at which the tester opens connections, each answered, through a router without a table."""
    print("| connections of a trial | rate |")
    for connections in (20_000, 200_000, MILLION):
        with Lab("router") as lab:
            own: dict[str, Any] = {"connections": connections, "forgotten_s": 0.1, "resolution_percent": 5}
            result, _ = measured(lab, "connection_rate", 64, never, waits=WAITS, **own)
        row = result.rows[0]
        figure = row.figures.get("rate")
        print(f"| {connections:,} | {digits.text(figure) if figure else '–'} {row.remark} |")


def soak(trials: int = 20) -> None:
    """1 million connections, again and again, at 100 000 a second."""
    print("| trial | s | connections valid | resident memory, MiB | invalid because |")
    begun_s = time.monotonic()
    memory: list[float] = []

    def looked(trial: Trial, facts: Facts) -> bool:
        assert facts.opened is not None and trial.opening is not None
        valid = trial.opening.connections - facts.opened.refused.count - facts.opened.forgotten.count
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        memory.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
        why = "; ".join(reasons(trial, facts))
        print(
            f"| {len(memory)} | {time.monotonic() - begun_s:.0f} | {valid:,} | {memory[-1]:.0f} | {why} |", flush=True
        )
        return False

    with Lab("router") as lab:
        source = {"methods": ["connection_rate"], "dut": "lab:router", "frame_bytes": [64], "phases": WAITS}
        asked = parse(
            source | {"connection_rate": {"connections": MILLION, "maximum_fps": 100_000, "forgotten_s": 0.1}}
        )
        with closing(on_lab(asked, lab)) as tester:
            for number in range(trials):
                own = begin("connection_rate", asked, tester.capabilities, Bias(), {})
                drive("connection_rate", own, tester, looked, streams=16, first=number, most=1)
    print(
        f"after the second trial {memory[1]:.0f} MiB, after the last {memory[-1]:.0f} MiB, most {max(memory):.0f} MiB"
    )


def main() -> None:
    """Measure, and print."""
    works: dict[str, Callable[..., None]] = {
        "hidden": hidden_truth,
        "truth": truth,
        "teardown": teardown,
        "ceiling": ceiling,
        "soak": soak,
    }
    if len(sys.argv) < 2 or sys.argv[1] not in works:
        sys.exit(str(__doc__))
    works[sys.argv[1]](*(int(given) for given in sys.argv[2:]))


if __name__ == "__main__":
    main()
