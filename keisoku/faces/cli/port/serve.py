"""`keisoku port serve`: the receiving end of trials over two hosts."""

from __future__ import annotations

import signal

import click

from keisoku.ground.host.place import Place
from keisoku.subjects.device.testbed.receiving_host import ReceivingServer
from keisoku.subjects.device.testbed.two_hosts import PORT


@click.command("serve")
@click.argument("name", metavar="PORT")
@click.option("--at", default="", metavar="ADDRESS[@NAMESPACE]", help="local address (default: any)")
@click.option("--port", default=PORT, type=click.IntRange(0, 65535), show_default=True, help="TCP port")
@click.option("--clock", metavar="ptp:HOST", help="PTP master by which a tester may relate its clock to this host's")
@click.option("--force", is_flag=True, help="lend a port even if it carries the default route")
def command(name: str, at: str, port: int, clock: str | None, force: bool) -> None:
    """Lets a tester on another host use PORT of this host.

    The tester names this host with --receiver, and its frames arrive at PORT, which sends learning frames alone. It is
    lent to one tester at a time.

    \b
    keisoku port serve eth1                                                            # here
    keisoku loss --tx eth1 --rx eth1 --receiver 192.0.2.2 --size 64 --maximum 1Mpps    # at the other host
    """
    server = ReceivingServer(name, Place.parse(at), port, force, clock, lambda text: click.echo(text))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: server.stop())
    click.echo(f"{name} is lent at TCP port {server.port}")
    server.serve()
