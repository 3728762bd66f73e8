"""Runs as the page lists them: those that the server began, and those of the store in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from keisoku.faces.service.document import RunStatus
from keisoku.faces.service.runs import NoSuchRun
from keisoku.faces.service.web.naming import Label, label_of
from keisoku.ground.run import store
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.start import NEVER, instant

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
    """The results in words, or why the run cannot be read."""
    label: Label = field(default_factory=Label)
    """Name and note."""

    @property
    def title(self) -> str:
        """What a reader calls it."""
        return self.label.name or self.what or self.name

    @property
    def has_report(self) -> bool:
        """Whether it has results."""
        return self.state == "finished"


def listed(folder: Path, statuses: Sequence[RunStatus]) -> list[Listed]:
    """The newest runs: of the store, and those of this server that have no directory yet."""
    own = {status.run: status for status in statuses}
    kept = {run.name: run for run in store.listed(folder)}
    found = [_listed(kept.get(name), own.get(name)) for name in {**own, **kept}]
    return sorted(found, key=lambda run: (instant(run.started_at) or NEVER, run.name), reverse=True)[:MOST]


def listed_run(folder: Path, name: str, statuses: Sequence[RunStatus]) -> Listed:
    """One of them. Raises NoSuchRun."""
    status = next((status for status in statuses if status.run == name), None)
    path = folder / name if status is not None else _path(folder, name)
    return _listed(store.stored_run(path), status)


def directory(folder: Path, name: str) -> RunDirectory:
    """The directory of a listed run. Raises NoSuchRun for any other name, such as one that leads out of the folder."""
    return RunDirectory.open(_path(folder, name))


def _path(folder: Path, name: str) -> Path:
    path = folder / name
    if name in ("", ".", "..") or Path(name).name != name or not (path / "plan.toml").is_file():
        raise NoSuchRun("run", f"there is no {name}", "choose one of the list")
    return path


def _listed(run: store.StoredRun | None, status: RunStatus | None) -> Listed:
    label = Label() if run is None else label_of(run.path)
    if status is not None and (run is None or status.state != "finished"):
        return Listed(status.run, status.what, status.state, status.started_at, status, label=label)
    assert run is not None, "it is of the store or of this server"
    sentences = [run.problem] if run.problem else run.sentences
    return Listed(run.name, run.what, run.state, run.started_at, status, sentences, label)
