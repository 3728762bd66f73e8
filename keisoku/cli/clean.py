"""`keisoku clean`: removes what a killed run left on the host."""

from __future__ import annotations

import os

import click

from keisoku.host import undo


@click.command("clean")
@click.option("--force", is_flag=True, help="also what runs have made that are still alive")
def command(force: bool) -> None:
    """Removes keisoku's network namespaces, with their links and programs; undoes what it had changed of interfaces."""
    click.echo("\n".join(undo.undo(*undo.left(force))) or "nothing to remove")
    if undo.FOLDER.exists() and not os.access(undo.FOLDER, os.R_OK, effective_ids=True):
        click.echo("run it as root to remove also what root's runs left")
