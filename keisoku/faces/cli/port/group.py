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
        "serve": Place("keisoku.faces.cli.port.serve", "Lets a tester on another host use PORT of this host."),
    },
)
def command() -> None:
    """Lets a tester on another host use this host's ports."""
