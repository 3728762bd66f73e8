"""`keisoku report`: makes one page of one or several runs from their raw rows."""

from __future__ import annotations

from pathlib import Path

import click

from keisoku.errors import KeisokuError
from keisoku.faces.cli.lang import LANG
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement.carry_out import findings_of, keep, page


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="HTML file (default: report.html in the run; of several, beside the first)",
)
@LANG
def command(runs: tuple[Path, ...], out: Path | None) -> None:
    """Makes one HTML report of all RUNS, and the result and CSV files of each run."""
    shown = [(directory, findings_of(directory)) for directory in map(RunDirectory.open, runs)]
    outcomes = [keep(directory, findings) for directory, findings in shown]
    path = out or (runs[0] if len(runs) == 1 else runs[0].absolute().parent) / "report.html"
    if len(runs) > 1 or out is not None:
        text = page(shown, [verdict for outcome in outcomes for verdict in outcome.verdicts])
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise KeisokuError(f"report: cannot write {path}: {error.strerror}; choose another --out") from error
    click.echo(path)
