"""`keisoku port`: the group of commands about one port of this host. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.faces.cli.lazy_group import LazyGroup, Place


@click.group(
    "port",
    cls=LazyGroup,
    measurements="port",
    sentences={},
    places={
        "serve": Place("keisoku.faces.cli.port.serve", "Lends PORT of this host to a tester at another host."),
    },
)
def command() -> None:
    """Lends ports of this host to a tester at another host."""
