"""A kept run as one side of a comparison: its repetitions, and whether it can be compared with what is measured now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError
from keisoku.host.context import host_context
from keisoku.language import phrase
from keisoku.measurement.carry_out import Outcome, load
from keisoku.measurement.comparable import check_settings
from keisoku.measurement.entry import Measurement
from keisoku.measurement.repetition import kept_results
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result
from keisoku.run.settings import RunSettings

_MACHINE = ("cpu", "cpus")
"""Of another machine, figures are other ones for that reason alone."""
_TOLD = ("host", "kernel", "system", "governor", "clock_source", "python", "versions")
"""May be what is compared, and may be why figures differ: a difference is said."""


def kept_runs(path: Path, entry: Measurement[Any], settings: RunSettings) -> list[list[Result]]:
    """The results of the run, or of each repetition of it. Raises PlanError for a run of anything else."""
    kept = load(path)
    if kept.directory.measurement != entry.name:
        problem = f"{path} is a run of {kept.directory.measurement}, not of {entry.name}"
        raise PlanError("--against", problem, "give a run of the same measurement")
    now = Outcome(RunDirectory(path, entry.name, settings.plain(), {}), [], [])
    check_settings([now, kept], [phrase("the new runs"), str(path)], [each.measurement for each in kept.results])
    return kept_results(entry, kept.directory)


def check_machine(path: Path) -> None:
    """Raises PlanError if the run was measured on another machine."""
    then, now = RunDirectory.open(path).context, host_context()
    for key in _MACHINE:
        if then.get(key) != now.get(key):
            raise PlanError(
                "--against",
                f"{path} was measured on another machine ({key}: {then.get(key)} then, {now.get(key)} now)",
                "measure it again on this machine, or compare both sides with --a and --b",
            )


def remarks_on(then: Mapping[str, Any], now: Mapping[str, Any], name: str) -> list[str]:
    """A sentence for everything that has changed on the machine since the run was kept."""
    return [
        phrase(
            "{key} was {before} in {name} and is {after} now: a difference may come from it.",
            key=key,
            before=_text(then.get(key)),
            name=name,
            after=_text(now.get(key)),
        )
        for key in _TOLD
        if then.get(key) != now.get(key)
    ]


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    return phrase("not known") if value is None else str(value)
