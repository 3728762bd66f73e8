"""`keisoku campaign`: carries out a plan of many runs. It measures and judges nothing itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.outcome import measured, output_options
from keisoku.ground.entry import Work
from keisoku.running.campaign.settings import NAME
from keisoku.running.measurement.plan_file import read
from keisoku.units import duration_ns


def _with_output(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(output_options()):
        command = option(command)
    return command


@click.command("campaign")
@click.argument("plan_file", metavar="PLAN.toml", type=click.Path(path_type=Path))
@click.option("--within", metavar="TIME", help="time in which to finish; what is not in the plan fits it")
@click.option("--cluster", metavar="URI", help="address of a Dask scheduler whose workers make the runs")
@_with_output
def command(plan_file: Path, within: str | None, cluster: str | None, out: Path | None, as_json: bool) -> None:
    """Measures devices by plans and settings, as often as the plan says, in random order.

    PLAN.toml names devices, measurements and settings, each in a table of its own. Every combination is measured, as
    often as the plan says, each time by a complete run. One that was interrupted, even by 'kill -9', goes on with
    'keisoku run --resume RUN'.

    \b
    keisoku campaign examples/campaign.toml
    keisoku campaign plan.toml --within 1h
    keisoku campaign plan.toml --cluster tcp://192.0.2.1:8786
    """
    changes: dict[str, Any] = {} if within is None else {"within_s": duration_ns("--within", within) / 1e9}
    if cluster is not None:
        changes["cluster"] = cluster
    measurement, settings = read(plan_file, changes, NAME)
    if measurement.name != NAME:
        raise PlanError("measurement", f"{plan_file} is a plan of {measurement.name}", "use 'keisoku run PLAN.toml'")
    sys.exit(measured(lambda display: Work(measurement, settings, out, observer=display), as_json))
