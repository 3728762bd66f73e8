"""`keisoku clean`: removes what a killed run left on the host."""

from __future__ import annotations

import click

from keisoku.lab import clean


@click.command("clean")
@click.option("--force", is_flag=True, help="also the labs of runs that are still alive")
def command(force: bool) -> None:
    """Removes keisoku's network namespaces, and with them their links and programs."""
    removed = clean(force=force)
    for name in removed:
        click.echo(f"removed {name}")
    if not removed:
        click.echo("nothing to remove")
