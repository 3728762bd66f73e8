"""`keisoku path`: the group of commands about the hops of an IP path. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli.lazy_group import LazyGroup

MODULES = {
    "one-packet": "path_one_packet",
    "packet-pair": "path_pair",
    "serve": "path_serve",
    "delay": "path_delay",
    "reflect": "path_reflect",
    "clocks": "path_clocks",
    "analyse": "path_analyse",
}


@click.group("path", cls=LazyGroup, modules={name: f"keisoku.cli.{module}" for name, module in MODULES.items()})
def command() -> None:
    """Measures bandwidth and delay of an IP path and of its hops."""
