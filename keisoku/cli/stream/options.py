"""What `keisoku stream tcp` and `udp` have in common: their options, and how a measurement is carried out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import ValidationError

from keisoku.cli.kept import kept
from keisoku.cli.observation import new_directory
from keisoku.cli.options import seconds
from keisoku.cli.stream.analyse import ANALYSES
from keisoku.errors import PlanError
from keisoku.host.place import Place
from keisoku.run.directory import RunDirectory
from keisoku.stream.factor import parse_factors
from keisoku.stream.measure import earlier_ceiling, measure
from keisoku.stream.run import KINDS, TABLE, StreamRun, cells_of, trial_of
from keisoku.stream.session import PORT
from keisoku.stream.settings import MEASURED, NONE, StreamSettings
from keisoku.units import bit_rate

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("host", metavar="HOST[@NAMESPACE]"),
    click.option(
        "--port", default=PORT, type=click.IntRange(1, 65535), show_default=True, help="the server's TCP port"
    ),
    click.option("--sizes", metavar="BYTES,…", help="message sizes (default: a sweep)"),
    click.option("--refine", default=2, type=click.IntRange(0, 5), show_default=True, help="rounds around the best"),
    click.option("--streams", default=1, type=click.IntRange(1, 256), show_default=True, help="in each direction"),
    click.option(
        "--direction", type=click.Choice(["forward", "reverse", "both"]), default="forward", show_default=True
    ),
    click.option("--rate", metavar="RATE", help="of each stream, such as 500Mb/s (default: as fast as it goes)"),
    click.option("--time", "duration", default="1s", show_default=True, metavar="TIME", help="of each trial"),
    click.option("--factor", "factors", multiple=True, metavar="NAME=LEVEL,…", help="compare set-ups; repeatable"),
    click.option("--confidence", default=99.0, show_default=True, metavar="PERCENT", help="of a cell's interval"),
    click.option("--precision", default=2.5, show_default=True, metavar="PERCENT", help="measure a cell until ± this"),
    click.option("--least-runs", default=3, type=click.IntRange(2, 1000), show_default=True, help="of each cell"),
    click.option("--most-runs", default=30, type=click.IntRange(2, 1000), show_default=True, help="of each cell"),
    click.option("--seed", default=1, show_default=True, help="of the order of trials"),
    click.option(
        "--ceiling", default=MEASURED, show_default=True, metavar="RUN", help="this machine's limit: 'none', or a run"
    ),
    click.option("--cross-check", type=click.Choice(["iperf3"]), help="measure the best cell by it, too"),
    click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-KIND)"),
    click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output"),
)


def stream_options(command: Command) -> Command:
    """Adds the options to a command, in the order in which they stand here."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def carry_out(protocol: str, sizes: Callable[[Place, int], list[int]], options: dict[str, Any]) -> None:
    """Measures, keeps and prints. `sizes` gives those of a sweep to the server at a place and port."""
    place = Place.parse(options["host"])
    factors = parse_factors(options["factors"], protocol)
    if "host" in factors and place.host not in factors["host"]:
        factors["host"].insert(0, place.host)
    # A level cannot be asked for twice over.
    if "rate" in factors and options["rate"]:
        raise PlanError("--rate", "the factor rate says it already", "leave one of them out")
    text = options["sizes"]
    duration_s = seconds("--time", options["duration"])
    settings = _settings(
        protocol=protocol,
        host=place.host,
        port=options["port"],
        sizes=_sizes(text) if text else tuple(sizes(place, options["port"])),
        refinements=0 if text else options["refine"],
        streams=options["streams"],
        direction=options["direction"],
        duration_s=duration_s,
        warm_up_s=min(0.2, (duration_s or 0) / 4),
        bps=None if options["rate"] is None else bit_rate("--rate", options["rate"]),
        factors=factors,
        level=options["confidence"] / 100,
        half_width=options["precision"] / 100,
        least_runs=options["least_runs"],
        most_runs=max(options["most_runs"], options["least_runs"]),
        seed=options["seed"],
        ceiling=options["ceiling"],
        cross_check=options["cross_check"] is not None,
    )
    for cell in cells_of(settings, settings.setups()):
        trial_of(settings, cell)  # What cannot be is told before the first trial.
    earlier = None if settings.ceiling in (MEASURED, NONE) else _earlier(settings)
    directory = new_directory(options["out"], KINDS[protocol], settings.model_dump(), {"namespace": place.namespace})
    run = StreamRun(directory)
    if earlier:
        run.know(ceiling=earlier)
    try:
        with kept(lambda: directory, TABLE, "keisoku stream analyse"):
            measure(settings, place, run, lambda said: click.echo(said, err=True))
    finally:
        run.flush()
    ANALYSES.run(directory, options["as_json"])


def _earlier(settings: StreamSettings) -> dict[str, Any]:
    earlier = RunDirectory.open(Path(settings.ceiling), KINDS[settings.protocol])
    return earlier_ceiling(settings, earlier.rows(TABLE).to_pylist(), settings.ceiling)


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in text.replace("_", "").split(",")}))
    except ValueError as error:
        raise PlanError("--sizes", f"'{text}' are no sizes", "write 8192,65536 (bytes)") from error


def _settings(**values: object) -> StreamSettings:
    names = {"half_width": "--precision", "level": "--confidence", "duration_s": "--time", "bps": "--rate"}
    try:
        return StreamSettings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else "stream"
        raise PlanError(names.get(field, f"--{field}"), f"{first['input']!r} cannot be", first["msg"]) from error
