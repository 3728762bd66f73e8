"""The journal of limits: one file for each run that sets any, written before the first and removed after the last.

Whoever finds the file of a dead run undoes what it says: the guard of that run, the next run, or `keisoku clean`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyroute2 import IPRoute, NetlinkError

from keisoku.errors import EngineError
from keisoku.host.namespace import within
from keisoku.host.owner import born_at, lives
from keisoku.system.shaping import discipline

FOLDER = Path("/run/keisoku-limits")
"""In memory, as qdiscs are, and root's."""


@dataclass(frozen=True)
class Limited:
    """An interface that may carry a limit of ours."""

    interface: str
    index: int
    namespace: str | None
    inode: int
    """Of the namespace: another one may get its name."""


def write(entries: Sequence[Limited]) -> Path:
    """A new file of this process, on the disk when it returns. Raises EngineError if it cannot be written."""
    text = json.dumps({"pid": os.getpid(), "born": born_at(os.getpid()), "ports": [vars(entry) for entry in entries]})
    try:
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        number = 1
        while True:
            path = FOLDER / f"{os.getpid()}-{number}.json"
            try:
                with path.open("x") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                return path
            except FileExistsError:
                number += 1
    except OSError as error:
        raise EngineError(f"the journal of limits cannot be written in {FOLDER}: {error.strerror}") from error


def entry(interface: str, namespace: Path | None) -> Limited:
    """Of an interface that is there. Raises PlanError for one that is not."""

    def look() -> Limited:
        with IPRoute() as ip:
            index = discipline.index_of(ip, interface)
        return Limited(interface, index, str(namespace) if namespace else None, _inode())

    return within(namespace, look) if namespace else look()


def undo(path: Path) -> list[str]:
    """Lifts what a file names, and removes the file; the interfaces that did carry a limit."""
    try:
        ports = [Limited(**port) for port in json.loads(path.read_text())["ports"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError):
        ports = []  # cut off while it was written, so before any limit was set
    lifted = [port.interface for port in ports if _lift(port)]
    path.unlink(missing_ok=True)
    return lifted


def undo_left(force: bool = False) -> list[str]:
    """Undoes the files of runs that are dead, with `force` of all; the interfaces that carried a limit."""
    lifted = []
    for path in sorted(FOLDER.glob("*.json")) if FOLDER.is_dir() else []:
        if force or not _lives(path):
            lifted += undo(path)
    return lifted


def _lift(port: Limited) -> bool:
    def work() -> bool:
        return _inode() == port.inode and discipline.lift(port.interface, port.index)

    try:
        if port.namespace is None:
            return work()
        return Path(port.namespace).exists() and within(Path(port.namespace), work)
    except (EngineError, NetlinkError, OSError):
        return False  # gone with its namespace, or somebody else's by now


def _lives(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError, KeyError):
        owner = json.loads(path.read_text())
        return lives(int(owner["pid"]), int(owner["born"]))
    return False


def _inode() -> int:
    return Path("/proc/thread-self/ns/net").stat().st_ino
