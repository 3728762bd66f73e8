"""`keisoku stream serve`: the far end of streams, transactions and file transfers."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from keisoku.host.place import Place
from keisoku.stream.far_end import PORT
from keisoku.stream.serve import StreamServer


@click.command("serve")
@click.option("--at", default="0.0.0.0", metavar="ADDRESS[@NAMESPACE]", help="local address (default: any IPv4)")
@click.option("--port", default=PORT, type=click.IntRange(0, 65535), show_default=True, help="TCP port")
@click.option(
    "--files",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="directory into which clients of 'keisoku stream file' may write",
)
@click.option("--settable", is_flag=True, help="let clients change MTU and offloads of the interface towards them")
def command(at: str, port: int, files: Path | None, settable: bool) -> None:
    """Serves 'line', 'path responsiveness' and 'stream' elsewhere, one client at a time.

    It goes on until it is interrupted.
    """
    server = StreamServer(Place.parse(at), port, lambda text: click.echo(text), files=files, settable=settable)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop())
    click.echo(f"listening at TCP port {server.port}")
    server.serve()
