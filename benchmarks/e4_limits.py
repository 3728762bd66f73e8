"""E4's curve and the questions it left open, in the simulated system: where the best limit lies, and what it gains.

E4 (KAKENHI report, 2012–14) found the total of one fast and four slow clients highest at 420 Mb/s, and wanted to know
the same for other file sizes, numbers of clients and concurrencies. The simulated hosts are calibrated to that one
published point (keisoku/application/system_model.py); all other rows are what the model then says, not measurements.
Every limit is simulated without unsteadiness. Prints two tables; judges nothing. Not part of `make bench`.

Run: python benchmarks/e4_limits.py [--limits 49] [--seconds 10]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

from keisoku.application.candidate import Candidates, Limit
from keisoku.application.observation import Observation
from keisoku.application.simulated_system import SimulatedSystem
from keisoku.application.system_model import SystemModel, e4

PUBLISHED_MBPS = 420
SETTLE_S = 5.0
CURVE_MBPS = (100, 200, 300, 380, 400, 420, 440, 500, 600, 800, 1000)
QUESTIONS: dict[str, Callable[[], SystemModel]] = {
    "as published": e4,
    **{f"file of {size:,} bytes": lambda size=size: e4(file_bytes=size) for size in (151, 10_000, 100_000)},
    **{f"{count} slow clients": lambda count=count: e4(slow_clients=count) for count in (1, 2, 8)},
    **{f"slow clients with {each} connections": lambda each=each: e4(slow_connections=each) for each in (10, 30, 300)},
    **{
        f"fast client with {each} connections": lambda each=each: e4(fast_connections=each) for each in (100, 300, 3000)
    },
}


def shown(model: SystemModel, limit: Limit, seconds: float) -> Observation:
    """The settled system under a limit of the fast client's port."""
    system = SimulatedSystem(replace(model, server=replace(model.server, unsteady=0.0)))
    system.limit({"fast": limit})
    system.run(SETTLE_S)
    return system.run(seconds)


def curve(seconds: float) -> str:
    """E4's figure as Markdown: requests/s of the fast client, of the slow ones, and of all."""
    lines = ["| limit, Mb/s | fast, requests/s | slow, requests/s | total, requests/s |", "|---|---|---|---|"]
    for mbps in (*CURVE_MBPS, None):
        at = shown(e4(), mbps and mbps * 1e6, seconds)
        fast = at.clients[0].completed / at.seconds
        cells = (fast, at.requests_per_second - fast, at.requests_per_second)
        lines.append(f"| {mbps or 'none'} | " + " | ".join(f"{cell:,.0f}" for cell in cells) + " |")
    return "\n".join(lines)


def answers(limits: int, seconds: float) -> str:
    """The best limit for each question as Markdown, and its gain over none."""
    lines = [
        "| system | best limit, Mb/s | total there, requests/s | without a limit | gain |",
        "|---|---|---|---|---|",
    ]
    space = Candidates(20e6, 10e9, limits)
    for name, model in QUESTIONS.items():
        totals = {limit: shown(model(), limit, seconds).requests_per_second for limit in space.limits}
        best = max(totals, key=lambda limit: totals[limit])
        gain = 100 * (totals[best] / totals[None] - 1)
        where = "none" if best is None or gain < 1 else f"{best / 1e6:,.0f}"
        published = f" (published: {PUBLISHED_MBPS})" if name == "as published" else ""
        lines.append(f"| {name} | {where}{published} | {totals[best]:,.0f} | {totals[None]:,.0f} | {gain:+.1f} % |")
    return "\n".join(lines)


def main() -> None:
    """Prints both tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--limits", type=int, default=49, help="rates from 20 Mb/s to 10 Gb/s")
    options.add_argument("--seconds", type=float, default=10.0, help="of virtual time for each limit")
    chosen = options.parse_args()
    print(curve(chosen.seconds))
    print()
    print(answers(chosen.limits, chosen.seconds))


if __name__ == "__main__":
    main()
