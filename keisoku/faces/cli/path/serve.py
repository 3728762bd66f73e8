"""`keisoku path serve`: the other end of a two-ended measurement."""

from __future__ import annotations

import click

from keisoku.ground.host.two_ended.control import PORT
from keisoku.ground.host.two_ended.far_end import become


@click.command("serve")
@click.option("--at", default="", metavar="ADDRESS[@NAMESPACE]", help="local address (default: any)")
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
    become("path", "--at", at, "--port", str(port), "--udp-port", str(udp_port))
