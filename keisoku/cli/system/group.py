"""`keisoku app`: the group of commands about whole systems of servers and clients. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli.lazy_group import LazyGroup


@click.group(
    "app",
    cls=LazyGroup,
    measurements="app",
    modules={"client": "keisoku.cli.system.client", "ports": "keisoku.cli.system.ports"},
)
def command() -> None:
    """Measures whole systems of servers and clients, and finds the best rate limit in the network for them."""
