"""Output of `keisoku lab 'system?…'`: servers, clients and ports, for other tools."""

from __future__ import annotations

from contextlib import suppress

import click

from keisoku.faces.cli import interruption
from keisoku.ground.lab.system.name import find_system


def keep_system(name: str) -> None:
    """Builds the system, prints its parts, and keeps it until Ctrl-C. Raises PlanError for an invalid name."""
    with find_system(name, "device") as lab:
        files = ", ".join(f"{file.path} ({file.size_bytes} B)" for file in lab.shape.files)
        for server, address in zip(lab.servers, lab.addresses, strict=True):
            click.echo(f"{server.name}  http://{address}  {files}")
        for port in lab.ports:
            seen = f"seen at {port.seen_interface}@{port.seen_namespace.name}"
            limit = f"limit at {port.limit_interface}@{port.limit_namespace.name}"
            click.echo(f"{port.namespace_path.name}  {port.address}  {port.line_bps / 1e6:g} Mb/s; {limit}, {seen}")
        first = lab.ports[0].namespace_path.name
        click.echo(f"ip netns exec {first} ab -n 10000 -c 10 http://{lab.addresses[0]}{lab.shape.files[0].path}")
        with suppress(KeyboardInterrupt):
            click.echo("ready; Ctrl-C removes it")
            interruption.wait()
    click.echo("removed")
