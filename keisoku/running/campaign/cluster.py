"""The runs of a campaign on many hosts: each is a task of a Dask cluster, at a worker that announces what it needs.

Dask decides who does what and when, and gives a task to another worker when one dies or is cut off. This file makes of
a run a task that may be made again, takes each result once, and says which attempts were lost.
"""

from __future__ import annotations

import io
import logging
import queue
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

from keisoku.errors import EngineError, KeisokuError, PlanError, to_write
from keisoku.ground.entry import Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.settings import RunSettings, parsed
from keisoku.language import phrase
from keisoku.running.campaign.log import Log
from keisoku.running.campaign.security import security
from keisoku.running.campaign.settings import CampaignSettings, Cell, Planned
from keisoku.running.measurement.part_run import completed, may_do_better
from keisoku.running.measurement.plan_values import Find
from keisoku.running.measurement.repetition import repeated

if TYPE_CHECKING:
    from distributed import Client, Future

_CONNECT_S = 10.0
_MOST_BYTES = 1 << 30
"""Of a run that is sent through the cluster, packed: it passes the memory of worker and scheduler."""


@dataclass(frozen=True)
class _Task:
    """A run, for a worker. Dask writes what a task was given into its logs: the plan is not shown there."""

    run: str
    measurement: str
    plan: dict[str, Any] = field(repr=False)
    find: Find = field(repr=False)
    """What finds the entry of the measurement; a function, of which the worker is sent the name."""
    version: str
    topic: str
    """Of Dask's events, where the worker says that it begins."""


@dataclass(frozen=True)
class _Made:
    """What a worker made of a run."""

    seconds: float
    worker: str
    packed: bytes = field(default=b"", repr=False)
    """The run's directory."""
    failed: str = ""
    final: bool = False
    """No other attempt would do better."""
    warned: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Event:
    """Something happened in the cluster: a run began or was lost at a worker, or its future is done."""

    kind: str
    key: str
    worker: str = ""


def on_cluster(
    work: Work[CampaignSettings],
    log: Log,
    left: Sequence[Planned],
    settings_of: Callable[[Planned], RunSettings],
    find: Find,
) -> None:
    """Carries out the runs at the workers of the cluster. Raises PlanError if it cannot be reached or used.

    EngineError if the scheduler is lost: the campaign can be continued.
    """
    assert work.settings.cluster is not None
    with _connected(work.settings.cluster) as client:
        _Campaign(client, work, log, left, settings_of, find).carry_out()


class _Campaign:
    """The tasks of one campaign, from the host that began it."""

    def __init__(
        self,
        client: Client,
        work: Work[CampaignSettings],
        log: Log,
        left: Sequence[Planned],
        settings_of: Callable[[Planned], RunSettings],
        find: Find,
    ) -> None:
        self._client, self._work, self._log, self._settings_of = client, work, log, settings_of
        self._find = find
        self._topic = f"keisoku-{uuid4().hex}"
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._places = {run.name: place for place, run in enumerate(left)}
        self._waiting: dict[str, tuple[Planned, Future]] = {}
        """By the key of the task. What is not here is over: whatever else comes of it is not taken."""
        self._began: dict[str, float] = {}
        """When a worker said that it begins, by the key of the task."""
        self._attempts = Counter[str]()
        self._left = left

    def carry_out(self) -> None:
        self._check_workers()
        self._client.subscribe_topic(self._topic, self._begun)
        self._client.subscribe_topic("all", self._removed)
        for run in self._left:
            self._submit(run)
        while self._waiting:
            event = self._events.get()
            if event.key not in self._waiting:
                continue
            run, future = self._waiting[event.key]
            if event.kind == "begun":
                self._began[event.key] = time.monotonic()
                self._log.begins(run)
            elif event.kind == "lost":
                self._lost(event, run, future)
            else:
                self._done(event.key, run, future)

    def _check_workers(self) -> None:
        """Each port is announced once at each worker, and by some worker."""
        workers = self._workers()
        for cell in {run.cell.name: run.cell for run in self._left}.values():
            for address, each in workers.items():
                if many := [name for name in cell.resources if each["resources"].get(name, 1) != 1]:
                    raise PlanError(
                        "cluster",
                        f"{address} announces {each['resources'][many[0]]:g} of {many[0]}",
                        "announce 1, so that a run has it for itself",
                    )
            self._say_who_waits(cell, workers)

    def _workers(self) -> dict[str, Any]:
        """What the scheduler knows of each worker, by its address."""
        found: dict[str, Any] = self._client.scheduler_info(n_workers=-1)["workers"]
        return found

    def _say_who_waits(self, cell: Cell, workers: dict[str, Any]) -> None:
        if not any(set(cell.resources) <= set(each["resources"]) for each in workers.values()):
            names = ", ".join(cell.resources)
            self._work.observer.warn(
                phrase("{cell} waits for a worker that announces {names}", cell=cell.name, names=names)
            )

    def _submit(self, run: Planned) -> None:
        settings = self._settings_of(run)
        task = _Task(run.name, run.cell.entry.name, settings.plain(), self._find, version("keisoku"), self._topic)
        key = f"{self._topic}-{run.name}-{self._attempts[run.name]}"
        future = self._client.submit(
            carried_out_here,
            task,
            key=key,
            resources=dict.fromkeys(run.cell.resources, 1),
            priority=-self._places[run.name],
            pure=False,
        )
        self._waiting[key] = (run, future)
        future.add_done_callback(lambda done: self._events.put(_Event("done", done.key)))

    def _begun(self, event: tuple[float, Any]) -> None:
        """Of a worker of ours; called in Dask's own thread."""
        self._events.put(_Event("begun", event[1]["key"], event[1]["worker"]))

    def _removed(self, event: tuple[float, Any]) -> None:
        """Of any worker; called in Dask's own thread."""
        said = event[1]
        if isinstance(said, dict) and said.get("action") == "remove-worker":
            for key in (*said.get("processing-tasks", ()), *said.get("lost-computed-tasks", ())):
                self._events.put(_Event("lost", key, said.get("worker", "")))

    def _lost(self, event: _Event, run: Planned, future: Future) -> None:
        """Dask gives the run to a worker again; one that had not begun has lost nothing."""
        began = self._began.pop(event.key, None)
        if began is None:
            return
        self._attempts[run.name] += 1
        why = phrase("its worker {worker} died or was cut off", worker=event.worker)
        self._log.ended(run, time.monotonic() - began, why, event.worker)
        if self._attempts[run.name] >= self._work.settings.attempts:
            del self._waiting[event.key]
            future.cancel()
        else:
            self._say_who_waits(run.cell, self._workers())

    def _done(self, key: str, run: Planned, future: Future) -> None:
        del self._waiting[key]
        self._began.pop(key, None)
        self._attempts[run.name] += 1
        if future.status == "cancelled":
            raise EngineError(f"cluster: the scheduler at {self._work.settings.cluster} was lost")
        if future.status == "error":  # not of the measurement, which says itself why it failed
            error = future.exception()
            made = _Made(0.0, "", failed=f"{type(error).__name__}: {error}")
        else:
            made = future.result()
        future.release()
        for said in made.warned:
            self._work.observer.warn(phrase("{run}: {said}", run=run.name, said=said))
        if not made.failed:
            assert self._work.directory is not None
            unpack(made.packed, self._work.directory.path / run.name)
        self._log.ended(run, made.seconds, made.failed, made.worker)
        if made.failed and not made.final and self._attempts[run.name] < self._work.settings.attempts:
            self._submit(run)


