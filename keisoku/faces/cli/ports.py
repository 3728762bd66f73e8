"""`keisoku ports`: lists the interfaces of this host and their properties."""

from __future__ import annotations

import click

from keisoku.faces.cli.columns import columns
from keisoku.subjects.device.testbed.host_port_list import HostPort, list_ports


@click.command("ports")
def command() -> None:
    """Lists interfaces: use one as --tx xdp:NAME or --rx packet:NAME."""
    rows = [
        (
            port.name,
            port.driver or "unknown",
            port.mac,
            str(port.mtu),
            str(port.speed_mbps or "unknown"),
            "yes" if port.carrier else "no",
            "unknown" if port.xdp is None else ", ".join(port.xdp) or "generic only",
            port.stamps.text(),
            _remark(port),
        )
        for port in list_ports()
    ]
    click.echo(columns(("port", "driver", "MAC", "MTU", "Mb/s", "carrier", "XDP", "stamps", "remark"), rows))


def _remark(port: HostPort) -> str:
    if port.default_route:
        return "carries the default route: refused without --force"
    return "" if port.up else "down"
