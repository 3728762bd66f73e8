"""`keisoku lab`: builds a device under test in network namespaces for other tools."""

from __future__ import annotations

from contextlib import suppress

import click

from keisoku.errors import PlanError
from keisoku.faces.cli import interruption
from keisoku.faces.cli.lab.path import keep_path
from keisoku.faces.cli.lab.system import keep_system
from keisoku.ground.lab.device.catalogue import describe_kinds, find_device
from keisoku.ground.lab.device.faults import Faults
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.path.name import is_path
from keisoku.ground.lab.system.name import is_system

_FAULTS = "for `faulty`: sequence numbers, such as 5,17"


def _list_kinds(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(describe_kinds())
        context.exit()


@click.command("lab")
@click.argument("device")
@click.option(
    "--kinds",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_kinds,
    help="list all kinds of devices with their parameters, one sentence each",
)
@click.option("--ports", type=click.IntRange(2, 32), default=2, show_default=True, help="number of ports")
@click.option("--mtu", type=int, help="MTU of every interface in bytes, in place of that of DEVICE")
@click.option("--drop", metavar="FRAMES", help=_FAULTS)
@click.option("--duplicate", metavar="FRAMES", help=_FAULTS)
@click.option("--swap", metavar="FRAMES", help=f"{_FAULTS}; each of these frames is swapped with the next one")
@click.option("--corrupt", metavar="FRAMES", help=f"{_FAULTS}; a bit of the frame's transmit time is flipped")
def command(
    device: str,
    ports: int,
    mtu: int | None,
    drop: str | None,
    duplicate: str | None,
    swap: str | None,
    corrupt: str | None,
) -> None:
    """Builds DEVICE, prints its ports, and keeps it until Ctrl-C; everything is removed then.

    For a device that changes headers it also prints the headers to send from port 1 to 2 and back, and those that
    arrive.

    \b
    cable, bridge, router, nat, firewall?rules=25, tbf?rate=10Mbps, ...: `keisoku lab --kinds` lists them all,
    each with bridge?mtu=9000 (bytes of every interface, 1500 by default), and each but the cable also with limits
    that are known, such as bridge?capacity=300kpps:
      capacity              frames/s (300kpps) or the rate of a link (1Gbps) of each port's input; more is dropped
      burst                 how much may arrive at once (1.5ms; by default half as much again as a sender may catch up)
      cost                  time of the device's CPU that each frame takes (200ns); not for ovs

    FILE.toml                 routers, links, daemons of FRR and events of your own (docs/virtual-lab.md)

    \b
    path?hops=HOP,HOP,...   routers joined by links with a rate; a HOP is
      100M                  100 Mb/s in both directions
      100M/10M              10 Mb/s back to the tester
      100M+100M             a second store-and-forward line hidden in the hop
      10M~15000             a token bucket of the kernel (burst in bytes) instead of a link
    with &NAME=VALUE, where one value is for all hops and a list has one for each:
      delay, jitter (1ms)   queue, mtu, overhead (bytes)   loss (0.01)   bucket (tbf, htb)
      icmp (default, unlimited, silent)   silent=2 (router 2)   target (answers, drops, resets)
      cross=HOP:KIND:SHARE[:forward|reverse[:BYTES-BYTES...]], KIND constant, poisson or tcp
      seed=1

    \b
    system?NAME=VALUE&...   servers (nginx) and clients around a switch, with any of
      servers=1             clients=2      rates=1G,none (of each client's line)      uplink=100M (shared line)
      file=151:3,1430:1 (sizes and how often)      queue=150k      workers, connections, backlog (nginx)
      congestion=cubic      gzip=6 (compress every answer anew)

    \b
    keisoku lab bridge
    keisoku lab 'firewall?rules=25'
    keisoku lab 'path?hops=100M,50M,10M/2M,100M&delay=1ms&cross=3:poisson:0.4'
    keisoku lab 'system?rates=1G,1G,none&file=1430'
    keisoku lab faulty --drop 5,17 --swap 100
    keisoku throughput --tx xdp:t1@keisoku-PID-tester --rx xdp:t2@keisoku-PID-tester
    """
    faults = None
    if mtu is not None and (is_path(device) or is_system(device)):
        raise PlanError("mtu", "is for devices with ports", "write path?hops=…&mtu=9000, or leave it out")
    if is_path(device):
        if any((drop, duplicate, swap, corrupt)):
            raise PlanError("device", "a path applies no faults", "choose the device faulty")
        keep_path(device)
        return
    if is_system(device):
        if any((drop, duplicate, swap, corrupt)):
            raise PlanError("device", "a system applies no faults", "choose the device faulty")
        keep_system(device)
        return
    found = find_device(device)
    if found.family == "faulty":
        faults = Faults(
            drop=_sequences("--drop", drop),
            duplicate=_sequences("--duplicate", duplicate),
            swap=_sequences("--swap", swap),
            corrupt=tuple((sequence, SENT_TIME_BYTE) for sequence in _sequences("--corrupt", corrupt)),
        )
    elif any((drop, duplicate, swap, corrupt)):
        raise PlanError("device", f"{found.family} applies no faults", "choose the device faulty")
    if found.rewrites:
        raise PlanError("device", "only a measurement knows the headers to rewrite", f"give it --dut 'lab:{device}'")
    with Lab(found, ports=ports, mtu=mtu, faults=faults) as lab:
        for port in lab.ports:
            click.echo(f"{port.interface}  {port.mac}  {port.ipv4}  {port.ipv6}  in {port.namespace_path}")
        if found.most_ports == 2:
            _print_passage(lab, 1, 2)
            _print_passage(lab, 2, 1)
        with suppress(KeyboardInterrupt):
            click.echo("ready; Ctrl-C removes it")
            interruption.wait()
        if found.throttle:
            _print_throttled(lab)
        if found.counts:
            _print_counted(lab)
    click.echo("removed")


SENT_TIME_BYTE = 3
"""The last byte of the transmit time, counted from the end of a frame (docs/signature)."""


def _print_passage(lab: Lab, tx: int, rx: int) -> None:
    passage = lab.passage(tx, rx)
    for kind, sent in passage.sent.items():
        if sent != passage.arrives[kind]:
            click.echo(f"{tx} to {rx}, {kind}, {passage.growth_bytes:+d} byte")
            click.echo(f"  send     {sent}")
            click.echo(f"  arrives  {passage.arrives[kind]}")


def _print_throttled(lab: Lab) -> None:
    for port, done in zip(lab.ports, lab.throttled(), strict=True):
        if lab.device.capacity:
            click.echo(
                f"{port.dut_interface}  passed {done.passed_frames} frames, dropped {done.dropped_frames};"
                f" longest backlog {done.longest_backlog_ns / 1e6:.3f} ms"
            )
        if lab.device.cost and done.costing_frames:
            each_ns = done.cost_spent_ns / done.costing_frames
            click.echo(f"{port.dut_interface}  {done.costing_frames} frames cost {each_ns:.0f} ns each on average")


def _print_counted(lab: Lab) -> None:
    for port, done in zip(lab.ports, lab.counted(), strict=True):
        marked = f", marked {done.marked_frames}" if done.marked_frames else ""
        passed = f"passed {done.passed_frames} frames, dropped {done.dropped_frames}{marked}"
        click.echo(f"{port.dut_interface}  {lab.kind} {passed}")


def _sequences(field: str, text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError:
        raise PlanError(field, f"'{text}' is not a list of sequence numbers", "write for example 5,17") from None
