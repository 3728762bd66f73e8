"""What every measuring command does with a finished run: it prints the run, on one screen or as JSON, and sets the exit
code. Standard output may be full or closed: the error then names the run."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from keisoku.errors import KeisokuError
from keisoku.faces.cli.amount import AMOUNT, amount
from keisoku.faces.cli.exit_code import FAILED, MEASURED, MISSED
from keisoku.ground.run.outcome import Outcome
from keisoku.language import translated

_OPTIONS = (
    click.option("--out", type=click.Path(path_type=Path), help="run directory (default: a new one in runs/)"),
    click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output"),
)


def output_options() -> tuple[Callable[..., Any], ...]:
    """Options for the run's directory, and for printing its result."""
    return (*_OPTIONS, *AMOUNT)


def show(outcome: Outcome, as_json: bool) -> int:
    """Prints the results and the verdicts on criteria; returns the exit code."""
    with _on_standard_output(outcome.directory.path):
        if as_json:
            click.echo(json.dumps(as_plain(outcome), indent=1))
        else:
            from rich.console import Console  # drawing is loaded when something is drawn

            from keisoku.faces.cli.summary import criterion_line, print_spread, print_summary, report_line, summary_of
            from keisoku.ground.report.text import print_results

            console = Console()
            if amount().verbose:
                print_results(outcome.results, console)
                for verdict in outcome.verdicts:
                    click.echo(translated(criterion_line(verdict)))
                click.echo(translated(report_line(outcome.directory.path / "report.html")))
            else:
                print_spread(outcome, console)
                print_summary(summary_of(outcome), console)
    if outcome.failure:
        click.echo(f"keisoku: {translated(outcome.failure)}", err=True)
        return FAILED
    return MEASURED if outcome.met else MISSED


@contextmanager
def _on_standard_output(kept_in: Path) -> Iterator[None]:
    """Flushes what is printed inside. Raises KeisokuError, naming the run, if this is not possible."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        sys.stdout = io.StringIO()  # the rest cannot be written at exit either
        raise KeisokuError(
            f"standard output: cannot write the result: {error.strerror}; make room or write elsewhere;"
            f" the result is kept in {kept_in}"
        ) from error


def as_plain(outcome: Outcome) -> dict[str, Any]:
    """The outcome as values of JSON."""
    return {
        "run": str(outcome.directory.path),
        "results": [result.model_dump(mode="json") for result in outcome.results],
        "criteria": [
            {
                "criterion": each.text,
                "met": each.met,
                "measured": each.measured and each.measured.model_dump(),
                **({"undecided": each.undecided} if each.undecided else {}),
            }
            for each in outcome.verdicts
        ],
    }
