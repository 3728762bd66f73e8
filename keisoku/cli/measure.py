"""Carries out a plan for the command line: run directory, engine, progress, files, verdict, exit code."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from keisoku.cli.exit_code import MEASURED, MISSED
from keisoku.cli.progress import Display
from keisoku.cli.standard_output import told
from keisoku.device.measurement import carry_out
from keisoku.device.plan.plan import Plan
from keisoku.report import digits
from keisoku.report.csv import write_csv
from keisoku.report.html import render_html
from keisoku.report.text import print_results
from keisoku.run.criterion import Verdict
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result


def measure(
    plan: Plan, out: Path | None, as_json: bool, resume: RunDirectory | None = None
) -> tuple[int, list[Result]]:
    """Measures, writes the run directory, prints the result; the exit code and the results."""
    found = carry_out(plan, Display(), out, resume, tell=_tell)
    directory, results, verdicts = found.directory, found.results, found.verdicts
    finished = directory.run()
    directory.write_text("report.html", render_html([finished], shown(verdicts)))
    try:
        write_csv(finished, directory.path)
    except OSError as error:
        raise directory.disk_error("*.csv", error) from error
    with told(directory.path):
        _print(results, verdicts, directory, as_json)
    return (MEASURED if all(verdict.met for verdict in verdicts) else MISSED), results


def shown(verdicts: list[Verdict]) -> list[tuple[str, bool, str]]:
    """Criteria as a report shows them: text, whether met, what was measured."""
    return [
        (verdict.text, verdict.met, digits.text(verdict.measured) if verdict.measured else "nothing")
        for verdict in verdicts
    ]


def _print(results: list[Result], verdicts: list[Verdict], directory: RunDirectory, as_json: bool) -> None:
    if as_json:
        click.echo(
            json.dumps(
                {
                    "run": str(directory.path),
                    "results": [result.model_dump(mode="json") for result in results],
                    "criteria": [
                        {"criterion": v.text, "met": v.met, "measured": v.measured and v.measured.model_dump()}
                        for v in verdicts
                    ],
                },
                indent=1,
            )
        )
        return
    print_results(results, Console())
    for text, met, measured in shown(verdicts):
        click.echo(f"{'met   ' if met else 'MISSED'}  {text}   (measured: {measured})")
    click.echo(f"report: {directory.path / 'report.html'}")


def _tell(line: str) -> None:
    click.echo(line, err=True)
