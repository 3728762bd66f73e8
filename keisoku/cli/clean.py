"""`keisoku clean`: removes what a killed run left on the host."""

from __future__ import annotations

import click

from keisoku.lab import clean
from keisoku.shaping import journal


@click.command("clean")
@click.option("--force", is_flag=True, help="also the labs of runs that are still alive")
def command(force: bool) -> None:
    """Removes keisoku's network namespaces, and with them their links and programs; and lifts its limits of ports."""
    lifted = journal.undo_left(force=force)
    for interface in lifted:
        click.echo(f"lifted the limit of {interface}")
    removed = clean(force=force)
    for name in removed:
        click.echo(f"removed {name}")
    if not removed and not lifted:
        click.echo("nothing to remove")
