"""`keisoku stream`: the group of commands about streams between two ends. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.cli import stream_analyse, stream_file, stream_serve, stream_tcp, stream_udp


@click.group("stream")
def command() -> None:
    """Measures TCP and UDP streams and file transfers between two ends, and says what limits them."""


for module in (stream_tcp, stream_udp, stream_file, stream_serve, stream_analyse):
    command.add_command(module.command)
