"""What a limit of one client's port does to a whole system, on real nginx and real TCP: four mechanisms in the lab.

Three have an answer that is known beforehand, the fourth is E4's own case, an overloaded server:

- `waste`: UDP that a slow last line cannot deliver takes the shared line from others. The best limits are from the
  rate of that last line, 20 Mb/s, to where the other client's own line is full, 25 Mb/s (published: 36.7 to
  90.1 Mb/s at 20).
- `fifo`: bulk TCP and requests share a queue. The total stays what it is; fairness (sum of logarithms) is best below.
- `processor`: hosts are the bound. Every limit costs more than it gains: the answer is no limit.
- `overload`: more connections than the accept queue holds, four of five clients impatient: SYNs repeat, and the server
  works for clients who have gone. A limit of the patient one frees it; a tight one leaves it idle.

Each is shown as a curve (limits in random order, some times over) and searched by `keisoku system limit`'s own search.
Needs root, nginx and ab. Asserts nothing. Not part of `make bench`.

Run: python benchmarks/accuracy/system_mechanisms.py [waste fifo processor overload] [--repetitions 3] [--seconds 2]
         [--no-search]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from keisoku.ground.lab.available import available
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.system.interval_log import IntervalLog, kept_intervals
from keisoku.subjects.system.objective import Goal, Objective
from keisoku.subjects.system.observation import Observation
from keisoku.subjects.system.opening import open_system
from keisoku.subjects.system.search.analysis import NAME
from keisoku.subjects.system.search.asking import again
from keisoku.subjects.system.search.candidate import Limit, limit_text
from keisoku.subjects.system.search.measurement import carry_out
from keisoku.subjects.system.search.search import LimitFound
from keisoku.subjects.system.settings import LimitSettings
from keisoku.subjects.system.system import System

MEGA = 1e6
OTHERS = 0.6
"""Of what the server can do: enough is left to be rid of what came while it was overloaded."""


@dataclass(frozen=True)
class Mechanism:
    """A system under load, the client whose port is limited, what is to be best, and the limits of its curve."""

    system: str
    port: str
    goal: Goal
    floor_mbps: float
    curve_mbps: tuple[float | None, ...]
    known: str
    settle_s: float = 1.5


MECHANISMS = {
    "waste": Mechanism(
        "lab:system?rates=20M,75M&uplink=100M&queue=300k&file=100k&udp=95M,-&load=-,8&keepalive=yes&with=ab",
        "client1",
        Goal.SUM_BYTES,
        5,
        (None, 80, 60, 40, 30, 25, 22, 20, 18, 15, 10),
        "best between 20 and 25 Mb/s, at twice the total without a limit or more",
    ),
    "fifo": Mechanism(
        "lab:system?clients=2&uplink=100M&queue=300k&file=50k&bulk=6,-&load=-,6&with=ab",
        "client1",
        Goal.SUM_LOGS,
        5,
        (None, 90, 80, 60, 50, 40, 30, 20, 10),
        "total flat down to where the other client has all it can use; sum of logarithms best in between",
    ),
    "processor": Mechanism(
        "lab:system?clients=2&file=100k&load=20,20&keepalive=yes",
        "client1",
        Goal.SUM_BYTES,
        50,
        (None, 4000, 2000, 1000, 500, 200, 100),
        "no limit",
    ),
    "overload": Mechanism(
        "lab:system?clients=5&file=100k&gzip=6&backlog=2048&load=1500,400,400,400,400"
        "&rate=-,{rate},{rate},{rate},{rate}&timeout=60s,500ms,500ms,500ms,500ms",
        "client1",
        Goal.SUM_REQUESTS,
        1,
        (None, 40, 25, 16, 10, 7, 5, 3, 1),
        "a maximum within, as in E4",
        settle_s=8.0,
    ),
}


def sized(name: str) -> str:
    """A system in which the four others together ask for `OTHERS` of what its server can do; measured, if need be."""
    if "{rate}" not in name:
        return name
    alone = name.replace("400,400,400,400", "-,-,-,-").replace("{rate},{rate},{rate},{rate}", "-,-,-,-")
    with open_system(alone) as system:
        system.observe(4.0)
        able = system.observe(4.0).requests_per_second
    return name.replace("{rate}", f"{max(1, round(OTHERS * able / 4))}")


def curve(system: System, mechanism: Mechanism, repetitions: int, seconds: float) -> dict[Limit, list[Observation]]:
    """Every limit of the curve so many times, in random order."""
    found: dict[Limit, list[Observation]] = {mbps and mbps * MEGA: [] for mbps in mechanism.curve_mbps}
    order = random.Random(1)
    for _ in range(repetitions):
        for limit in order.sample(list(found), len(found)):
            system.limit({mechanism.port: limit})
            system.observe(mechanism.settle_s)
            found[limit].append(system.observe(seconds))
    system.limit({})
    return found


def table(mechanism: Mechanism, shown: dict[Limit, list[Observation]]) -> str:
    """The curve as Markdown: means with twice their standard error."""
    objective = Objective(mechanism.goal)
    clients = [client.name for client in next(iter(shown.values()))[0].clients]
    rates = " | ".join(f"{name}, Mb/s | {name}, requests/s" for name in clients)
    lines = [
        f"| limit of {mechanism.port} | {rates} | total, Mb/s | total, requests/s | SYNs repeated/s | "
        f"{mechanism.goal.value} (ln) |",
        "|---" * (2 * len(clients) + 5) + "|",
    ]
    for limit, seen in shown.items():
        cells = []
        for at in range(len(clients)):
            cells.append(_mean([8 * one.clients[at].sent_bytes / one.seconds / MEGA for one in seen]))
            cells.append(_mean([one.clients[at].completed / one.seconds for one in seen]))
        cells.append(_mean([one.bits_per_second / MEGA for one in seen]))
        cells.append(_mean([one.requests_per_second for one in seen]))
        cells.append(_mean([sum(client.reopened for client in one.clients) / one.seconds for one in seen]))
        cells.append(_mean([objective.score(one) for one in seen], 3))
        lines.append(f"| {limit_text(limit)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def search(system: System, name: str, mechanism: Mechanism, seconds: float) -> str:
    """What the search advises, in words."""
    settings = LimitSettings(
        system=mechanism.system,
        client=(mechanism.port,),
        line_bps=system.ports[mechanism.port],
        floor_bps=mechanism.floor_mbps * MEGA,
        objective=mechanism.goal,
        interval_s=seconds,
        settle_s=mechanism.settle_s,
    )
    with tempfile.TemporaryDirectory(prefix=f"keisoku-{name}-") as folder:
        directory = RunDirectory.create(Path(folder) / "run", NAME, settings.plain(), {})
        with IntervalLog(directory) as log:
            carry_out(system, settings, log, _print, _print)
        found = again(settings, kept_intervals(directory))
    assert isinstance(found, LimitFound)
    gain = (
        ""
        if found.gain is None
        else (
            f", gain {found.gain.percent:+.0f} % over none (lower 95 % bound {100 * np.expm1(found.gain.lower):+.0f} %)"
        )
    )
    return (
        f"Search: advised {limit_text(found.limit)}, thought best {limit_text(found.candidate)}{gain}; {found.ended}."
    )


def _print(line: str) -> None:
    print(f"  {line}", file=sys.stderr)


def _mean(values: list[float], digits: int = 1) -> str:
    if len(values) < 2:
        return f"{values[0]:,.{digits}f}"
    return f"{np.mean(values):,.{digits}f} ± {2 * np.std(values, ddof=1) / np.sqrt(len(values)):.{digits}f}"


def main() -> None:
    """Prints a table and the search's advice for each mechanism."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("mechanisms", nargs="*", metavar="MECHANISM", help=f"of {', '.join(MECHANISMS)} (all)")
    options.add_argument("--repetitions", type=int, default=3, help="of each limit")
    options.add_argument("--seconds", type=float, default=2.0, help="of one look at a system")
    options.add_argument("--no-search", action="store_true", help="show the curve only")
    chosen = options.parse_args()
    if reason := available():
        sys.exit(f"the mechanisms need a lab: {reason}")
    for name in chosen.mechanisms or MECHANISMS:
        mechanism = MECHANISMS[name]
        mechanism = replace(mechanism, system=sized(mechanism.system))
        print(f"## {name}\n\n`{mechanism.system}`\n\nKnown: {mechanism.known}.\n")
        with open_system(mechanism.system) as system:
            print(table(mechanism, curve(system, mechanism, chosen.repetitions, chosen.seconds)), flush=True)
            if not chosen.no_search:
                print(f"\n{search(system, name, mechanism, chosen.seconds)}\n", flush=True)


if __name__ == "__main__":
    main()
