"""`Lifetime`: a lab in namespaces that is made on entry and removed on any exit, also after signals.

Subclasses define what is made. Namespaces are removed last; a forked child's copy removes nothing.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from pyroute2 import NetlinkError

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.namespace import Namespace, uninterrupted
from keisoku.ground.host.undo import record, undo, undo_left
from keisoku.ground.lab.available import available
from keisoku.ground.lab.device.interface import quiet_defaults

_counter = itertools.count(1)


class Lifetime(ABC):
    """A context manager. Raises PlanError on entry where labs are not possible; EngineError if making it fails."""

    kind: str

    def __init__(self) -> None:
        self._namespaces: list[Namespace] = []
        self._entries: list[Path] = []
        self._process = os.getpid()
        self._handlers: dict[int, signal.Handlers] = {}

    def __enter__(self) -> Self:
        reason = available()
        if reason:
            raise PlanError("lab", *reason.split("; ", 1))
        self._prepare()
        undo_left()
        self._catch_signals()
        try:
            number = next(_counter)
            self._create(f"keisoku-{self._process}" + (f"-{number}" if number > 1 else ""))
        except (OSError, NetlinkError, RuntimeError) as error:
            self.close()
            raise EngineError(f"the lab {self.kind} cannot be made: {error}") from error
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the lab; doing it twice is no error, and a forked child's copy does nothing."""
        if os.getpid() != self._process:
            return
        try:
            uninterrupted(self._remove)
        finally:
            while self._handlers:
                signal.signal(*self._handlers.popitem())

    def _prepare(self) -> None:
        """Before anything is made: check the settings. Raises PlanError."""
        return

    @abstractmethod
    def _create(self, prefix: str) -> None:
        """Make it, in namespaces called `prefix-...` from `_add_namespace`."""

    @abstractmethod
    def _end(self) -> None:
        """End what runs in it, before its namespaces are removed; also called if it was made only in part, or not at
        all."""

    def _add_namespace(self, name: str) -> Namespace:
        namespace = Namespace(name)
        self._entries.append(record("namespace", name=name))
        self._namespaces.append(namespace)
        namespace.create()
        namespace.run(quiet_defaults)
        return namespace

    def _remove(self) -> None:
        self._end()
        undo(*self._entries)
        self._namespaces.clear()

    def _catch_signals(self) -> None:
        # SIGINT raises KeyboardInterrupt already. A handler that the program has set itself is left alone.
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _leave)
                self._handlers[number] = signal.SIG_DFL


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
