"""`keisoku path serve`: the other end of a two-ended measurement."""

from __future__ import annotations

import signal

import click

from keisoku.host.place import Place
from keisoku.host.two_ended.control import PORT
from keisoku.path.train.serve import Server


@click.command("serve")
@click.option("--at", default="0.0.0.0", metavar="ADDRESS[@NAMESPACE]", help="local address (default: any IPv4)")
@click.option("--port", default=PORT, type=click.IntRange(0, 65535), show_default=True, help="TCP port")
def command(at: str, port: int) -> None:
    """Serves 'keisoku path packet-pair' and 'path clocks' until it is interrupted; one client at a time."""
    server = Server(Place.parse(at), port, lambda text: click.echo(text))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop())
    click.echo(f"listening at TCP port {server.port}")
    server.serve()
