"""A kept run as one side of a comparison: its repetitions, and what has changed on the machine since it was kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.entry import Measurement
from keisoku.ground.host.context import host_context
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import RunSettings
from keisoku.language import phrase
from keisoku.running.measurement.comparable import check_machine, check_settings, differences_of_machines
from keisoku.running.measurement.repetition import kept_results


def kept_runs(path: Path, entry: Measurement[Any], settings: RunSettings) -> list[list[Result]]:
    """The results of the run, or of each repetition of it. Raises PlanError for a run of anything else."""
    kept = RunDirectory.open(path)
    results = kept.results()
    if kept.measurement != entry.name:
        problem = f"{path} is a run of {kept.measurement}, not of {entry.name}"
        raise PlanError("--against", problem, "give a run of the same measurement")
    both = [Outcome(RunDirectory(path, entry.name, settings.plain(), {}), [], []), Outcome(kept, results, [])]
    names = [result.measurement for result in results]
    check_settings(both, [phrase("the new runs"), str(path)], names, entry.same)
    return kept_results(entry, kept)


def check_this_machine(path: Path) -> None:
    """Raises PlanError if the run was measured on another machine."""
    remedy = "measure it again on this machine, or compare both sides with --a and --b"
    check_machine(str(path), RunDirectory.open(path).context, host_context(), remedy)


def remarks_on(then: Mapping[str, Any], now: Mapping[str, Any], name: str) -> list[str]:
    """A sentence for everything that has changed on the machine since the run was kept."""
    return [
        phrase(
            "{key} was {before} in {name} and is {after} now: a difference may come from it.",
            key=key,
            before=before,
            name=name,
            after=after,
        )
        for key, before, after in differences_of_machines(then, now)
    ]
