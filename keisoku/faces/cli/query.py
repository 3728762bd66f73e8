"""`keisoku query`: SQL queries over the figures and raw rows of runs."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.columns import columns


@click.command("query")
@click.argument("runs", metavar="RUN...", nargs=-1, type=click.Path(path_type=Path))
@click.argument("sql", metavar="SQL", required=False)
@click.option(
    "--format", "form", type=click.Choice(["table", "csv", "json"]), default="table", help="format of the answer"
)
def command(runs: tuple[Path, ...], sql: str | None, form: str) -> None:
    """Answers an SQL query about RUN: its table `figures`, and its raw rows.

    Of several runs each table has the rows of all, and the column `directory` says of which run a row is. They may be
    of different measurements.

    A run of a device has the tables trials, streams, lost, lost_places, late_places, exports, changes, latencies, and
    frames if it was measured with --frames. Any other run has a table for each folder of rows: probes, packets,
    streams, intervals, …

    Frames have named queries, which stand in SQL like tables with parameters, or alone: latency_over_time, loss_bursts,
    around_losses, reorder_extents, worst_latencies and changed_frames.

    \b
    keisoku query RUN loss_bursts
    keisoku query RUN "from latency_over_time(interval_ns := 1000000) where p99_ns > 50000"
    keisoku query RUN "select stream, count(*) from frames where lost group by stream"
    keisoku query RUN "select quantile_cont(latency_ns, 0.999) from frames where trial = 4"
    keisoku query RUN RUN "select directory, value from figures where figure = 'throughput'"
    """
    if not runs or sql is None:
        # Of one word alone nobody knows which of both it is.
        raise PlanError("query", "a run and a query are needed", "write keisoku query RUN 'select * from figures'")
    from keisoku.running.measurement.query import query  # DuckDB loads slowly

    answer = query(runs[0], sql, *runs[1:])
    if form == "json":
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        click.echo(json.dumps(rows, indent=1, default=str))
    elif form == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(answer.rows)
    else:
        click.echo(columns(tuple(answer.columns), [tuple(map(str, row)) for row in answer.rows]))
