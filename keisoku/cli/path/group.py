"""`keisoku path`: the group of commands about the hops of an IP path. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli.lazy_group import LazyGroup

MODULES = {
    "serve": "serve",
    "reflect": "reflect",
}


@click.group(
    "path",
    cls=LazyGroup,
    measurements="path",
    modules={name: f"keisoku.cli.path.{module}" for name, module in MODULES.items()},
)
def command() -> None:
    """Measures bandwidth and delay of an IP path and of its hops."""
