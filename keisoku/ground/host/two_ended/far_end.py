"""`FarEnd`: the program `keisoku-far` (far/), which serves whatever has a far end, and its start.

It is the only far end there is: `keisoku … serve` becomes it, and a measurement that needs one on this host starts it.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from keisoku.errors import EngineError
from keisoku.ground.host.place import Place

PROGRAM = Path(__file__).parents[3] / "keisoku-far"
"""Beside the core, in the package."""
_PORT = re.compile(r"\bport (\d+)")
_NAMED = "keisoku-far: "


def become(service: str, *options: str) -> NoReturn:
    """This process becomes the far end, so that signals and its exit code are the program's own.

    Raises EngineError where the program is not installed.
    """
    os.execv(_program(), [PROGRAM.name, service, *options])


class FarEnd:
    """Serves at a place, until the block ends or this process does. A context manager.

    Raises EngineError on entry, with the program's own sentence, if it cannot serve there.
    """

    def __init__(self, service: str, place: Place, *options: str, port: int = 0) -> None:
        """`service` and `options` are words of `keisoku-far`; `port` 0 is any free one."""
        at = place.host if place.namespace is None else f"{place.host}@{place.namespace}"
        self._words = [service, "--at", at, "--port", str(port), "--attached", *options]
        self.ports: list[int] = []
        """Those that it says it listens at, in its order."""
        self.says: list[str] = []
        """Further lines that it printed; complete after the block."""

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [_program(), *self._words], stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
            if not line:
                _, problem = self._process.communicate()
                raise EngineError(problem.strip().removeprefix(_NAMED))
        except BaseException:
            self._end()
            raise
        self.ports = [int(found) for found in _PORT.findall(line)]
        # What it says of its clients must not fill the pipe.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self._reader.join()

    @property
    def port(self) -> int:
        """The first one."""
        return self.ports[0]

    @property
    def process(self) -> int:
        """The number of its process."""
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.says.append(line.rstrip("\n"))

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _program() -> str:
    if not os.access(PROGRAM, os.X_OK):
        raise EngineError(f"the program of the far end is not at {PROGRAM}; install keisoku again, or run 'make setup'")
    return str(PROGRAM)
