"""`keisoku runs list`: the runs of a folder, one in each line. It reads nothing but plans, contexts and results."""

from __future__ import annotations

import json
from pathlib import Path

import click

from keisoku.faces.cli.columns import columns
from keisoku.faces.cli.runs.folder import checked
from keisoku.ground.run.directory import RUNS
from keisoku.ground.run.store import StoredRun, listed

HEADS = ("run", "started", "of", "measurement", "state", "found")


@click.command("list")
@click.argument("folder", type=click.Path(path_type=Path), default=RUNS)
@click.option("--json", "as_json", is_flag=True, help="print the runs as JSON")
def command(folder: Path, as_json: bool) -> None:
    """Lists the runs of FOLDER, the newest first.

    FOLDER is `runs` if none is given, where runs without --out are. A run is finished, unfinished or damaged; a damaged
    one is listed with what cannot be read.

    \b
    keisoku runs list
    keisoku runs list /srv/laboratory --json
    """
    runs = listed(checked(folder))
    if as_json:
        click.echo(json.dumps([as_plain(run) for run in runs], indent=1))
    elif runs:
        rows = [_row(run) for run in runs]
        if any(run.about for run in runs):
            click.echo(columns((*HEADS, "about"), [(*row, _about(run)) for row, run in zip(rows, runs, strict=True)]))
        else:
            click.echo(columns(HEADS, rows))
    else:
        click.echo(f"{folder} holds no runs")


def as_plain(run: StoredRun) -> dict[str, object]:
    """For JSON."""
    return {
        "run": str(run.path),
        "started_at": run.started_at,
        "device": run.device,
        "about": dict(run.about),
        "measurement": run.measurement,
        "state": run.state,
        "sentences": run.sentences,
        "problem": run.problem,
    }


def _about(run: StoredRun) -> str:
    """What its plan says of it besides the device, which has a column of its own."""
    return "; ".join(f"{name}: {said}" for name, said in run.about.items() if name != "device")


def _row(run: StoredRun) -> tuple[str, ...]:
    found = run.problem or (run.sentences[0] if run.sentences else "")
    return (run.name, run.started_at, run.device, run.measurement, run.state, found)
