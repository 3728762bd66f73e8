"""Runs of measurements on the server's ports, one at a time, each on a thread of its own. Knows no transport.

The caller decides who may start one, and whether the ports are free.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from keisoku.errors import EngineError, KeisokuError, Occupied, PlanError
from keisoku.faces.service.course import Course, Moment
from keisoku.faces.service.document import Judged, RunStatus
from keisoku.ground.entry import Measurement, Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.directory import RUNS, RunDirectory, free_path
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.settings import RunSettings
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.dry_run import outlined
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import find
from keisoku.subjects.device.engine.engine import Progress
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

MOST_KEPT = 256
"""Number of runs whose status is kept; directories are not removed."""
_log = logging.getLogger(__name__)


class NoSuchRun(PlanError):
    """Raised for a name that no run of this server has."""


class Runs:
    """All runs of a server, in the order of their start, kept in directories below `folder`."""

    def __init__(self, folder: Path = RUNS) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}

    @property
    def active(self) -> bool:
        """Whether a run holds ports now."""
        return self.holder is not None

    @property
    def holder(self) -> str | None:
        """The name of the run that holds ports now."""
        with self._lock:
            return next((run.name for run in self._runs.values() if run.holds_ports), None)

    def check_idle(self) -> None:
        """Raises Occupied while a run holds ports."""
        held = self.holder
        if held is not None:
            raise Occupied("ports", f"the run {held} holds them", "wait until it is over, or cancel it")

    def start(self, document: dict[str, Any]) -> RunStatus:
        """Begins a run of this plan and returns when its ports are open.

        Raises PlanError if the plan cannot be carried out, EngineError if a port fails; then there is no run.
        """
        measurement, settings = asked_from_afar(document)
        self.check_idle()
        with self._lock:
            path = free_path(measurement.run_name(settings), self.folder)
            run = _Run(path, measurement, settings)
            self._runs[run.name] = run
        try:
            run.begin()
        except KeisokuError:
            with self._lock:
                del self._runs[run.name]
            raise
        with self._lock:
            for old in list(self._runs)[:-MOST_KEPT]:
                del self._runs[old]
        return run.status()

    def outline(self, document: dict[str, Any]) -> list[str]:
        """What a run of this plan would do, in sentences. Raises as `start` does; then it could not be started."""
        measurement, settings = asked_from_afar(document)
        self.check_idle()
        return outlined(measurement, settings)

    def course(self, name: str) -> list[Moment]:
        """How a run of this server has gone until now. Raises NoSuchRun."""
        return self._run(name).course.moments

    def statuses(self) -> list[RunStatus]:
        """The status of all runs."""
        with self._lock:
            runs = list(self._runs.values())
        return [run.status() for run in runs]

    def status(self, name: str) -> RunStatus:
        """The status of a run. Raises NoSuchRun."""
        return self._run(name).status()

    def cancel(self, name: str) -> RunStatus:
        """Ends a run and waits for its end; finished trials are kept. A run that is over is not changed."""
        run = self._run(name)
        run.cancel()
        return run.status()

    def directory(self, name: str) -> RunDirectory:
        """The directory of its trials. Raises NoSuchRun."""
        return RunDirectory.open(self._run(name).path)

    def finished(self, name: str) -> RunDirectory:
        """The directory of its results. Raises NoSuchRun, or PlanError if it has none."""
        status = self.status(name)
        if status.state != "finished":
            raise PlanError("run", f"{name} is {status.state} and has no results", "ask for its trials")
        return self.directory(name)

    def newest(self) -> list[RunDirectory]:
        """The newest finished run of each device and measurement."""
        finished = {status.what: status.run for status in self.statuses() if status.state == "finished"}
        return [self.directory(name) for name in finished.values()]

    def close(self) -> None:
        """Cancels the current run."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.cancel()

    def _run(self, name: str) -> _Run:
        with self._lock:
            found = self._runs.get(name)
        if found is None:
            raise NoSuchRun("run", f"there is no {name}", "use one of the list of runs")
        return found


def asked_from_afar(document: Mapping[str, Any]) -> tuple[Measurement[Any], RunSettings]:
    """A client's plan, as in the file of `keisoku run`. Raises PlanError if it is invalid."""
    values = dict(document)
    measurement = find(str(values.pop("measurement", DEVICE)))
    if measurement.from_afar is None:
        raise PlanError(
            "measurement", f"the server does not carry out {measurement.name}", "measure from its command line"
        )
    measurement.from_afar(values)
    settings: RunSettings = measurement.settings_of(values)
    return measurement, settings


