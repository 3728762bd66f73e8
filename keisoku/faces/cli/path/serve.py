"""`keisoku path serve`: the other end of a two-ended measurement."""

from __future__ import annotations

import signal

import click

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import PORT
from keisoku.subjects.path.train.serve import Server


@click.command("serve")
@click.option("--at", default="0.0.0.0", metavar="ADDRESS[@NAMESPACE]", help="local address (default: any IPv4)")
@click.option("--port", default=PORT, type=click.IntRange(0, 65535), show_default=True, help="TCP port")
@click.option(
    "--udp-port",
    default=0,
    type=click.IntRange(0, 65535),
    show_default=True,
    help="UDP port of the probes, to be let through where a firewall or NAT is in between; 0: any free one",
)
def command(at: str, port: int, udp_port: int) -> None:
    """Serves 'keisoku path packet-pair' and 'path clocks' until it is interrupted; one client at a time."""
    server = Server(Place.parse(at), port, lambda text: click.echo(text), udp_port)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop())
    click.echo(f"listening at TCP port {server.port}" + (f", probes at UDP port {udp_port}" if udp_port else ""))
    server.serve()
