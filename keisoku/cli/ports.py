"""`keisoku ports`: the interfaces of this host and what each can do."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from keisoku.engine.port import list_ports


@click.command("ports")
def command() -> None:
    """Lists interfaces: use one as --tx xdp:NAME or --rx packet:NAME."""
    ports = list_ports()
    table = Table(box=None, pad_edge=False)
    for heading in ("port", "driver", "MAC", "MTU", "Mb/s", "carrier", "XDP", "remark"):
        table.add_column(heading)
    for port in ports:
        table.add_row(
            port.name,
            port.driver,
            port.mac,
            str(port.mtu),
            str(port.speed_mbps or "unknown"),
            "yes" if port.carrier else "no",
            ", ".join(port.xdp_features) or "generic only",
            "carries the default route: refused without --force" if port.default_route else "",
        )
    Console().print(table)
