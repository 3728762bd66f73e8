"""`keisoku clean`: removes what killed runs left on the host."""

from __future__ import annotations

import os

import click

from keisoku.ground.host import undo


@click.command("clean")
@click.option("--force", is_flag=True, help="also remove what belongs to processes that are still running")
def command(force: bool) -> None:
    """Removes network namespaces, links and programs that killed runs left, and restores interfaces that they had
    changed."""
    click.echo("\n".join(undo.undo(*undo.leftovers(force))) or "nothing to remove")
    if undo.FOLDER.exists() and not os.access(undo.FOLDER, os.R_OK, effective_ids=True):
        click.echo("run it as root to remove also what root's runs left")
