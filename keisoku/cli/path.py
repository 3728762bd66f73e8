"""`keisoku path`: the group of commands about the hops of an IP path. It holds no command itself."""

from __future__ import annotations

import click


@click.group("path")
def command() -> None:
    """Measures bandwidth and delay of an IP path and of its hops."""
