"""What every measuring command does with its work: it carries the work out, prints the run on one screen or as JSON and
sets the exit code, or with `--dry-run` says what would be done. Standard output may be full or closed: the error then
names the run."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from keisoku.errors import KeisokuError, to_write
from keisoku.faces.cli.amount import AMOUNT, amount
from keisoku.faces.cli.exit_code import FAILED, MEASURED, MISSED
from keisoku.faces.cli.folding import fold
from keisoku.faces.cli.watching import watching
from keisoku.ground.entry import Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.outcome import Outcome
from keisoku.language import phrase, translated

_DRY_RUN = "keisoku.dry_run"
"""In the context of a command that measures nothing."""


def _keep(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:  # the command behind `ab` has the same context, and need not repeat it
        context.meta[_DRY_RUN] = True


DRY_RUN = click.option(
    "--dry-run",
    is_flag=True,
    expose_value=False,
    callback=_keep,
    help="say what would be measured, how long, and how it deviates from its standard; measure nothing",
)
_OPTIONS = (
    DRY_RUN,
    click.option("--out", type=click.Path(path_type=Path), help="run directory (default: a new one in runs/)"),
    click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output"),
)


def output_options() -> tuple[Callable[..., Any], ...]:
    """Options for the run's directory, and for printing its result."""
    return (*_OPTIONS, *AMOUNT)


def is_dry_run() -> bool:
    """Whether the command that runs now is to measure nothing."""
    return bool(click.get_current_context().meta.get(_DRY_RUN))


class _Said(Observer):
    """Prints what is told."""

    def tell(self, line: str) -> None:
        """On standard output."""
        click.echo(fold(line, sys.stdout, indent="  "))

    warn = tell


def measured(work_for: Callable[[Observer], Work[Any]], as_json: bool) -> int:
    """Carries the work out that an observer watches, or says what it would do; prints it and returns the exit code."""
    if not is_dry_run():
        from keisoku.running.measurement.carry_out import carry_out

        with watching() as display:
            outcome = carry_out(work_for(display))
        return show(outcome, as_json)
    from keisoku.running.measurement.dry_run import outlined

    reader = Observer() if as_json else _Said()
    work = work_for(reader)
    say(outlined(work.measurement, work.settings), as_json, reader.note)
    return MEASURED


def say(would_do: list[str], as_json: bool, note: str = "") -> None:
    """Prints what would be done by a command that measures nothing."""
    if as_json:
        click.echo(json.dumps({"dry_run": would_do}, indent=1))
        return
    for line in filter(None, [*would_do, note, phrase("nothing was measured, as --dry-run asks for")]):
        click.echo(fold(line, sys.stdout, indent="  "))


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
        how = to_write(error, "write elsewhere")
        raise KeisokuError(
            f"standard output: cannot write the result: {error.strerror}; {how}; the result is kept in {kept_in}"
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
