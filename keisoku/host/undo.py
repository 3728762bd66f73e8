"""One journal of what must not outlive the process that made it, and one way to undo it.

Before a thing is made, `record` puts an entry on the disk: a file that says how to undo it. `undo` does so and then
removes the entry. The process itself calls it, at the latest when it exits; for a process that was killed, its guard,
the next process that makes such a thing, or `keisoku clean`.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from keisoku.errors import EngineError
from keisoku.host import discipline, process
from keisoku.host.interface import Interface, change
from keisoku.host.namespace import Namespace, uninterrupted

FOLDER = Path("/run/keisoku")
"""In memory, as what is made is, and root's."""
_ENTRY = re.compile(r"(\d+)-(\d+)-(\d+)\.json")
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
        raise EngineError(f"the journal {entry.parent} cannot be written: {error.strerror}; make room") from error
    return entry


def undo(*entries: Path) -> list[str]:
    """Undoes what entries say, the last one first; sentences of what was still there.

    An entry that is gone is no error. Raises EngineError, after all others, for what could not be undone; its entry
    stays.
    """
    done, failures = [], []

    def work() -> None:
        for entry in reversed(entries):
            try:
                if said := _undo(entry):
                    done.append(said)
            except Exception as error:  # whatever it is, the others have their turn
                failures.append(str(error))

    uninterrupted(work)
    if failures:
        raise EngineError(f"not everything could be undone: {'; '.join(failures)}")
    return done


def left(force: bool = False) -> list[Path]:
    """The entries of processes that are dead, with `force` of all, in the order in which their things were made."""
    found = []
    for entry in _folder().iterdir():
        if match := _ENTRY.fullmatch(entry.name):
            owner, born, number = map(int, match.groups())
            if force or not process.lives(owner, born):
                found.append((owner, born, number, entry))
    return [entry for *_, entry in sorted(found)]


def undo_left() -> list[str]:
    """Undoes what dead processes left, as far as this one may; call it before such a thing is made."""
    done = []
    for entry in reversed(left()):
        with suppress(EngineError):
            done += undo(entry)
    return done


def _undo(entry: Path) -> str | None:
    try:
        told = json.loads(entry.read_text())
    except FileNotFoundError:
        return None
    except ValueError:  # cut off while it was written, so before anything was made
        said = None
    else:
        said = _ACTIONS[told.pop("action")](**told)
    entry.unlink(missing_ok=True)
    return said


def _undo_own() -> None:
    undo(*(entry for entry in left(force=True) if entry.name.startswith(f"{os.getpid()}-")))


def _folder() -> Path:
    """Root's, or this user's own; others could have anything undone. Raises EngineError if there is none."""
    roots = os.geteuid() == 0 or os.access(FOLDER, os.W_OK, effective_ids=True)
    folder = FOLDER if roots else Path(tempfile.gettempdir()) / f"keisoku-{os.geteuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise EngineError(f"the journal {folder} cannot be made: {error.strerror}; make that possible") from error
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o170077 != 0o040000:
        raise EngineError(f"others could write in {folder}, where the journal should be; remove it")
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
        raise EngineError(f"{path} is no folder of keisoku's")
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return None
    return f"removed {path}"


def _lift_limit(interface: Mapping[str, Any]) -> str | None:
    one = Interface(**interface)
    return f"lifted the limit of {one.name}" if one.there(lambda: discipline.lift(one.index)) else None


def _set_back(interface: Mapping[str, Any], before: Mapping[str, int | bool]) -> str | None:
    one = Interface(**interface)
    return f"set {one.name} back" if one.there(lambda: change(one.name, before)) else None


_ACTIONS: Mapping[str, Callable[..., str | None]] = {
    "namespace": _remove_namespace,
    "process": _end_process,
    "folder": _remove_folder,
    "limit": _lift_limit,
    "settings": _set_back,
}
