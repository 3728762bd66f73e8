"""`keisoku app`: the group of commands about whole systems of servers and clients. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli.lazy_group import LazyGroup

NAMES = ("load", "limit", "govern", "analyse", "client")


@click.group("app", cls=LazyGroup, modules={name: f"keisoku.cli.system.{name}" for name in NAMES})
def command() -> None:
    """Measures whole systems of servers and clients, and finds the limit in the network that serves them best."""
