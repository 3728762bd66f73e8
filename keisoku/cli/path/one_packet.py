"""`keisoku path one-packet`: bandwidth of every hop on the way to a host, out and back, from single packets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from pydantic import ValidationError

from keisoku.cli.observation import new_directory
from keisoku.cli.options import seconds
from keisoku.cli.path.analyse import ANALYSES
from keisoku.errors import EngineError, PlanError
from keisoku.host.place import Place
from keisoku.path.one_packet import run as one_packet_run
from keisoku.path.one_packet.analysis import KIND
from keisoku.path.one_packet.probe import HopProbe
from keisoku.path.one_packet.probing import HopProbing
from keisoku.path.one_packet.settings import OnePacketSettings
from keisoku.path.one_packet.sockets import HopSockets
from keisoku.path.stamp_noise import stamp_noise


@click.command("one-packet")
@click.argument("host", metavar="HOST")
@click.option("--precision", type=float, default=5.0, show_default=True, metavar="PERCENT", help="stop a hop at ± this")
@click.option("--budget", default="600s", show_default=True, metavar="TIME", help="stop probing after this time")
@click.option("--repeats", type=int, default=8, show_default=True, help="of each probe size, at least")
@click.option("--max-hops", type=int, default=30, show_default=True, help="longest path that is followed")
@click.option("--port", type=int, default=33435, show_default=True, help="UDP port of HOST on which nobody listens")
@click.option("--timeout", default="1s", show_default=True, metavar="TIME", help="wait so long for a first reply")
@click.option("--trains", type=int, default=5, show_default=True, help="back-to-back trains to each hop; 0: none")
@click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-KIND)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
def command(
    host: str,
    precision: float,
    budget: str,
    repeats: int,
    max_hops: int,
    port: int,
    timeout: str,
    trains: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Forward and reverse bandwidth and latency of every hop to HOST, from the round trips of single packets.

    \b
    keisoku path one-packet 192.0.2.7
    keisoku path one-packet 198.18.4.2@keisoku-1234-tester     # from a namespace
    keisoku path analyse runs/20261121-210000-path-one-packet  # again, from the raw probes

    One probe is under way at a time. Routers that limit their replies are probed as slowly as they want it: with
    Linux's default of one a second this takes four to five minutes. The exit code is 2 if the host itself was not
    reached; what was measured of the hops before it is shown then, too.
    """
    place = Place.parse(host)
    budget_s = seconds("--budget", budget)
    settings = _settings(
        host=host,
        precision=precision / 100,
        budget_s=budget_s,
        repeats=repeats,
        hops=max_hops,
        port=port,
        timeout_s=seconds("--timeout", timeout),
        trains=trains,
    )
    with HopSockets(place, port) as wire:
        facts = {
            "stamp_noise_ns": stamp_noise(wire.destination, place.path),
            "address": wire.destination,
            "interface_mtu_bytes": wire.mtu_bytes,
        }
        directory = new_directory(out, KIND, settings.model_dump(mode="json"), facts)

        def keep(probes: Sequence[HopProbe]) -> None:
            one_packet_run.append(directory, probes)

        campaign = HopProbing(wire, settings, keep, lambda text: click.echo(text, err=True))
        try:
            path = campaign.run()
        except EngineError as error:
            kept = f"; what was measured is kept in {directory.path}" if campaign.probes else ""
            raise EngineError(f"{error}{kept}") from error
    ANALYSES.run(directory, as_json)
    if not path.reached:
        why = path.refusal or "it never answered, nor did anybody behind the last hop shown"
        raise EngineError(f"{place.host}: not measured as far as the host: {why}")


def _settings(**values: object) -> OnePacketSettings:
    names = {"budget_s": "--budget", "hops": "--max-hops", "timeout_s": "--timeout"}
    try:
        return OnePacketSettings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        raise PlanError(
            names.get(field, f"--{field}"), f"{first['input']!r} is out of range", f"{first['msg']}"
        ) from error
