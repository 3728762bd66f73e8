"""`keisoku runs prune`: removes runs of a folder by rules that the user gives; without --yes it only says which."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.columns import columns
from keisoku.faces.cli.runs.folder import checked
from keisoku.ground.run.directory import RUNS
from keisoku.ground.run.store import Prune, listed, prunable, remove, size_bytes
from keisoku.units import duration_ns, size_text

NS_PER_S = 1_000_000_000


@click.command("prune")
@click.argument("folder", type=click.Path(path_type=Path), default=RUNS)
@click.option(
    "--keep", type=click.IntRange(0), metavar="NUMBER", help="finished runs to keep of each measurement and device"
)
@click.option("--older", metavar="TIME", help="remove runs that began longer ago, such as 90d")
@click.option(
    "--state",
    "states",
    type=click.Choice(["unfinished", "damaged"]),
    multiple=True,
    help="remove runs in this state",
)
@click.option("--yes", is_flag=True, help="remove them; without it they are only listed")
def command(
    folder: Path,
    keep: int | None,
    older: str | None,
    states: tuple[Literal["unfinished", "damaged"], ...],
    yes: bool,
) -> None:
    """Removes old runs of FOLDER, after it has shown which.

    A run is removed if any of the rules names it. An unfinished or damaged run that was written to within a day is
    kept in any case, because something may still measure into it.

    \b
    keisoku runs prune --keep 10
    keisoku runs prune --older 90d --state unfinished --yes
    """
    if keep is None and older is None and not states:
        raise PlanError("prune", "no rule says what to remove", "add --keep, --older or --state")
    rules = Prune(keep, None if older is None else timedelta(seconds=duration_ns("--older", older) / NS_PER_S), states)
    found = prunable(listed(checked(folder)), rules, datetime.now(UTC))
    if not found:
        click.echo(f"no run of {folder} is to be removed")
        return
    sizes = [size_bytes(run.path) for run in found]
    rows = [(run.name, run.started_at, run.state, size_text(size)) for run, size in zip(found, sizes, strict=True)]
    click.echo(columns(("run", "started", "state", "size"), rows))
    count = "1 run" if len(found) == 1 else f"{len(found)} runs"
    if not yes:
        click.echo(f"{count} with {size_text(sum(sizes))} would be removed; add --yes to remove them")
        return
    for run in found:
        remove(run)
    click.echo(f"removed {count} with {size_text(sum(sizes))}")
