"""What makes result and report of a run from its directory alone: after measuring, and again without measuring."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from keisoku.cli.observation import publish
from keisoku.report.plot import Plot
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result

Analysis = Callable[[RunDirectory], tuple[Result, Sequence[Plot]]]


class Analyses:
    """Of the runs that a group of commands makes, by kind."""

    def __init__(self, of_kind: Mapping[str, Analysis]) -> None:
        self._of_kind = dict(of_kind)

    def run(self, directory: RunDirectory, as_json: bool) -> None:
        """Writes and prints what the raw data of a directory say."""
        observation, plots = self._of_kind[directory.kind](directory)
        publish(observation, directory, plots, as_json)

    def command(self) -> click.Command:
        """`analyse`, for the runs of these kinds."""

        @click.command("analyse")
        @click.argument("run", type=click.Path(path_type=Path))
        @click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
        def analyse(run: Path, as_json: bool) -> None:
            """Makes result and report of RUN again from its raw data."""
            self.run(RunDirectory.open(run, *self._of_kind), as_json)

        return analyse
