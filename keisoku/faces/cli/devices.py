"""`keisoku devices`: the simulated devices that come with keisoku."""

from __future__ import annotations

import click

from keisoku.faces.cli.columns import columns
from keisoku.ground.simulated_device.device import list_devices


@click.command("devices")
def command() -> None:
    """Lists the simulated devices; use one as --dut sim:NAME."""
    rows = [
        (device.name, device.title, device.maker, device.class_, str(device.year or "")) for device in list_devices()
    ]
    click.echo(columns(("name", "device", "maker", "class", "year"), rows))
