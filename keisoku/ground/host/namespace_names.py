"""What network namespaces are called, by the numbers that the kernel shows of them. It opens none."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from keisoku.ground.host.namespace import FOLDER


def inode(namespace: Path | None) -> int:
    """The number of the namespace with this file; None: that of this process."""
    return (namespace or Path("/proc/self/ns/net")).stat().st_ino


def namespace_names() -> dict[int, str]:
    """Names by numbers: as `ip netns` knows them, else by a process in them; this process's own has an empty one."""
    names: dict[int, str] = {}
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with suppress(OSError):
                names.setdefault(inode(process / "ns/net"), (process / "comm").read_text().strip())
    with suppress(OSError):
        names |= {inode(path): path.name for path in FOLDER.iterdir()}
    names[inode(None)] = ""
    return names
