"""Runs as the page lists them: those that the server began, and finished ones that are in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.measurement.carry_out import load
from keisoku.run.directory import RunDirectory
from keisoku.service.document import RunStatus
from keisoku.service.runs import NoSuchRun

MOST = 100
"""Runs that are listed, the newest first."""


@dataclass(frozen=True)
class Listed:
    """One run."""

    name: str
    what: str
    state: str
    started_at: str
    status: RunStatus | None = None
    """Of a run that this server began."""
    sentences: list[str] = field(default_factory=list)

    @property
    def has_report(self) -> bool:
        """Whether it has results."""
        return self.state == "finished"


def listed(folder: Path, statuses: Sequence[RunStatus]) -> list[Listed]:
    """The newest runs, whose names begin with their time."""
    own = {status.run: status for status in statuses}
    try:
        kept = {path.name for path in folder.iterdir() if (path / "plan.toml").is_file()}
    except OSError:
        kept = set()
    return [_listed(folder / name, own.get(name)) for name in sorted({*kept, *own}, reverse=True)[:MOST]]


def listed_run(folder: Path, name: str, statuses: Sequence[RunStatus]) -> Listed:
    """One of them. Raises NoSuchRun."""
    status = next((status for status in statuses if status.run == name), None)
    return _listed(folder / name if status is not None else directory(folder, name).path, status)


def directory(folder: Path, name: str) -> RunDirectory:
    """The directory of a listed run. Raises NoSuchRun for any other name, such as one that leads out of the folder."""
    path = folder / name
    if name in ("", ".", "..") or Path(name).name != name or not (path / "plan.toml").is_file():
        raise NoSuchRun("run", f"there is no {name}", "choose one of the list")
    return RunDirectory.open(path)


def _listed(path: Path, status: RunStatus | None) -> Listed:
    if status is not None and status.state != "finished":
        return Listed(path.name, status.what, status.state, status.started_at, status)
    try:
        kept = _kept(path, (path / "result.json").stat().st_mtime_ns)
    except OSError:
        kept = Listed(path.name, "", "unfinished", "")
    return replace(kept, status=status)


@lru_cache(maxsize=2 * MOST)
def _kept(path: Path, written_ns: int) -> Listed:
    """Of a run whose result was written at this time.

    It is kept, because an open page asks every other second while something measures.
    """
    try:
        found = load(path)
    except PlanError:
        return Listed(path.name, "", "unfinished", "")
    context = found.directory.context
    what = str(context.get("device") or found.directory.measurement)
    sentences = [result.sentence for result in found.results if result.sentence]
    return Listed(path.name, what, "finished", str(context.get("started_at", "")), None, sentences)
