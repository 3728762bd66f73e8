"""The journal of changes to this host that must be undone when their process ends.

Before a change, `record` writes an entry to the disk: a file with the action that undoes it. `undo` carries this
action out and then removes the entry. The process itself calls it, at the latest when it exits; for a killed process
its guard does, or the next process that makes such a change, or `keisoku clean`.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from keisoku.errors import EngineError, to_write
from keisoku.ground.host import discipline, process
from keisoku.ground.host.control_group import ControlGroup
from keisoku.ground.host.governor import set_governors
from keisoku.ground.host.interface import Interface, change
from keisoku.ground.host.namespace import Namespace, uninterrupted

FOLDER = Path("/run/keisoku")
"""Root's journal: in memory, as the changes themselves are."""
CHROOTS = ("/run/lldpd", "/run/sshd")
"""Where daemons lock themselves up, if there was no such folder before."""
_ENTRY = re.compile(r"(\d+)-(\d+)-(\d+)\.json")
_KEEPER = 'read -r _ || exec "$@"'
"""It waits for a line, which ends it, or for the end of the process that would write the line."""
_numbers = itertools.count(1)


def record(action: str, **arguments: Any) -> Path:
    """An entry of this process, on the disk when it returns. Raises EngineError if it cannot be written.

    `action` is one of `_ACTIONS`, which takes these arguments, ready for JSON.
    """
    number = next(_numbers)
    if number == 1:
        atexit.register(_undo_own)
    entry = _folder() / f"{os.getpid()}-{process.born_at(os.getpid())}-{number}.json"
    try:
        with entry.open("x") as file:
            json.dump({"action": action, **arguments}, file)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        how = to_write(error, "see that root may write there")
        raise EngineError(f"the journal {entry.parent} cannot be written: {error.strerror}; {how}") from error
    return entry


def record_chroot(path: Path) -> list[Path]:
    """An entry to remove where a daemon locks itself up; none if that is the host's own: it is there, and no entry of
    another process names it. The last one that names it removes it."""
    if path.exists() and not _naming_chroot(str(path)):
        return []
    return [record("chroot", path=str(path))]


def undo(*entries: Path) -> list[str]:
    """Carries out entries, the last one first; returns sentences about what was still there.

    An entry that no longer exists is no error. Raises EngineError, after all others, for what could not be undone; its
    entry stays.
    """
    done, failures = [], []

    def work() -> None:
        for entry in reversed(entries):
            try:
                if said := _undo(entry):
                    done.append(said)
            except Exception as error:  # any exception, so that the other entries are carried out too
                failures.append(str(error))

    uninterrupted(work)
    if failures:
        raise EngineError(f"not everything could be undone: {'; '.join(failures)}")
    return done


def leftovers(force: bool = False) -> list[Path]:
    """The entries of processes that have ended, with `force` of all processes, in the order in which they were
    written."""
    found = []
    for entry in _folder().iterdir():
        if match := _ENTRY.fullmatch(entry.name):
            owner, born, number = map(int, match.groups())
            if force or not process.lives(owner, born):
                found.append((owner, born, number, entry))
    return [entry for *_, entry in sorted(found)]


def undo_left() -> list[str]:
    """Undoes what ended processes left, as far as this one may; to be called before such a change is made."""
    done = []
    for entry in reversed(leftovers()):
        with suppress(EngineError):
            done += undo(entry)
    return done


@contextmanager
def undone_when_killed() -> Iterator[None]:
    """In the block, a process waits that undoes at once what this one leaves if it is killed: daemons would go on
    speaking to their neighbours until the next start."""
    command = ["/bin/sh", "-c", _KEEPER, "sh", sys.executable, "-m", "keisoku", "clean"]
    # Whatever signal ends this process must not end it, too.
    how: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    path = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path}, **how) as keeper:
        try:
            yield
        finally:
            keeper.communicate(b"\n")


def _undo(entry: Path) -> str | None:
    try:
        told = json.loads(entry.read_text())
    except FileNotFoundError:
        return None
    except ValueError:  # written only partly, so before the change was made
        said = None
    else:
        said = _ACTIONS[told.pop("action")](**told)
    entry.unlink(missing_ok=True)
    return said


def _undo_own() -> None:
    undo(*(entry for entry in leftovers(force=True) if entry.name.startswith(f"{os.getpid()}-")))


def _folder() -> Path:
    """Root's journal, or this user's own: who can write in it can have anything undone. Raises EngineError if there is
    none."""
    roots = os.geteuid() == 0 or os.access(FOLDER, os.W_OK, effective_ids=True)
    folder = FOLDER if roots else Path(tempfile.gettempdir()) / f"keisoku-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise EngineError(f"the journal {folder} cannot be made: {error.strerror}; make its parent writable") from error
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o170077 != 0o040000:
        raise EngineError(f"other users could write in {folder}, the folder of the journal; remove it")
    return folder


def _remove_namespace(name: str) -> str | None:
    namespace = Namespace(name)
    if not namespace.path.exists():
        return None
    namespace.remove()
    return f"removed {name}"


def _end_process(name: str, number: int, born: int) -> str | None:
    return f"ended {name}" if process.end(number, born) else None


def _remove_folder(path: str) -> str | None:
    if not Path(path).name.startswith("keisoku-"):
        raise EngineError(f"{path} is not a folder of keisoku")
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return None
    return f"removed {path}"


def _naming_chroot(path: str) -> int:
    """How many entries do."""
    found = 0
    for entry in _folder().iterdir():
        # One that is being written, or is no longer there, names nothing.
        with suppress(OSError, ValueError):
            found += json.loads(entry.read_text()) == {"action": "chroot", "path": path}
    return found


def _remove_chroot(path: str) -> str | None:
    """With the time zone that a daemon copied there, not with what others have put there, or still use."""
    if path not in CHROOTS:
        raise EngineError(f"{path} is not where a daemon locks itself up")
    if _naming_chroot(path) > 1:
        return None
    with suppress(OSError):
        Path(path, "etc/localtime").unlink(missing_ok=True)
        Path(path, "etc").rmdir()
    with suppress(OSError):
        Path(path).rmdir()
        return f"removed {path}"
    return None


def _lift_limit(interface: Mapping[str, Any]) -> str | None:
    one = Interface(**interface)
    return f"lifted the limit of {one.name}" if one.there(lambda: discipline.lift(one.index)) else None


def _set_back(interface: Mapping[str, Any], before: Mapping[str, int | bool]) -> str | None:
    one = Interface(**interface)
    return f"set {one.name} back" if one.there(lambda: change(one.name, before)) else None


def _set_governors_back(before: Mapping[str, str]) -> str:
    set_governors(before)
    return "set the CPUs' governors back"


def _lift_disk_limit(path: str, home: str, version: int) -> str | None:
    return "lifted the limit of a disk" if ControlGroup(Path(path), Path(home), version).remove() else None


_ACTIONS: Mapping[str, Callable[..., str | None]] = {
    "namespace": _remove_namespace,
    "process": _end_process,
    "folder": _remove_folder,
    "chroot": _remove_chroot,
    "limit": _lift_limit,
    "settings": _set_back,
    "disk limit": _lift_disk_limit,
    "governors": _set_governors_back,
}
