"""`keisoku run`: a plan from a file, or the rest of a run that was cut off."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from keisoku.cli.measure import measure
from keisoku.device.plan.plan import read
from keisoku.errors import PlanError
from keisoku.run.directory import RunDirectory


@click.command("run")
@click.argument("plan_file", metavar="PLAN.toml", required=False, type=click.Path(path_type=Path))
@click.option("--resume", metavar="RUN", type=click.Path(path_type=Path), help="continue the run in this directory")
@click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-DUT-METHODS)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
def command(plan_file: Path | None, resume: Path | None, out: Path | None, as_json: bool) -> None:
    """Measures what PLAN.toml says, or finishes an interrupted run."""
    if (plan_file is None) == (resume is None):
        raise PlanError(
            "run",
            "give either a plan file or --resume",
            "write 'keisoku run PLAN.toml' or 'keisoku run --resume RUN'",
        )
    if resume is not None:
        directory = RunDirectory(resume)
        code, _ = measure(directory.plan(), None, as_json, resume=directory)
    else:
        assert plan_file is not None
        code, _ = measure(read(plan_file), out, as_json)
    sys.exit(code)
