"""`Child`: a program that this process starts and that must not outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from keisoku.ground.host.process import born_at
from keisoku.ground.host.undo import record, undo

_HELD = 'read -r _ && exec "$@" </dev/null'
"""It begins only after a line of input, and never if this process dies first: its number is then in the journal."""


class Child:
    """Without input; the rest (`how`) is as for `subprocess.Popen`. In the calling thread's namespace."""

    def __init__(self, command: Sequence[str], **how: Any) -> None:
        """Raises EngineError if the journal cannot be written."""
        held = ["/bin/sh", "-c", _HELD, "sh", *command]
        self._process = subprocess.Popen(held, stdin=subprocess.PIPE, **how)
        assert self._process.stdin
        name, number = Path(command[0]).name, self._process.pid
        try:
            with self._process.stdin as told:
                self.entry = record("process", name=name, number=number, born=born_at(number))
                told.write(b"\n")
        except BaseException:
            self._process.wait()  # it received no line
            raise

    @property
    def number(self) -> int:
        """Of its process."""
        return self._process.pid

    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self._process.poll() is not None

    def wait(self, within_s: float) -> int:
        """Until it ends by itself; its exit code. Raises subprocess.TimeoutExpired if it does not in that time."""
        return self._process.wait(within_s)

    def kill(self) -> None:
        """Kills it with all that it started in its session, so that none of them can say farewell; then as `end`."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self.end()

    def end(self) -> None:
        """Ends it; twice is no error."""
        undo(self.entry)
        self._process.wait()
