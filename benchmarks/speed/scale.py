"""What large sets cost: named queries about 1, 10 and 100 million frames, and a campaign on 1, 2 and 3 workers.

python benchmarks/speed/scale.py [--write]     as root; needs the extra 'cluster'. `make bench-scale` writes

With --write it puts the tables into docs/how-we-know/comparisons.md, and their plots into docs.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import campaigns
import queries
from results import machine, now, put

from keisoku.ground.report.plot import Plot, axis, device_colour, label
from keisoku.ground.report.svg import svg
from keisoku.subjects.device.record.queries import QUERIES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "how-we-know" / "comparisons.md"


def main() -> None:
    """Prints two tables; writes them and their plots if that is asked for."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--write", action="store_true", help="into docs/how-we-know/comparisons.md")
    chosen = options.parse_args()
    host = machine()
    where = f"{now()[:10]}: {host['cpu']}, {host['cores']} cores, load average before it {host['load_average_before']}"
    costs = queries.main()
    speeds = campaigns.main()
    if chosen.write:
        put(PAGE, "begin: queries", "end: queries", f"Run of {where}.\n\n{queries_table(costs)}")
        put(PAGE, "begin: campaigns", "end: campaigns", f"Run of {where}.\n\n{campaigns_table(speeds)}")
        of_query = {name: [cost for cost in costs if cost.query == name] for name in QUERIES}
        seconds = {name: [(cost.million_rows, cost.seconds) for cost in own] for name, own in of_query.items()}
        draw("runs-cost.svg", "Seconds of each named query", "million frames", "s", seconds)
        of_kind = {kind: [speed for speed in speeds if speed.kind == kind] for kind in campaigns.KINDS}
        ratios = {kind: [(one.workers, one.as_fast) for one in own if one.workers] for kind, own in of_kind.items()}
        draw("campaigns-cost.svg", "A campaign on workers", "workers", "times as fast as one process", ratios)


def queries_table(costs: Sequence[queries.Cost]) -> str:
    """A row for each query; memory is that of the largest set."""
    millions = sorted({cost.million_rows for cost in costs})
    heads = [f"{million} million frames, s" for million in millions]
    lines = [f"| query | {' | '.join(heads)} | most memory MB |", "|---|" + "---|" * (len(millions) + 1)]
    for name in QUERIES:
        own = sorted((cost for cost in costs if cost.query == name), key=lambda cost: cost.million_rows)
        seconds = " | ".join(f"{cost.seconds:.2f}" for cost in own)
        lines.append(f"| `{name}` | {seconds} | {own[-1].peak_megabytes:.0f} |")
    return "\n".join(lines)


def campaigns_table(speeds: Sequence[campaigns.Speed]) -> str:
    """A row for each kind of runs and number of workers."""
    lines = [f"| {campaigns.RUNS} runs | workers | s | times as fast as one process |", "|---|---|---|---|"]
    for one in speeds:
        lines.append(f"| {one.kind} | {one.workers or 'one process'} | {one.seconds:.1f} | {one.as_fast:.2f} |")
    return "\n".join(lines)


def draw(
    file: str, caption: str, across: str, upright: str, curves: Mapping[str, Sequence[tuple[float, float]]]
) -> None:
    """A picture with a curve for each name."""
    every = [point for points in curves.values() for point in points]
    axes = {
        "xaxis": axis(across, [x for x, _ in every]),
        "yaxis": axis(upright, [y for _, y in every]),
    }
    plot = Plot("cost", caption, axes)
    for position, (name, points) in enumerate(curves.items()):
        plot.add(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": label(name),
                "x": [x for x, _ in points],
                "y": [y for _, y in points],
                "line": {"color": device_colour(position)},
                "marker": {"color": device_colour(position)},
            }
        )
    (DOCS / file).write_text(svg(plot, titled=False) + "\n")


if __name__ == "__main__":
    main()
