"""`keisoku clock`: the group of commands about this machine's time sources. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli.lazy_group import LazyGroup


@click.group("clock", cls=LazyGroup, measurements="clock", modules={})
def command() -> None:
    """Measures this machine's time sources: cost, resolution, rate and stability."""
