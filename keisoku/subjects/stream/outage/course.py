"""What happens while interruptions are measured, and when: an event and its undoing, a command, markers of others.

Times are CLOCK_MONOTONIC, as those of the packets.
"""

from __future__ import annotations

import os
import select
import stat
import subprocess
import threading
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from keisoku.errors import EngineError, PlanError
from keisoku.subjects.device.engine.device_events import run_command
from keisoku.subjects.stream.outage.marker_server import MarkerServer
from keisoku.subjects.stream.outage.settings import CourseSettings

_LOOK_S = 0.05
_MOST_MARKERS = 10_000
_MOST_LINE = 200
"""Characters of a line that are kept."""


class Course:
    """A context manager; what happens, happens on threads of its own until `is_over`."""

    def __init__(self, settings: CourseSettings) -> None:
        self._settings = settings
        self._over, self._stopped = threading.Event(), threading.Event()
        self._error: Exception | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._marks: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, daemon=True)]
        if settings.markers:
            self._fifo = _fifo(Path(settings.markers))
            self._threads.append(threading.Thread(target=self._read, daemon=True))
        at = settings.markers_at
        self._server: AbstractContextManager[Any] = nullcontext() if at is None else MarkerServer(*at, self._mark_line)
        self.begun_ns = time.monotonic_ns()
        """When it began."""

    def __enter__(self) -> Self:
        self.begun_ns = time.monotonic_ns()
        self._server.__enter__()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()
        for thread in self._threads:
            thread.join()
        self._server.__exit__(kind, error, trace)

    @property
    def marks(self) -> list[dict[str, Any]]:
        """What has happened so far, in the order of time: 'kind', 'text', 'begun_ns', 'ended_ns'."""
        with self._lock:
            return sorted(self._marks, key=lambda mark: int(mark["begun_ns"]))

    def is_over(self) -> bool:
        """Whether nothing more will happen, and the time to watch is over. Raises EngineError if a command failed."""
        if self._error is not None:
            raise self._error
        return self._over.is_set()

    def _run(self) -> None:
        try:
            self._happen()
        except Exception as error:  # it would end the thread, and nobody would know
            self._error = error

    def _happen(self) -> None:
        settings = self._settings
        if settings.while_:
            self._wait(settings.stable_s)
            self._accompany(settings.while_)
            self._wait(settings.watch_s)
        elif settings.event:
            for kind, command, wait_s in (
                ("event", settings.event, settings.stable_s),
                ("undo", settings.undo, settings.watch_s),
            ):
                if command and not self._wait(wait_s):
                    begun_ns = time.monotonic_ns()
                    run_command(command)
                    self._mark(kind, command, begun_ns)
            self._wait(settings.watch_s)
        else:
            self._wait(settings.duration_s)
        self._over.set()

    def _accompany(self, command: str) -> None:
        """Carries a command out to its end, whose exit code is a mark of its own: it need not be zero."""
        begun_ns = time.monotonic_ns()
        self._child = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL)
        self._mark("command", command, begun_ns)
        while self._child.poll() is None and not self._stopped.is_set():
            self._stopped.wait(_LOOK_S)
        if self._child.returncode is not None:
            self._mark("end", f"exit code {self._child.returncode}", time.monotonic_ns())

    def _wait(self, seconds: float) -> bool:
        return self._stopped.wait(seconds)

    def _mark(self, kind: str, text: str, begun_ns: int) -> bool:
        """Whether there was room for it."""
        mark = {"kind": kind, "text": text[:_MOST_LINE], "begun_ns": begun_ns, "ended_ns": time.monotonic_ns()}
        with self._lock:
            room = len(self._marks) < _MOST_MARKERS
            if room:
                self._marks.append(mark)
        return room

    def _mark_line(self, line: str, came_ns: int) -> bool:
        return self._mark("marker", line, came_ns)

    def _read(self) -> None:
        """Lines of the FIFO; whoever writes may close it and another one open it."""
        descriptor, rest = self._fifo, b""
        try:
            while not self._stopped.is_set():
                ready, _, _ = select.select([descriptor], [], [], _LOOK_S)
                part = b""
                if ready:
                    with suppress(BlockingIOError):
                        part = os.read(descriptor, 1 << 12)
                now_ns = time.monotonic_ns()
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    self._mark_line(line.decode("utf-8", "replace").strip(), now_ns)
                rest = rest[-_MOST_LINE:]
        finally:
            os.close(descriptor)


def _fifo(path: Path) -> int:
    """Its descriptor; made if there is none. Raises PlanError if that is something else."""
    try:
        if not path.exists():
            os.mkfifo(path)
        if not stat.S_ISFIFO(path.stat().st_mode):
            raise PlanError("markers", f"{path} is no FIFO", "give a path at which there is nothing")
        # Open for writing as well, so that it does not end when a writer closes it.
        return os.open(path, os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        raise EngineError(f"{path} cannot be read: {error.strerror}; give another path to --markers") from error
