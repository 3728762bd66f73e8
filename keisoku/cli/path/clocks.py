"""`keisoku path clocks`: the same path by different sources of time, and the clock's part in the result."""

from __future__ import annotations

from pathlib import Path

import click

from keisoku.cli.kept import kept
from keisoku.cli.observation import new_directory
from keisoku.cli.path.analyse import ANALYSES
from keisoku.host.place import Place
from keisoku.host.two_ended.control import PORT
from keisoku.path.sources.analysis import KIND, SourceComparisonSettings
from keisoku.path.sources.run import measure
from keisoku.path.train.run import TABLE, TrainRun
from keisoku.path.train.session import TrainSession


@click.command("clocks")
@click.argument("host", metavar="HOST[@NAMESPACE]")
@click.option("--port", default=PORT, type=click.IntRange(1, 65535), show_default=True, help="the server's TCP port")
@click.option("--repetitions", default=10, type=click.IntRange(2, 1000), show_default=True, help="of the measurement")
@click.option("--pairs", default=50, type=click.IntRange(10, 2000), show_default=True, help="of each repetition")
@click.option("--size", "ip_bytes", default=0, type=click.IntRange(0, 65535), help="IP bytes (default: the path's MTU)")
@click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-path-clocks)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON")
def command(host: str, port: int, repetitions: int, pairs: int, ip_bytes: int, out: Path | None, as_json: bool) -> None:
    """Measures the path to HOST, where 'keisoku path serve' runs, by every source of time at once.

    User-space stamps as gettimeofday and the processor's counter give them, the kernel's, and the hardware's where
    there are any, of the same packets: the variance of repetitions side by side, and how much of it is the clock's.
    """
    place = Place.parse(host)
    settings = SourceComparisonSettings(
        host=place.host, port=port, repetitions=repetitions, pairs=pairs, ip_bytes=ip_bytes
    )
    with TrainSession(place, port) as session:
        directory = new_directory(out, KIND, settings.model_dump(), {"namespace": place.namespace})
        run = TrainRun(directory)
        session.keep = run.append
        with kept(lambda: directory, TABLE):
            run.end(measure(session, settings, lambda text: click.echo(f"measuring {text}", err=True), run.know))
    ANALYSES.run(directory, as_json)
