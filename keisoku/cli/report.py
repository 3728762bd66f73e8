"""`keisoku report`: makes the report of one or several finished runs again, from their records."""

from __future__ import annotations

from pathlib import Path

import click

from keisoku.cli.measure import shown
from keisoku.errors import KeisokuError
from keisoku.report.csv import write_csv
from keisoku.report.html import render_html
from keisoku.run.criterion import parse as parse_criterion
from keisoku.run.directory import RunDirectory


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="HTML file (default: report.html in the first run)")
def command(runs: tuple[Path, ...], out: Path | None) -> None:
    """One HTML report of all RUNS, and their CSV files."""
    finished = [RunDirectory(path).run() for path in runs]
    verdicts = [
        parse_criterion(text, [result.method for result in run.results]).judge(run.results)
        for run in finished
        for text in run.plan.get("require", [])
    ]
    path = out or runs[0] / "report.html"
    try:
        path.write_text(render_html(finished, shown(verdicts)), encoding="utf-8")
        for run in finished:
            write_csv(run, run.directory)
    except OSError as error:
        raise KeisokuError(f"report: cannot write {path}: {error.strerror}; choose another --out") from error
    click.echo(path)
