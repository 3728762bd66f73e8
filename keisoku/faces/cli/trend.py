"""`keisoku trend`: figures of many runs over time, and where they changed.

Reads finished runs and measures nothing. Exit codes: 0 no regression; 1 the newest change of a figure is one; 2 the
runs are not alike.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from keisoku.errors import PlanError
from keisoku.faces.cli.exit_code import MEASURED, MISSED
from keisoku.faces.cli.lang import LANG
from keisoku.faces.cli.margin import margin_option, margins_of
from keisoku.faces.cli.out_file import write_out
from keisoku.faces.cli.summary import report_line
from keisoku.ground.report.finding import Finding, print_findings
from keisoku.ground.report.part import Part, Section, run_part
from keisoku.ground.report.trend import RULE, as_json, plots, sentence, table
from keisoku.ground.run.comparison import figures_by_key
from keisoku.ground.run.names import names_of
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.start import NEVER, instant
from keisoku.ground.run.trend import Trend, trends
from keisoku.language import phrase, plural, translated
from keisoku.running.measurement.carry_out import load
from keisoku.running.measurement.comparable import check_settings, common_results, result_of
from keisoku.running.measurement.table import find

ALL = "all"


@click.command("trend")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--figure",
    "figures",
    metavar="FIGURE",
    multiple=True,
    help=f"figure to show, such as p99 (default: the main one of each measurement; '{ALL}': every one)",
)
@margin_option
@click.option("--out", type=click.Path(path_type=Path), help="HTML file to write")
@click.option("--json", "as_plain", is_flag=True, help="print every value and change as JSON on standard output")
@LANG
def command(
    runs: tuple[Path, ...], figures: tuple[str, ...], margins: tuple[str, ...], out: Path | None, as_plain: bool
) -> None:
    """Shows how figures changed over RUNS of the same measurement of the same device, in the order of their start.

    A change is a step that a slow drift does not explain; where a figure drifts, it is said how much. The exit code is
    1 if the newest change of a figure made it worse by more than the margin.

    \b
    keisoku trend runs/nightly-* --margin 2% --out trend.html
    keisoku trend runs/nightly-* --figure p50 --figure p99
    """
    found = sorted(map(load, runs), key=lambda run: instant(str(run.directory.context.get("started_at"))) or NEVER)
    names = [run.directory.path.name for run in found]
    results = common_results(found, names)
    notes = check_settings(found, names, results, find(found[0].directory.measurement).same)
    devices = list(dict.fromkeys(str(run.directory.context.get("device", "")) for run in found))
    if len(devices) > 1:
        raise PlanError("runs", f"they are of {devices[0]} and of {devices[1]}", "give runs of one device")
    shown: list[Trend] = []
    looked: list[str] = []
    for name in results:
        main = find(found[0].directory.measurement).figure_of(name, found[0].directory.plan)
        wanted = () if ALL in figures else figures or (main,)
        looked += wanted
        tables = [figures_by_key(result_of(run, name)) for run in found]
        shown += trends(name, tables, wanted, margins_of(margins))
    if not shown:
        named = ", ".join(dict.fromkeys(looked)) or ALL
        raise PlanError("--figure", f"no run has the figure {named}", f"name another, or '{ALL}', or measure again")
    if as_plain:
        trends_ = [as_json(trend, names) for trend in shown]
        click.echo(json.dumps({"runs": names, "figures": trends_, "notes": notes}, indent=1))
    else:
        said = [sentence(shown, names), RULE, *notes]
        subtitle = plural("{count} run", "{count} runs", count=len(found))
        print_findings([Finding("trend", phrase("Trend"), subtitle, [table(shown, names)], said)], Console())
    if out is not None:
        from keisoku.ground.report.page import render  # templates and plots load slowly

        write_out(out, render([_part(found, shown, names, notes)], title=phrase("Trend")))
        if not as_plain:
            click.echo(translated(report_line(out)))
    sys.exit(MISSED if any(trend.is_regression for trend in shown) else MEASURED)


def _part(found: Sequence[Outcome], shown: Sequence[Trend], names: Sequence[str], notes: Sequence[str]) -> Part:
    newest = found[-1]
    device = names_of([newest.directory], [newest.results])[0]
    run = run_part(device, newest.directory, [sentence(shown, names)])
    section = Section(
        "trend",
        phrase("Trend"),
        plural("{count} run", "{count} runs", count=len(found)),
        plots(shown),
        [(device, [table(shown, names)])],
        [],
    )
    return Part([run], [section], notes=[RULE, *notes])
