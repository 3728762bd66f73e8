"""`ControlGroup`: processes whose reading from and writing to one disk the kernel limits together.

Of version 2 (`io.max`), or of version 1 (`blkio.throttle`) where that has the controller. See cgroups(7) and
admin-guide/cgroup-v2 of the kernel. It keeps no journal; `disk_limit` does.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from keisoku.errors import EngineError

_PREFIX = "keisoku-disk-"
_V1 = {"read": "blkio.throttle.read_bps_device", "write": "blkio.throttle.write_bps_device"}
_EMPTY_S = 2.0
"""Time that members which end may need to leave a group."""


@dataclass(frozen=True)
class Hierarchy:
    """A mounted hierarchy of groups that can limit disks, and this process's place in it."""

    root: Path
    home: Path
    version: int


@dataclass(frozen=True)
class ControlGroup:
    """`path` is new for each; nothing is made before `make`."""

    path: Path
    home: Path
    """The group to which members return."""
    version: int

    def make(self, device: str, read_bps: float | None, write_bps: float | None) -> None:
        """Makes it with limits in bit/s for the block device 'MAJOR:MINOR'. Raises OSError where the kernel refuses."""
        if self.version == 2:
            control = self.path.parent / "cgroup.subtree_control"
            if "io" not in control.read_text().split():
                control.write_text("+io")
        self.path.mkdir()
        per_s = {"read": read_bps, "write": write_bps}
        if self.version == 2:
            limits = " ".join(f"{way[0]}bps={round(bps / 8)}" for way, bps in per_s.items() if bps is not None)
            (self.path / "io.max").write_text(f"{device} {limits}")
            return
        for way, bps in per_s.items():
            if bps is not None:
                (self.path / _V1[way]).write_text(f"{device} {round(bps / 8)}")

    def join(self) -> None:
        """Makes this process a member; its later children are members too."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> bool:
        """Lets all members return to `home` and removes the group; whether it was there. Raises EngineError if one
        stays."""
        if not self.path.name.startswith(_PREFIX):
            raise EngineError(f"{self.path} is not a control group of keisoku")
        if not self.path.exists():
            return False
        until = time.monotonic() + _EMPTY_S
        while True:
            for member in (self.path / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    (self.home / "cgroup.procs").write_text(member)
            try:
                self.path.rmdir()
                return True
            except OSError as error:
                if time.monotonic() > until:
                    raise EngineError(f"the control group {self.path} cannot be removed: {error.strerror}") from error
            time.sleep(0.01)


def new_group(hierarchy: Hierarchy) -> ControlGroup:
    """One with a name of its own, not made yet."""
    name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
    return ControlGroup(hierarchy.root / name, hierarchy.home, hierarchy.version)


def find_hierarchy(mounts: str, places: str) -> Hierarchy | None:
    """From the texts of /proc/self/mountinfo and /proc/self/cgroup (proc(5)); None if none can limit a disk."""
    groups = dict[str, str]()
    for line in places.splitlines():
        number, controllers, path = line.split(":", 2)
        groups |= {"2": path} if number == "0" else dict.fromkeys(controllers.split(","), path)
    for line in mounts.splitlines():
        columns, _, rest = line.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        root = Path(columns.split()[4])
        if kind == "cgroup" and "blkio" in options.split(",") and "blkio" in groups:
            return Hierarchy(root, root / groups["blkio"].lstrip("/"), 1)
        if kind == "cgroup2" and "2" in groups and "io" in _words(root / "cgroup.controllers"):
            return Hierarchy(root, root / groups["2"].lstrip("/"), 2)
    return None


def disk_of(path: Path, devices: Path = Path("/sys/dev/block")) -> str | None:
    """'MAJOR:MINOR' of the whole disk that holds a path; None where it is on no block device."""
    number = path.stat().st_dev
    found = devices / f"{os.major(number)}:{os.minor(number)}"
    if not os.major(number) or not found.exists():
        return None
    whole = found.resolve().parent if (found / "partition").exists() else found
    return (whole / "dev").read_text().strip()


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []
