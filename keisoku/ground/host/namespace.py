"""A named network namespace: made, entered by short-lived threads, removed.

Never moves the calling thread, and never changes a namespace whose name is not `keisoku-...`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from keisoku.errors import EngineError

FOLDER = Path("/run/netns")
"""Where iproute2 keeps its names, so that `ip netns` lists these namespaces."""
NAME = re.compile(
    r"keisoku-\d+-(?:\d+-)?(?:dut|far|tester|target|router\d+|agent\d+|lags|cross\d+[ab]|switch|edge|server\d+|client\d+)"
)

_CLONE_NEWNET = 0x4000_0000
_CLONE_NEWNS = 0x0002_0000
_MS_BIND, _MS_REC, _MS_SLAVE, _MS_SHARED = 0x1000, 0x4000, 1 << 19, 1 << 20
_MS_REMOUNT, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 0x20, 2, 4, 8
_SETTINGS = "/proc/sys"
_MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)
_Outcome = TypeVar("_Outcome")


class Namespace:
    """A network namespace by name; `create` and `remove` may each be called once or more."""

    def __init__(self, name: str) -> None:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name} is not a name of a keisoku namespace")
        self.name = name
        self.path = FOLDER / name

    def create(self) -> None:
        """Make it and give it its name. Raises EngineError without the privilege."""
        uninterrupted(self._create)

    def remove(self) -> None:
        """Remove its name; the kernel then removes what is in it. No error if it no longer exists."""
        uninterrupted(self._remove)

    def run(self, work: Callable[[], _Outcome]) -> _Outcome:
        """Call `work` on a thread inside the namespace, as `run_in_namespace` does; return its outcome."""
        return run_in_namespace(self.path, work)

    def _create(self) -> None:
        try:
            FOLDER.mkdir(parents=True, exist_ok=True)
            _share_folder()
            self.path.touch(mode=0o444, exist_ok=False)
            _call("unshare", _CLONE_NEWNET)
            _call("mount", b"/proc/thread-self/ns/net", bytes(self.path), b"none", _MS_BIND, None)
        except OSError as error:
            self._remove()
            raise EngineError(f"the namespace {self.name} cannot be made: {error}") from error

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            _call("umount2", bytes(self.path), _MNT_DETACH)
        self.path.unlink(missing_ok=True)


def named(name: str | None) -> Path | None:
    """The path of the namespace of that name; a path is returned unchanged. None: the namespace of this process."""
    return None if name is None else FOLDER / name


def run_in_namespace(path: Path | None, work: Callable[[], _Outcome]) -> _Outcome:
    """Call `work` on a thread inside the namespace at `path`, with its own /sys, and a /proc/sys that can be written.

    None: here, as it is. Where the calling thread is there already, nothing is entered again: the kernel refuses a
    second /sys at its place.

    Raises EngineError if it cannot be entered, and whatever `work` raises.
    """
    if path is None:
        return work()
    if _is_here(path):
        return uninterrupted(work)

    def enter() -> _Outcome:
        try:
            with path.open("rb") as namespace:
                _call("setns", namespace.fileno(), _CLONE_NEWNET)
            _own_view()
        except OSError as error:
            raise EngineError(f"the namespace {path} cannot be entered: {error}") from error
        return work()

    return uninterrupted(enter)


def apart(work: Callable[[], _Outcome]) -> _Outcome:
    """Call `work` on a thread in a new namespace without a name, which is removed when `work` returns."""

    def enter() -> _Outcome:
        _call("unshare", _CLONE_NEWNET)
        _own_view()
        return work()

    return uninterrupted(enter)


def uninterrupted(work: Callable[[], _Outcome]) -> _Outcome:
    """Call `work` on a thread and wait for its end; signals that arrive meanwhile act afterwards.

    So a signal never interrupts `work` when something is only half made or half removed.
    """
    outcome: list[_Outcome] = []
    failures: list[BaseException] = []

    def record() -> None:
        try:
            outcome.append(work())
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=record, name="keisoku-namespace", daemon=False)
    interruption: BaseException | None = None
    thread.start()
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as signal:
            interruption = signal
    if interruption:
        raise interruption
    if failures:
        raise failures[0]
    return outcome[0]


def _is_here(path: Path) -> bool:
    try:
        return path.samefile("/proc/thread-self/ns/net")
    except OSError:
        return False


def _own_view() -> None:
    # /sys shows the devices of the namespace in which it was mounted; this mount is visible to this thread only, and to
    # daemons that it starts. As a slave it still receives unmounts, so that a daemon keeps no namespace of another lab.
    _call("unshare", _CLONE_NEWNS)
    _call("mount", b"none", b"/", None, _MS_REC | _MS_SLAVE, None)
    _call("mount", b"none", b"/sys", b"sysfs", 0, None)
    if os.statvfs(_SETTINGS).f_flag & os.ST_RDONLY:
        # Container engines bind it over itself so that it cannot be written, even for whoever may make namespaces.
        flags = _MS_REMOUNT | _MS_BIND | _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
        try:
            _call("mount", b"none", _SETTINGS.encode(), None, flags, None)
        except OSError as error:
            raise EngineError(
                f"{_SETTINGS} is read-only here, so the settings of a namespace cannot be made ({error}); "
                "in a container, start it with --privileged"
            ) from error


def _share_folder() -> None:
    # As iproute2 does: names made or removed later appear in other mount namespaces too.
    try:
        _call("mount", b"", bytes(FOLDER), b"none", _MS_SHARED | _MS_REC, None)
    except OSError:
        _call("mount", bytes(FOLDER), bytes(FOLDER), b"none", _MS_BIND | _MS_REC, None)
        _call("mount", b"", bytes(FOLDER), b"none", _MS_SHARED | _MS_REC, None)


def _call(function: str, *arguments: object) -> None:
    if getattr(_libc, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
