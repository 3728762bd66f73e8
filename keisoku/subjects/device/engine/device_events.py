"""Events of a trial on real ports: what can be done to a device, and the thread that does it at the stated times.

Times are CLOCK_MONOTONIC, which is the clock of the frames' timestamps.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from pyroute2 import NetlinkError

from keisoku.errors import EngineError, PlanError
from keisoku.subjects.device.record.event import Event, Happened

_SHELL = "/bin/sh"
_COMMAND_S = 60.0
_LOOK_S = 0.001
Work = Callable[[], int | None]
"""Does an event; returns when, in ns of CLOCK_MONOTONIC, if that is known better than by the call's begin and end."""


@dataclass(frozen=True)
class DeviceEvents:
    """What a device offers, by name; every device can have events by commands."""

    names: tuple[str, ...] = ()
    happen: Callable[[str, bool], int | None] | None = None
    """Does the event of this name, or undoes it."""

    def check(self, events: Sequence[Event]) -> None:
        """Raises PlanError for an event that the device does not offer."""
        for event in events:
            if not event.command and event.name not in self.names:
                remedy = f"use {' or '.join(self.names)}, or a command" if self.names else "give a command"
                raise PlanError("event", f"the device offers no event '{event.name}'", remedy)

    def work(self, event: Event) -> Work:
        """What does this event; it raises EngineError if that fails."""
        return partial(run_command, event.name) if event.command else partial(self._offered, event)

    def _offered(self, event: Event) -> int | None:
        assert self.happen is not None
        try:
            return self.happen(event.name, event.undo)
        except (EngineError, OSError, NetlinkError) as error:
            what = f"undoing '{event.name}'" if event.undo else f"the event '{event.name}'"
            raise EngineError(f"{what} failed: {error}") from error


def run_command(command: str) -> None:
    """Runs a command of the shell to its end. Raises EngineError if it fails or takes longer than a minute."""
    with subprocess.Popen(
        [_SHELL, "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as child:
        try:
            said, _ = child.communicate(timeout=_COMMAND_S)
        except subprocess.TimeoutExpired as error:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            raise EngineError(f"the command '{command}' did not end in {_COMMAND_S:g} s") from error
    if child.returncode != 0:
        lines = said.strip().splitlines()
        raise EngineError(f"the command '{command}' failed: {lines[-1] if lines else f'exit code {child.returncode}'}")


class EventThread(threading.Thread):
    """Does each work so long (ns) after the load has begun, in the order of the times."""

    def __init__(self, works: Sequence[tuple[int, Work]], load_begun_ns: Callable[[], int | None]) -> None:
        super().__init__(name="keisoku-events", daemon=True)
        self._works, self._load_begun_ns = sorted(works, key=lambda work: work[0]), load_begun_ns
        self._over = threading.Event()
        self._happened: list[Happened] = []
        self._error: Exception | None = None

    def run(self) -> None:
        """Waits for the load to begin, which may take seconds."""
        while (start_ns := self._load_begun_ns()) is None:
            if self._over.wait(_LOOK_S):
                return
        for after_ns, work in self._works:
            if self._over.wait(max(0, start_ns + after_ns - time.monotonic_ns()) / 1e9):
                return
            begun_ns = time.monotonic_ns()
            try:
                moment_ns = work()
            except Exception as error:  # an exception that ended the thread would leave a trial without its event
                self._error = error
                return
            ended_ns = time.monotonic_ns()
            self._happened.append(
                Happened(begun_ns=begun_ns - start_ns, ended_ns=ended_ns - start_ns)
                if moment_ns is None
                else Happened(begun_ns=moment_ns - start_ns, ended_ns=moment_ns - start_ns)
            )

    def end(self) -> list[Happened]:
        """After the load: what was done. Raises the error of a work that failed."""
        self._over.set()
        self.join()
        if self._error is not None:
            raise self._error
        return self._happened
