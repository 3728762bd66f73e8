"""The virtual kernel is built once per machine, from the distribution's own kernel source, and kept in the cache.

The kernel is a program of its own under its own licence (GPL-2.0); nothing of it is part of keisoku.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from keisoku.errors import EngineError, PlanError, to_write
from keisoku.language import phrase

SOURCE = "linux-source-6.12"
"""The Debian package of the source. With the files beside this module it is what the kept kernel is named by."""
_HERE = Path(__file__).parent
_PARTS = ("kernel.config", "random.c", "waiting.c")
_TOOLS = {
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
    "tar": "tar",
    "xz": "xz-utils",
    "make": "make",
    "cc": "gcc",
    "flex": "flex",
    "bison": "bison",
    "m4": "m4",
    "bc": "bc",
    "perl": "perl",
}
"""Programs of the build, and their Debian packages."""
_BUILT_BY = {
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01 00:00 UTC",
    "KBUILD_BUILD_USER": "keisoku",
    "KBUILD_BUILD_HOST": "keisoku",
}
"""The kernel's randomness depends on what it says of its build, which is the same on every host."""
_ROOM_BYTES = 3_000_000_000
KERNEL, RANDOM, WAITING = "linux", "random.so", "waiting.so"
"""Names of the kept files: the kernel's program, the library that gives it its random numbers, and the one that all
programs in it load."""


@cache
def folder() -> Path:
    """Where the kernel of this version of keisoku is, or will be."""
    key = hashlib.sha256(SOURCE.encode())
    for part in _PARTS:
        key.update((_HERE / part).read_bytes())
    return user_cache_path("keisoku") / "virtual-kernel" / key.hexdigest()[:12]


def is_built() -> bool:
    """Whether the kernel is kept."""
    return (folder() / KERNEL).exists()


def built() -> Path:
    """The folder of the kernel. Raises PlanError if it was not built."""
    if not is_built():
        problem = "this host has no virtual kernel yet"
        raise PlanError("dut", problem, "build it with 'keisoku vlab kernel', which takes about 10 minutes of CPU time")
    return folder()


def build(tell: Callable[[str], None]) -> Path:
    """Builds the kernel, unless it is kept, and returns its folder. `tell` hears what is being done.

    What was unpacked and compiled before an interruption is used again. Raises PlanError where this host cannot build
    it, and EngineError with the last line of what a step printed if the step fails.
    """
    if is_built():
        return folder()
    _check()
    work = folder().with_suffix(".build")
    try:
        work.mkdir(parents=True, exist_ok=True)
        tree = _unpacked(work, tell)
        tell(phrase("compiling the kernel; {path} shows how far it has come", path=work / "build.log"))
        cores = str(len(os.sched_getaffinity(0)))
        for step in (
            ("make", "ARCH=um", "defconfig"),
            ("scripts/kconfig/merge_config.sh", "-m", ".config", str(_HERE / "kernel.config")),
            ("make", "ARCH=um", "olddefconfig"),
            ("make", "ARCH=um", f"-j{cores}", KERNEL),
        ):
            _run(step, tree, work)
        _check_configuration(tree)
        _run(("strip", "-o", str(work / KERNEL), KERNEL), tree, work)
        for library in (RANDOM, WAITING):
            source = _HERE / library.replace(".so", ".c")
            _run(("cc", "-O2", "-shared", "-fPIC", "-o", str(work / library), str(source)), work, work)
        made = folder().with_suffix(".made")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        for name in (KERNEL, RANDOM, WAITING):
            (work / name).rename(made / name)
        made.rename(folder())
        shutil.rmtree(work)
    except OSError as error:
        problem = f"{work} cannot be written: {error.strerror}"
        raise EngineError(f"{problem}; {to_write(error, 'set XDG_CACHE_HOME to a folder of your own')}") from error
    return folder()


def remove() -> bool:
    """Removes every virtual kernel that is kept, and what was left of builds; whether there was one."""
    all_of_them = folder().parent
    found = all_of_them.exists()
    shutil.rmtree(all_of_them, ignore_errors=True)
    return found


def _check() -> None:
    """Raises PlanError where the kernel cannot be built."""
    if platform.machine() != "x86_64":
        raise PlanError("kernel", f"it runs on x86-64 only, and this is {platform.machine()}", "use another host")
    missing = [package for program, package in _TOOLS.items() if shutil.which(program) is None]
    if missing:
        problem = f"its build needs {', '.join(missing)}, which this host does not have"
        raise PlanError("kernel", problem, f"install: apt install {' '.join(missing)}")
    room = folder().parent
    while not room.exists():
        room = room.parent
    if (free := shutil.disk_usage(room).free) < _ROOM_BYTES:
        problem = f"its build needs {_ROOM_BYTES / 1e9:g} GB, and {room} has {free / 1e9:.1f} GB"
        raise PlanError("kernel", problem, "make room, or set XDG_CACHE_HOME to another place")


def _unpacked(work: Path, tell: Callable[[str], None]) -> Path:
    """The kernel's source; what is there already is taken."""
    tree, done = work / SOURCE, work / "unpacked"
    if done.exists():
        return tree
    tell(phrase("fetching the Debian package {package} (150 MB)", package=SOURCE))
    for old in work.glob("*.deb"):
        old.unlink()
    _run(("apt-get", "download", SOURCE), work, work)
    (package,) = work.glob("*.deb")
    tell(phrase("unpacking it (1.7 GB)"))
    _run(("dpkg-deb", "--extract", str(package), str(work / "package")), work, work)
    _run(("tar", "--extract", "--file", str(work / "package/usr/src" / f"{SOURCE}.tar.xz")), work, work)
    shutil.rmtree(work / "package")
    package.unlink()
    done.touch()
    return tree


def _check_configuration(tree: Path) -> None:
    """Raises EngineError if the kernel's own rules took something out of the configuration."""
    wanted = [line for line in (_HERE / "kernel.config").read_text().splitlines() if line.endswith("=y")]
    has = set((tree / ".config").read_text().splitlines())
    if missing := [line for line in wanted if line not in has]:
        raise EngineError(f"the kernel of {SOURCE} cannot be made with {', '.join(missing)}")


def _run(command: Sequence[str], where: Path, work: Path) -> None:
    log = work / "build.log"
    with log.open("ab") as output:
        ended = subprocess.run(
            command,
            cwd=where,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **_BUILT_BY},
        )
    if ended.returncode:
        said = log.read_text(errors="replace").strip().splitlines()
        raise EngineError(f"{command[0]} failed: {said[-1] if said else 'it printed nothing'} (more in {log})")
