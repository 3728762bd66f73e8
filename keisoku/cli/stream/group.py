"""`keisoku stream`: the group of commands about streams between two ends. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli.lazy_group import LazyGroup

NAMES = ("tcp", "udp", "file", "serve", "analyse")


@click.group("stream", cls=LazyGroup, modules={name: f"keisoku.cli.stream.{name}" for name in NAMES})
def command() -> None:
    """Measures TCP and UDP streams and file transfers between two ends, and says what limits them."""
