"""`keisoku run`: carries out a plan from a file, or continues an interrupted run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.outcome import is_dry_run, measured, output_options, show
from keisoku.faces.cli.waiting_time import waited_s
from keisoku.faces.cli.watching import watching
from keisoku.ground.entry import Work
from keisoku.running.measurement.carry_out import resume as go_on
from keisoku.running.measurement.plan_file import read
from keisoku.units import duration_ns


def _with_output(command: Any) -> Any:
    for option in reversed(output_options()):
        command = option(command)
    return command


@click.command("run")
@click.argument("plan_file", metavar="PLAN.toml", required=False, type=click.Path(path_type=Path))
@click.option("--resume", metavar="RUN", type=click.Path(path_type=Path), help="continue the run in this directory")
@click.option("--duration", metavar="TIME", help="with --resume: new total duration, for example of a longer log")
@click.option("--within", metavar="TIME", help="time in which to finish; what is not in the plan fits it")
@_with_output
def command(
    plan_file: Path | None,
    resume: Path | None,
    duration: str | None,
    within: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Carries out the plan PLAN.toml, or finishes an interrupted run.

    \b
    keisoku run examples/demo-bridge.toml
    keisoku run --resume runs/20261121-210000-gs908e-throughput
    """
    if (plan_file is None) == (resume is None):
        raise PlanError(
            "run",
            "give either a plan file or --resume",
            "write 'keisoku run PLAN.toml' or 'keisoku run --resume RUN'",
        )
    if plan_file is not None:
        if duration is not None:
            raise PlanError("--duration", "it needs --resume", "write the duration into the plan")
        limit = {} if within is None else {"within_s": duration_ns("--within", within) / 1e9}
        measurement, settings = read(plan_file, limit)
        waited = waited_s()
        sys.exit(measured(lambda display: Work(measurement, settings, out, observer=display, waited_s=waited), as_json))
    else:
        assert resume is not None
        if out is not None:
            raise PlanError("--out", "a run is continued in its own directory", "leave it out")
        if is_dry_run():
            raise PlanError(
                "--dry-run", "what is left of a run is not known", "give it with the plan, without --resume"
            )
        typed = {"duration_s": ("--duration", duration), "within_s": ("--within", within)}
        changes = {name: duration_ns(option, text) / 1e9 for name, (option, text) in typed.items() if text is not None}
        try:
            with watching() as display:
                outcome = go_on(resume, changes, display)
        except PlanError as error:
            if error.field not in changes:
                raise
            raise PlanError(typed[error.field][0], error.problem, error.remedy) from error
    sys.exit(show(outcome, as_json))
