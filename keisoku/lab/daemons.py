"""Daemons of a lab: children in the DUT's namespace, with a directory named after the namespace."""

from __future__ import annotations

import os
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.host.child import Child
from keisoku.host.namespace import Namespace
from keisoku.host.program import Program
from keisoku.host.undo import record, undo

FOLDER = Path("/run")
"""Where the directories are: in memory, and owned by root, so that no other user can take a name first."""
_PATIENCE_S = 10.0


class Daemons:
    """The daemons of one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self.directory = FOLDER / namespace.name
        self._stack = ExitStack()

    def make_directory(self) -> Path:
        """Makes the directory, readable by this user only."""
        self._stack.callback(undo, record("folder", path=str(self.directory)))
        self.directory.mkdir(mode=0o700)
        return self.directory

    def start(
        self, program: Program, *arguments: str, ready: Path, core: int | None, environment: dict[str, str]
    ) -> None:
        """Start a daemon on `core`; wait until it listens at the socket `ready`.

        Must be called within the namespace. Raises EngineError with the daemon's last line of output if it ends first.
        """
        if core is not None:
            os.sched_setaffinity(0, {core})  # of this short-lived thread, and so of its child
        log = self.directory / f"{program.name}.log"
        with log.open("wb") as output:
            child = Child(
                [program.path or program.name, *arguments],
                stdout=output,
                stderr=output,
                cwd=self.directory,
                env=os.environ | environment,
                start_new_session=True,  # only the tester reacts to Ctrl-C; it then ends its daemons in order
            )
        self._stack.callback(child.end)
        deadline = time.monotonic() + _PATIENCE_S
        while not listens(ready):
            if child.ended() or time.monotonic() > deadline:
                said = log.read_text(errors="replace").strip().splitlines()
                raise EngineError(f"{program.name} did not start: {said[-1] if said else 'it printed nothing'}")
            time.sleep(0.005)

    def end(self) -> None:
        """End all and remove the directory; no error if there is none."""
        self._stack.close()


def listens(path: Path) -> bool:
    """Whether a process takes connections at a socket: its file is there before that."""
    with socket.socket(socket.AF_UNIX) as probe, suppress(FileNotFoundError, ConnectionRefusedError):
        probe.connect(str(path))
        return True
    return False
