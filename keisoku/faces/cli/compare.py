"""`keisoku compare`: compares runs of the same measurement, or a run with an earlier one.

Reads finished runs and measures nothing. Exit codes: 0 compared, and no regression; 1 a regression; 2 not comparable.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from keisoku.errors import PlanError
from keisoku.faces.cli.lang import LANG
from keisoku.faces.cli.margin import margin_option, margins_of
from keisoku.faces.cli.out_file import write_out
from keisoku.faces.cli.summary import report_line
from keisoku.ground.report.comparison import (
    changes_only,
    figure_name,
    judged_json,
    regression,
)
from keisoku.ground.report.finding import Finding, print_findings
from keisoku.ground.run.comparison import regressions
from keisoku.ground.run.names import names_of
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.statistics.difference import Margin
from keisoku.language import translated
from keisoku.running.measurement.carry_out import findings_of, load, page
from keisoku.running.measurement.regression import judged_against
from keisoku.running.measurement.side_by_side import side_by_side_findings


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--against",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="earlier run of the same device, path, stream or system",
)
@margin_option
@click.option("--out", type=click.Path(path_type=Path), help="HTML file to write")
@click.option("--json", "as_json", is_flag=True, help="print every verdict as JSON on standard output")
@LANG
def command(
    runs: tuple[Path, ...], against: Path | None, margins: Sequence[str], out: Path | None, as_json: bool
) -> None:
    """Compares RUNS of the same measurement; or one run with an earlier one.

    Two figures differ only if their intervals value ± uncertainty do not overlap. A regression is a figure that is
    worse than before by more than the margin even after the uncertainty of the difference is subtracted. The exit code
    is 1 for a regression, and 2 for runs that cannot be compared.

    \b
    keisoku compare runs/gs908e runs/ax3630s --out both.html
    keisoku compare runs/today --against runs/release --margin 5% --margin p99=10%
    """
    if against is not None and len(runs) != 1:
        raise PlanError("--against", f"{len(runs)} runs are given", "compare one run with one earlier run")
    if against is None and len(runs) < 2:
        raise PlanError("runs", "there is nothing to compare", "give two runs or more, or --against an earlier one")
    if against is None and margins:
        raise PlanError("--margin", "has no meaning for devices side by side", "add --against, or leave it out")
    paths = [*runs, *([against] if against is not None else [])]
    found = [load(path) for path in paths]
    if against is None:
        names = names_of([run.directory for run in found], [run.results for run in found])
        findings, short, answer = side_by_side_findings(found, names)
        code = 0
    else:
        findings, answer = _regression(found, [str(path) for path in paths], margins_of(margins))
        short, code = [changes_only(one) for one in findings], int(answer["regressions"] > 0)
    if out is not None:
        runs_shown = [(run.directory, findings_of(run.directory)) for run in found]
        write_out(out, page(runs_shown, findings=findings))
    if as_json:
        click.echo(json.dumps(answer, indent=1))
    else:
        print_findings(short, Console())
        if out is not None:
            click.echo(translated(report_line(out)))
    sys.exit(code)


def _regression(
    both: Sequence[Outcome], names: Sequence[str], margins: Mapping[str, Margin]
) -> tuple[list[Finding], dict[str, Any]]:
    """Compares the new run with the old one."""
    judged, lacking, notes = judged_against(both, names, margins)
    missing = [figure_name(*each) for each in lacking]
    answer = {
        "new": names[0],
        "old": names[1],
        "regressions": len(regressions(judged)),
        "figures": [judged_json(one) for one in judged],
        "only_in_one": missing,
        "notes": notes,
    }
    return [regression(judged, missing, notes)], answer
