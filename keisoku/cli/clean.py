"""`keisoku clean`: removes what a killed run left on the host."""

from __future__ import annotations

import click

from keisoku.lab import clean
from keisoku.stream.interface_setting import restore_left


@click.command("clean")
@click.option("--force", is_flag=True, help="also the labs of runs that are still alive")
def command(force: bool) -> None:
    """Removes keisoku's network namespaces, with their links and programs; sets interfaces back that it had changed."""
    restored = restore_left(force)
    for interface in restored:
        click.echo(f"set {interface} back")
    removed = clean(force=force)
    for name in removed:
        click.echo(f"removed {name}")
    if not removed and not restored:
        click.echo("nothing to remove")
