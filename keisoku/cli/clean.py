"""`keisoku clean`: removes what a killed run left on the host."""

from __future__ import annotations

import click

from keisoku.lab.clean import clean
from keisoku.stream.interface_setting import restore_left
from keisoku.system.shaping import journal


@click.command("clean")
@click.option("--force", is_flag=True, help="also the labs of runs that are still alive")
def command(force: bool) -> None:
    """Removes keisoku's network namespaces, with their links and programs; undoes what it had changed of interfaces."""
    restored = [f"set {interface} back" for interface in restore_left(force)]
    restored += [f"lifted the limit of {interface}" for interface in journal.undo_left(force=force)]
    for done in restored:
        click.echo(done)
    removed = clean(force=force)
    for name in removed:
        click.echo(f"removed {name}")
    if not removed and not restored:
        click.echo("nothing to remove")
