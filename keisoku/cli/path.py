"""`keisoku path`: the group of commands about the hops of an IP path. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli import path_analyse, path_clocks, path_delay, path_one_packet, path_pair, path_reflect, path_serve


@click.group("path")
def command() -> None:
    """Measures bandwidth and delay of an IP path and of its hops."""


for module in (path_one_packet, path_pair, path_serve, path_delay, path_reflect, path_clocks, path_analyse):
    command.add_command(module.command)
