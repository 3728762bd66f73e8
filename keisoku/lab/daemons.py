"""Daemons of a lab: children in the DUT's namespace, with a directory of their own; ended by pid file.

The directory bears the namespace's name, so whoever cleans finds it. A process is ended only if its command line names
that directory and it is in that namespace: a number that another process got since is left alone.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.host.namespace import NAME, Namespace
from keisoku.host.program import Program

FOLDER = Path("/run")
"""Where the directories are: in memory, and root's, so nobody can put a name there before us."""
_PATIENCE_S = 10.0
_GRACE_S = 2.0


class Daemons:
    """The daemons of one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self.directory = FOLDER / namespace.name
        self._namespace = namespace
        self._children: list[subprocess.Popen[bytes]] = []

    def start(
        self, program: Program, *arguments: str, ready: Path, core: int | None, environment: dict[str, str]
    ) -> None:
        """Start a daemon on `core` that writes `directory/<program>.pid` itself; wait until it listens at
        the socket `ready`.

        Must be called within the namespace. Raises EngineError with the daemon's last words if it ends first.
        """
        if core is not None:
            os.sched_setaffinity(0, {core})  # of this short-lived thread, and so of its child
        log = self.directory / f"{program.name}.log"
        with log.open("wb") as output:
            child = subprocess.Popen(
                [program.path or program.name, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                env=os.environ | environment,
                start_new_session=True,  # Ctrl-C is for the tester, which then ends its daemons in order
            )
        self._children.append(child)
        deadline = time.monotonic() + _PATIENCE_S
        while not listens(ready):
            if child.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(errors="replace").strip().splitlines()
                raise EngineError(f"{program.name} did not start: {said[-1] if said else 'it said nothing'}")
            time.sleep(0.005)

    def end(self) -> None:
        """End all and remove the directory; no error if there is none."""
        # A child that did not live to write its pid file is known by its handle only.
        for child in self._children:
            if not (self.directory / f"{Path(str(child.args[0])).name}.pid").exists():  # type: ignore[index]
                child.kill()
        end_left(self._namespace)
        while self._children:
            self._children.pop().wait()


def listens(path: Path) -> bool:
    """Whether a process takes connections at a socket: its file is there before that."""
    with socket.socket(socket.AF_UNIX) as probe, suppress(FileNotFoundError, ConnectionRefusedError):
        probe.connect(str(path))
        return True
    return False


def left() -> list[Namespace]:
    """The namespaces, there or gone, of which there is a directory of daemons."""
    return [Namespace(entry.name) for entry in sorted(FOLDER.iterdir()) if NAME.fullmatch(entry.name)]


def end_left(namespace: Namespace) -> None:
    """End the daemons of a namespace by their pid files, whoever started them, and remove their directory."""
    directory = FOLDER / namespace.name
    for file in sorted(directory.glob("*.pid")):
        with suppress(ValueError, FileNotFoundError):
            _end(int(file.read_text()), directory, namespace)
    with suppress(FileNotFoundError):
        shutil.rmtree(directory)


def _end(number: int, directory: Path, namespace: Namespace) -> None:
    try:
        process = os.pidfd_open(number)
    except ProcessLookupError:
        return
    try:
        # Verified while the handle is held: the number cannot pass to another process in between.
        if _is_ours(number, directory, namespace):
            for sign, patience_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _PATIENCE_S)):
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, sign)
                if select.select([process], [], [], patience_s)[0]:
                    break
    finally:
        os.close(process)


def _is_ours(number: int, directory: Path, namespace: Namespace) -> bool:
    place = Path("/proc") / str(number)
    try:
        words = (place / "cmdline").read_bytes().split(b"\0")
        inside, named = (place / "ns/net").stat(), namespace.path.stat() if namespace.path.exists() else None
    except FileNotFoundError:
        return False
    if named is not None and (inside.st_dev, inside.st_ino) != (named.st_dev, named.st_ino):
        return False
    return any(os.fsencode(directory) + b"/" in word for word in words)
