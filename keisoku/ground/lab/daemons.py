"""Daemons: children in the namespace of a lab or of the host, with a directory of their own."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.child import Child
from keisoku.ground.host.program import Program
from keisoku.ground.host.undo import record, undo

FOLDER = Path("/run")
"""Where the directories are: in memory, and owned by root, so that no other user can take a name first."""
_PATIENCE_S = 10.0
_URGENT_NICE = -15


class Daemons:
    """The daemons of one directory, which has the name of their namespace if that is one of a lab."""

    def __init__(self, name: str) -> None:
        self.directory = FOLDER / name
        self._stack = ExitStack()
        self._children: dict[str, Child] = {}

    def make_directory(self, passable: bool = False) -> Path:
        """Makes the directory, readable by this user only; if `passable`, others may have directories in it."""
        self._stack.callback(undo, record("folder", path=str(self.directory)))
        self.directory.mkdir(mode=0o711 if passable else 0o700)
        return self.directory

    def start(
        self,
        program: Program,
        *arguments: str,
        ready: Path | Callable[[], bool],
        core: int | None,
        environment: dict[str, str] | None = None,
        name: str = "",
        urgent: bool = False,
    ) -> None:
        """Start a daemon on `core`; wait until it listens at the socket `ready`, or until that says so. `name` tells
        several of one program apart. An `urgent` one goes before ordinary processes, as a protocol with short timers
        must.

        Must be called within their namespace. Raises EngineError with the last line of output if it ends first.
        """
        if core is not None:
            os.sched_setaffinity(0, {core})  # of this short-lived thread, and so of its child
        if urgent:
            with suppress(PermissionError):
                os.setpriority(os.PRIO_PROCESS, 0, _URGENT_NICE)  # likewise of this thread alone
        name = name or program.name
        log = self._log(name)
        with log.open("wb") as output:
            child = Child(
                [program.path or program.name, *arguments],
                stdout=output,
                stderr=output,
                cwd=self.directory,
                env=os.environ | (environment or {}),
                start_new_session=True,  # only the tester reacts to Ctrl-C; it then ends its daemons in order
            )
        self._stack.callback(child.end)
        self._children[name] = child
        deadline = time.monotonic() + _PATIENCE_S
        while not (listens(ready) if isinstance(ready, Path) else ready()):
            if child.ended() or time.monotonic() > deadline:
                said = log.read_text(errors="replace").strip().splitlines()
                raise EngineError(f"{program.name} did not start: {said[-1] if said else 'it printed nothing'}")
            time.sleep(0.005)

    @property
    def numbers(self) -> list[int]:
        """Of the processes that are running."""
        return [child.number for child in self._children.values() if not child.ended()]

    def log(self, name: str) -> str:
        """What a daemon has printed since it was started."""
        return self._log(name).read_text(errors="replace")

    def _log(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def kill(self, name: str) -> None:
        """Kill a daemon by its name; it may be started again. Raises EngineError if none of that name runs."""
        if name not in self._children:
            raise EngineError(f"no daemon {name} runs")
        self._children.pop(name).kill()

    def end(self) -> None:
        """End all and remove the directory; no error if there is none."""
        self._stack.close()


def listens(path: Path) -> bool:
    """Whether a process takes connections at a socket: its file is there before that."""
    with socket.socket(socket.AF_UNIX) as probe, suppress(FileNotFoundError, ConnectionRefusedError):
        probe.connect(str(path))
        return True
    return False
