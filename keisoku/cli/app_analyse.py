"""`keisoku app analyse`: the result and report of a run made again from its intervals, without measuring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from keisoku.application import govern_observation, govern_run, limit_observation, limit_run
from keisoku.cli.observation import publish
from keisoku.client_load import load_analysis, load_run
from keisoku.record.observation import Observation
from keisoku.record.observation_directory import ObservationDirectory
from keisoku.report.plot import Plot

Analysis = Callable[[ObservationDirectory], tuple[Observation, Sequence[Plot]]]
ANALYSES: dict[str, Analysis] = {
    limit_run.KIND: limit_observation.analyse,
    govern_run.KIND: govern_observation.analyse,
    load_run.KIND: load_analysis.analyse,
}
"""By kind of run: what makes its observation and plots from its directory alone."""


@click.command("analyse")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
def command(run: Path, as_json: bool) -> None:
    """Makes result and report of RUN again from its raw data."""
    analyse_run(ObservationDirectory.open(run, *ANALYSES), as_json)


def analyse_run(directory: ObservationDirectory, as_json: bool) -> None:
    """Writes and prints what the raw data of a directory say."""
    observation, plots = ANALYSES[directory.kind](directory)
    publish(observation, directory, plots, as_json)
