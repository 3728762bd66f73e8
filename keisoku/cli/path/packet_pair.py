"""`keisoku path packet-pair`: capacity between two ends by pairs and trains."""

from __future__ import annotations

from pathlib import Path

import click

from keisoku.cli.kept import kept
from keisoku.cli.observation import new_directory
from keisoku.cli.path.analyse import ANALYSES
from keisoku.host.place import Place
from keisoku.host.two_ended.control import PORT
from keisoku.path.packet_pair.analysis import KIND
from keisoku.path.packet_pair.settings import PacketPairSettings
from keisoku.path.packet_pair.stages import measure
from keisoku.path.time_source import SOURCES, Source
from keisoku.path.train.run import TABLE, TrainRun
from keisoku.path.train.session import TrainSession
from keisoku.units import bit_rate


@click.command("packet-pair")
@click.argument("host", metavar="HOST[@NAMESPACE]")
@click.option("--port", default=PORT, type=click.IntRange(1, 65535), show_default=True, help="the server's TCP port")
@click.option("--pairs", default=50, type=click.IntRange(10, 10_000), show_default=True, help="to begin with")
@click.option("--stamps", type=click.Choice(SOURCES), default="kernel", show_default=True, help="which stamps count")
@click.option("--one-packet", metavar="RATE", help="of the narrow link by 'path one-packet', to find hidden stages by")
@click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-path-packet-pair)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON")
def command(
    host: str, port: int, pairs: int, stamps: Source, one_packet: str | None, out: Path | None, as_json: bool
) -> None:
    """Measures the capacity of the path to HOST and back, where 'keisoku path serve' runs."""
    place = Place.parse(host)
    rate = None if one_packet is None else bit_rate("--one-packet", one_packet)
    settings = PacketPairSettings(host=place.host, port=port, pairs=pairs, stamps=stamps, one_packet_bps=rate)
    with TrainSession(place, port) as session:
        directory = new_directory(out, KIND, settings.model_dump(), {"namespace": place.namespace})
        run = TrainRun(directory)
        session.keep = run.append
        with kept(lambda: directory, TABLE):
            run.end(measure(session, settings, lambda text: click.echo(f"measuring {text}", err=True), run.know))
    ANALYSES.run(directory, as_json)