class _Cancelled(Exception):
    """Raised by a run's observer to end the run."""


class _Run(Observer):
    """One run: its thread and its status. It observes its own trials."""

    def __init__(self, path: Path, measurement: Measurement[Any], settings: RunSettings) -> None:
        self.path, self.name = path, path.name
        self._measurement, self._settings = measurement, settings
        self._lock = threading.Lock()
        self._state: Literal["running", "finished", "cancelled", "failed"] = "running"
        self._error: KeisokuError | None = None
        self._started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self._trials = 0
        self._doing: str | None = None
        self._progress: Progress | None = None
        self._come: float | None = None
        self._criteria: list[Judged] = []
        self.course = Course()
        self._opened = False
        self._begun, self._cancelled = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._measure, name="keisoku-run", daemon=True)

    @property
    def holds_ports(self) -> bool:
        """True until the ports are closed, which is when the run has ended."""
        return self._state == "running"

    def begin(self) -> None:
        """Returns when ports are open and the directory exists. Raises the exception that prevented this."""
        self._thread.start()
        self._begun.wait()
        if not self._opened and self._error is not None:
            self._thread.join()
            raise self._error

    def cancel(self) -> None:
        """Returns when it is over."""
        self._cancelled.set()
        if self._thread.is_alive():
            self._thread.join()

    def status(self) -> RunStatus:
        """The current status."""
        with self._lock:
            progress = self._progress if self._state == "running" else None
            return RunStatus(
                run=self.name,
                state=self._state,
                measurement=self._measurement.name,
                what=self._measurement.run_name(self._settings),
                started_at=self._started_at,
                trials=self._trials,
                doing=self._doing if self._state == "running" else None,
                progress=self._come if progress is None else _share(progress),
                offered_frames=None if progress is None else progress.offered_frames,
                forwarded_frames=None if progress is None else progress.forwarded_frames,
                error=None if self._error is None else str(self._error),
                criteria=self._criteria,
            )

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """Called by the runner, as are the next two."""
        self._check()
        with self._lock:
            self._doing, self._progress = f"{method}: {trial.purpose}", None
            self.course.began(trial)

    def trial_progress(self, progress: Progress) -> None:
        """The running trial has progressed."""
        self._check()
        with self._lock:
            self._progress = progress
            self.course.moved(progress)

    def trial_finished(self, record: TrialRecord) -> None:
        """A trial is on the disk."""
        with self._lock:
            self._trials, self._progress = self._trials + 1, None
            self.course.ended(record)
        self._check()

    def _check(self) -> None:
        if self._cancelled.is_set():
            raise _Cancelled

    def _measure(self) -> None:
        found: Outcome | None = None
        state: Literal["finished", "cancelled", "failed"] = "failed"
        error: KeisokuError | None = None
        try:
            found = carry_out(Work(self._measurement, self._settings, self.path, observer=self))
            state = "finished"
        except _Cancelled:
            state = "cancelled"
        except KeisokuError as problem:
            error = problem
        except Exception as problem:
            _log.exception("run %s failed", self.name)
            error = EngineError(f"{type(problem).__name__}: see the server's log")
        with self._lock:
            self._state, self._error = state, error
            if found is not None:
                self._criteria = [
                    Judged(criterion=each.text, met=each.met, measured=each.measured, undecided=each.undecided)
                    for each in found.verdicts
                ]
        self._begun.set()

    def begun(self, directory: RunDirectory) -> None:
        """The ports are open, and the directory exists."""
        self._opened = True
        self._begun.set()

    def came_to(self, done: float, whole: float, said: str) -> None:
        """How far the measurement has come."""
        self._check()
        with self._lock:
            self._doing, self._come = said or self._doing, done / whole if whole else None

    def saw(
        self,
        of: str = "",
        *,
        bits_per_second: float | None = None,
        loss_percent: float | None = None,
        latency_ns: float | None = None,
    ) -> None:
        """Drawn while the run goes."""
        self._check()
        with self._lock:
            self.course.saw(of, bits_per_second, loss_percent, latency_ns)

    def tell(self, line: str) -> None:
        """The measurement's own description of its current step."""
        self._check()
        with self._lock:
            self._doing = line

    def warn(self, line: str) -> None:
        """Shown as the current step as well."""
        self.tell(line)


def _share(progress: Progress) -> float | None:
    if progress.expected_s <= 0:
        return None
    return min(max(progress.elapsed_s / progress.expected_s, 0.0), 1.0)
