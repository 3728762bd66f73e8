"""What every measurement of a clock or path does around measuring: its directory, its files, what it prints."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from keisoku.cli.standard_output import told
from keisoku.clock import rated
from keisoku.clock.interval_clock import interval_rate
from keisoku.host.context import host_context
from keisoku.report.observation import render_observation
from keisoku.report.observation_table import print_observation
from keisoku.report.plot import Plot
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result


def new_directory(out: Path | None, kind: str, settings: Mapping[str, Any], context: Mapping[str, Any]) -> RunDirectory:
    """The directory of a run that begins now: `out`, or runs/DATE-KIND; the host's context is added."""
    path, number = out or Path("runs") / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{re.sub(r'[^a-z0-9]+', '-', kind)}", 1
    stem = path.name
    while out is None and path.exists():
        number += 1
        path = path.with_name(f"{stem}-{number}")
    started = {"started_at": datetime.now(UTC).isoformat(timespec="seconds")}
    clock = {rated.CONTEXT: rated.to_context(interval_rate())} if kind in rated.KINDS else {}
    return RunDirectory.create(path, kind, settings, {**host_context(), **context, **clock, **started})


def publish(observation: Result, directory: RunDirectory, plots: Sequence[Plot] = (), as_json: bool = False) -> None:
    """Writes result.json and report.html, and prints the observation, with the rate of its clock where it has one."""
    if rated.CONTEXT in directory.context:
        observation = rated.rated(observation, rated.of_context(directory.context[rated.CONTEXT]))
    directory.finish(observation)
    page = render_observation(observation, directory.plan, directory.context, plots)
    report = directory.write_text("report.html", page)
    with told(directory.path):
        if as_json:
            click.echo(json.dumps({"run": str(directory.path), **observation.model_dump(mode="json")}, indent=1))
        else:
            print_observation(observation, Console())
            click.echo(f"report: {report}")
