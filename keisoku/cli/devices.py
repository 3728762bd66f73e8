"""`keisoku devices`: the simulated devices that come with keisoku."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from keisoku.plan.device import list_devices


@click.command("devices")
def command() -> None:
    """Lists the simulated devices; use one as --dut sim:NAME."""
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "device", "maker", "class", "year"):
        table.add_column(heading)
    for device in list_devices():
        table.add_row(device.name, device.title, device.maker, device.device_class, str(device.year or ""))
    Console().print(table)
