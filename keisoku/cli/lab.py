"""`keisoku lab`: keeps a device under test in network namespaces for other tools to use."""

from __future__ import annotations

import signal

import click

from keisoku.lab import Lab


@click.command("lab")
@click.argument("device", type=click.Choice(["cable", "bridge", "router"]))
@click.option("--ports", type=click.IntRange(2, 16), default=2, show_default=True)
@click.option("--mtu", type=int, default=1500, show_default=True)
def command(device: str, ports: int, mtu: int) -> None:
    """Builds DEVICE, prints its ports, and keeps it until Ctrl-C; everything is removed then.

    \b
    keisoku lab bridge
    ip netns exec keisoku-PID-tester tcpdump -i t1
    """
    with Lab(device, ports=ports, mtu=mtu) as lab:
        for port in lab.ports:
            click.echo(f"{port.interface}  {port.mac}  {port.ipv4}  {port.ipv6}  in {port.namespace_path}")
        click.echo("ready; Ctrl-C removes it")
        signal.pause()
