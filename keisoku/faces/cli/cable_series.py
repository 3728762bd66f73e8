"""`keisoku cable-series`: propagation speed and the instrument's own latency from calibrations on several cables."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from keisoku.faces.cli.columns import columns
from keisoku.ground.report import digits
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.subjects.device.calibration.cable_series import CableSeries, cable_series
from keisoku.subjects.device.record.run import DeviceRun


@click.command("cable-series")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
def command(runs: tuple[Path, ...], as_json: bool) -> None:
    """Fits a line through RUNS, which are one run of 'keisoku calibrate --length LENGTH' for each cable.

    \b
    keisoku calibrate --tx xdp:eth1 --rx xdp:eth2 --length 0.20m --out cable-1   # and so on
    keisoku cable-series cable-*
    """
    found = cable_series([DeviceRun.from_directory(RunDirectory.open(path, DEVICE)) for path in runs])
    if as_json:
        click.echo(json.dumps([_json(series) for series in found], indent=1))
        return
    for series in found:
        share = digits.significant(series.share_of_light_percent, 3)
        click.echo(f"{series.frame_bytes} byte")
        click.echo(f"propagation: {digits.text(series.propagation)}")
        click.echo(f"speed: {digits.text(series.speed)} ({share} % of the speed of light)")
        click.echo(f"instrument without cable: {digits.text(series.constant)}")
        click.echo(columns(("cable m", "latency ns", "residual ns", "run"), _rows(series)) + "\n")


def _rows(series: CableSeries) -> list[tuple[str, ...]]:
    points = sorted(series.points, key=lambda point: point.length_m)
    return [
        (f"{point.length_m:g}", f"{point.latency_ns:.3f}", f"{point.residual_ns:+.3f}", point.run) for point in points
    ]


def _json(series: CableSeries) -> dict[str, object]:
    return {
        **{
            name: value.model_dump(mode="json") if isinstance(value, Quantity) else value
            for name, value in vars(series).items()
            if name != "points"
        },
        "points": [
            {name: value for name, value in asdict(point).items() if name != "shared"} for point in series.points
        ],
    }
