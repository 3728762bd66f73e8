"""`DiskLimit`: the disk of this process is slow, by a limit of the kernel, until it is lifted or the process ends."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from keisoku.errors import EngineError
from keisoku.ground.host.control_group import disk_of, find_hierarchy, new_group
from keisoku.ground.host.undo import record, undo, undo_left


class DiskLimit:
    """A context manager: reading and writing of this process and of children begun meanwhile, on the disk that holds
    `path`, in bit/s; None: no limit.

    What is in the page cache is not read from the disk, and has no limit. The journal (`undo`) lifts the limit of a
    process that was killed. Raises EngineError with one sentence where this host cannot limit that disk.
    """

    def __init__(self, path: Path, read_bps: float | None = None, write_bps: float | None = None) -> None:
        self._path, self._read_bps, self._write_bps = path, read_bps, write_bps
        self._entry: Path | None = None

    def __enter__(self) -> Self:
        undo_left()
        device = disk_of(self._path)
        if device is None:
            raise EngineError(f"{self._path} is on no disk of this host that can be limited; choose a folder on a disk")
        mounts, places = (Path(f"/proc/self/{name}").read_text() for name in ("mountinfo", "cgroup"))
        hierarchy = find_hierarchy(mounts, places)
        if hierarchy is None:
            raise EngineError("this host has no control groups with the controller io (or blkio), which limit a disk")
        group = new_group(hierarchy)
        self._entry = record("disk limit", path=str(group.path), home=str(group.home), version=group.version)
        try:
            group.make(device, self._read_bps, self._write_bps)
            group.join()
        except OSError as error:
            self.lift()
            problem = f"this host does not let keisoku limit the disk {device} by control groups: {error.strerror}"
            raise EngineError(f"{problem}; run it as root, outside a container") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lift()

    def lift(self) -> None:
        """Twice is no error."""
        if self._entry is not None:
            undo(self._entry)
