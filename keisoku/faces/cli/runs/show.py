"""`keisoku runs show`: one run of the store, with its raw rows."""

from __future__ import annotations

from pathlib import Path

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.columns import columns
from keisoku.ground.run.store import raw_rows, stored_run
from keisoku.units import size_text


@click.command("show")
@click.argument("run", type=click.Path(path_type=Path))
def command(run: Path) -> None:
    """Shows what RUN is and holds, and which of its files are damaged.

    \b
    keisoku runs show runs/20260114-101500-gs908e-throughput
    """
    found = stored_run(run)
    if found.state == "damaged" and not found.measurement:
        raise PlanError("run", found.problem, "give a directory that a run was written to")
    about = [
        ("run", str(run)),
        ("measurement", found.measurement),
        ("device", found.device),
        ("started", found.started_at),
        ("state", f"{found.state}: {found.problem}" if found.problem else found.state),
    ]
    for name, value in about:
        if value:
            click.echo(f"{name:<12}{value}")
    rows = raw_rows(run)
    if rows:
        table = [(each.name, str(each.rows), size_text(each.size_bytes), _damaged(each.damaged)) for each in rows]
        click.echo("\n" + columns(("raw rows", "rows", "size", ""), table))
    for sentence in found.sentences:
        click.echo(f"\n{sentence}")


def _damaged(names: list[str]) -> str:
    if not names:
        return ""
    return f"damaged: {names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
