"""`keisoku stream`: the group of commands about streams between two ends. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli.lazy_group import LazyGroup


@click.group("stream", cls=LazyGroup, measurements="stream", modules={"serve": "keisoku.cli.stream.serve"})
def command() -> None:
    """Measures TCP and UDP streams and file transfers between two ends, and says what limits them."""