class _Warned(Observer):
    """Keeps what whoever asked for a run must not miss."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warn(self, line: str) -> None:
        self.lines.append(line)


def carried_out_here(task: _Task) -> _Made:
    """The run, measured in a folder of this worker, which is packed and removed."""
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(task.topic, {"key": worker.get_current_task(), "worker": worker.address})
    since, warned = time.monotonic(), _Warned()

    def made(**found: Any) -> _Made:
        return _Made(round(time.monotonic() - since, 3), worker.address, warned=tuple(warned.lines), **found)

    if task.version != version("keisoku"):
        mine = version("keisoku")
        said = phrase("this worker has keisoku {mine}, and the campaign {wanted}", mine=mine, wanted=task.version)
        return made(failed=said, final=True)
    with TemporaryDirectory(prefix="keisoku-run-") as folder:
        path = Path(folder) / "run"
        try:
            entry = task.find(task.measurement)
            settings = parsed(entry.settings, task.plan)
            completed(Work(repeated(entry, settings.repeat), settings, path, observer=warned))
            return made(packed=packed(path))
        except KeisokuError as error:
            return made(failed=str(error), final=not may_do_better(error))


def packed(path: Path) -> bytes:
    """All files of a run. Raises PlanError if they are too many to be sent."""
    content = io.BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for file in sorted(path.rglob("*")):
            archive.write(file, file.relative_to(path))
            if content.tell() > _MOST_BYTES:
                problem = f"the run holds more than {_MOST_BYTES >> 30} GiB, which is too much to be sent"
                raise PlanError("frames", problem, "measure it without --cluster at the host itself")
    return content.getvalue()


def unpack(content: bytes, path: Path) -> None:
    """A run that was packed, at its place: whole or not at all. Raises KeisokuError if it cannot be written."""
    partial = path.with_name(f"{path.name}.partial")
    for old in (partial, path):  # of an attempt that was interrupted here, and is not in the log
        shutil.rmtree(old, ignore_errors=True)
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(partial)  # which leaves no path outside
        partial.rename(path)
    except OSError as error:
        raise KeisokuError(
            f"run directory: cannot write {path}: {error.strerror};"
            f" {to_write(error, 'do it as the owner of the run')}, and resume"
        ) from error


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    """A client of the scheduler, by Dask's configuration (TLS, timeouts). Raises PlanError if it does not answer."""
    from distributed import Client

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what concerns the user is said by the campaign
    proof = security(address)
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False, security=proof)
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        remedy = "start one (dask scheduler), or name it with tls:// if it has certificates"
        if address.startswith("tls://"):
            remedy = "start one (dask scheduler --tls-ca-file …), or name certificates that both ends trust"
        raise PlanError("cluster", f"no scheduler answers at {address} ({said})", remedy) from error
    try:
        yield client
    finally:
        client.close(timeout=_CONNECT_S)
