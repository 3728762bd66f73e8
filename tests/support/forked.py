"""`keisoku` in forks of one process that has imported what most measurements import.

A start of the interpreter takes a second of CPU, of which most tests of the command learn nothing; those that use
`start` have a new interpreter. A fork has a process id, a directory, an environment and an exit code of its own.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

IMPORTED = [
    "__main__",
    "keisoku.faces.cli.main",
    "keisoku.faces.cli.outcome",
    "keisoku.faces.cli.measuring",
    "keisoku.subjects.device.engine.simulated",
    "keisoku.ground.lab.device.catalogue",
    "keisoku.ground.report.page",
    "pyarrow.parquet",
    "scapy.layers.inet6",
    "scipy.special",
]
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(IMPORTED)


class Fork:
    """One that goes on by itself."""

    def __init__(self, child: BaseProcess, outputs: Sequence[Path]) -> None:
        self._child, self._outputs = child, outputs

    def code(self, within_s: float) -> int | None:
        """The exit code, or None if it still runs after that time."""
        self._child.join(within_s)
        return self._child.exitcode

    def kill(self) -> None:
        """As `kill -9`; it is gone when this returns."""
        self._child.kill()
        self._child.join()

    @property
    def pid(self) -> int:
        assert self._child.pid
        return self._child.pid

    def said(self) -> tuple[str, str]:
        """Both outputs until now."""
        stdout, stderr = (output.read_text() for output in self._outputs)
        return stdout, stderr


@contextmanager
def started(arguments: Sequence[str], cwd: Path, environment: dict[str, str]) -> Iterator[Fork]:
    """A fork that begins; at the end of the context it is gone."""
    with tempfile.TemporaryDirectory() as kept:
        outputs = [Path(kept) / name for name in ("stdout", "stderr")]
        for output in outputs:
            output.touch()
        child = _CONTEXT.Process(target=_become_keisoku, args=(arguments, cwd, environment, outputs))
        child.start()
        fork = Fork(child, outputs)
        try:
            yield fork
        finally:
            fork.kill()


def run(
    arguments: Sequence[str], cwd: Path, environment: dict[str, str], timeout_s: float
) -> tuple[int, int, str, str]:
    """The exit code, the process id and both outputs. Raises TimeoutError."""
    with started(arguments, cwd, environment) as fork:
        code = fork.code(timeout_s)
        if code is None:
            raise TimeoutError(f"keisoku {' '.join(arguments)} did not end in {timeout_s} s")
        return code, fork.pid, *fork.said()


def _become_keisoku(arguments: Sequence[str], cwd: Path, environment: dict[str, str], outputs: Sequence[Path]) -> None:
    for number, output in enumerate(outputs, 1):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["keisoku", *arguments]
    from keisoku.faces.cli.entry import main

    try:
        main()
    finally:
        # The end of a process of multiprocessing does not do it.
        atexit._run_exitfuncs()
