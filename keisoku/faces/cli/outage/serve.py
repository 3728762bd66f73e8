"""`keisoku outage serve`: the far end of measurements of interruptions."""

from __future__ import annotations

import click

from keisoku.ground.host.two_ended.far_end import become
from keisoku.subjects.stream.outage.settings import PORT


@click.command("serve")
@click.option("--at", default="", metavar="ADDRESS[@NAMESPACE]", help="local address (default: any)")
@click.option("--port", default=PORT, type=click.IntRange(0, 65535), show_default=True, help="TCP and UDP port")
@click.option("--mesh", is_flag=True, help="also send to other far ends, where 'keisoku outage mesh' asks for it")
def command(at: str, port: int, mesh: bool) -> None:
    """Answers 'keisoku outage' of other hosts until it is interrupted.

    It sends only to hosts that asked over TCP, at the rate that they asked for, and stops when it has not heard them
    for two minutes. With --mesh whoever reaches its port may make it send to others at which such a far end lets it in.
    """
    become("outage", "--at", at, "--port", str(port), *(["--mesh"] if mesh else []))
