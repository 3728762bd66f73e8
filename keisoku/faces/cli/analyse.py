"""`keisoku analyse`: makes result and report of a run again from its raw rows, without measuring."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from keisoku.faces.cli.amount import VERBOSE
from keisoku.faces.cli.lang import LANG
from keisoku.faces.cli.outcome import show
from keisoku.ground.run.directory import RunDirectory
from keisoku.running.measurement.carry_out import analyse


@click.command("analyse")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
@VERBOSE
@LANG
def command(run: Path, as_json: bool) -> None:
    """Makes the result and the report of RUN again from its raw rows, finished or not.

    \b
    keisoku analyse runs/20261121-210000-path-one-packet
    """
    sys.exit(show(analyse(RunDirectory.open(run)), as_json))
