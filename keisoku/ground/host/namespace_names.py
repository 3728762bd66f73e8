"""The files of network namespaces, and what these are called by the numbers that the kernel shows of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from keisoku.ground.host.namespace import FOLDER


def inode(namespace: Path | None) -> int:
    """The number of the namespace with this file; None: that of this process."""
    return (namespace or Path("/proc/self/ns/net")).stat().st_ino


def namespace_files() -> Iterator[Path]:
    """Those that `ip netns` knows first; then that of each process, so that one may come often."""
    with suppress(OSError):
        yield from FOLDER.iterdir()
    yield from (process / "ns/net" for process in Path("/proc").iterdir() if process.name.isdecimal())


def namespace_file(number: int) -> Path | None:
    """A file of the namespace with this number, by which it can be entered; None if it has gone."""
    for path in namespace_files():
        with suppress(OSError):
            if inode(path) == number:
                return path
    return None


def namespace_names() -> dict[int, str]:
    """Names by numbers: as `ip netns` knows them, else by a process in them; this process's own has an empty one."""
    names = {inode(None): ""}
    for path in namespace_files():
        with suppress(OSError):
            number = inode(path)
            if number not in names:
                names[number] = path.name if path.parent == FOLDER else (path.parents[1] / "comm").read_text().strip()
    return names
