"""`keisoku path`: the group of commands about the hops of an IP path. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli.lazy_group import LazyGroup

MODULES = {
    "one-packet": "one_packet",
    "packet-pair": "packet_pair",
    "serve": "serve",
    "delay": "delay",
    "reflect": "reflect",
    "clocks": "clocks",
    "analyse": "analyse",
}


@click.group("path", cls=LazyGroup, modules={name: f"keisoku.cli.path.{module}" for name, module in MODULES.items()})
def command() -> None:
    """Measures bandwidth and delay of an IP path and of its hops."""
