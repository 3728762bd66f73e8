"""`keisoku` in forks of one process that has imported what most measurements import.

A start of the interpreter takes a second of CPU, of which most tests of the command learn nothing; those that use
`start` have a new interpreter. A fork has a process id, a directory, an environment and an exit code of its own.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

IMPORTED = [
    "__main__",
    "keisoku.cli.main",
    "keisoku.cli.outcome",
    "keisoku.cli.procedures",
    "keisoku.device.engine.simulated",
    "keisoku.lab.device.catalogue",
    "keisoku.report.page",
    "pyarrow.parquet",
    "scapy.layers.inet6",
    "scipy.special",
]
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(IMPORTED)


def run(
    arguments: Sequence[str], cwd: Path, environment: dict[str, str], timeout_s: float
) -> tuple[int, int, str, str]:
    """The exit code, the process id and both outputs. Raises TimeoutError."""
    with tempfile.TemporaryDirectory() as kept:
        outputs = [Path(kept) / name for name in ("stdout", "stderr")]
        child = _CONTEXT.Process(target=_become_keisoku, args=(arguments, cwd, environment, outputs))
        child.start()
        child.join(timeout_s)
        if child.exitcode is None:
            child.kill()
            child.join()
            raise TimeoutError(f"keisoku {' '.join(arguments)} did not end in {timeout_s} s")
        assert child.pid
        return child.exitcode, child.pid, *(output.read_text() for output in outputs)


def _become_keisoku(arguments: Sequence[str], cwd: Path, environment: dict[str, str], outputs: Sequence[Path]) -> None:
    for number, output in enumerate(outputs, 1):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["keisoku", *arguments]
    from keisoku.cli.entry import main

    try:
        main()
    finally:
        # The end of a process of multiprocessing does not do it.
        atexit._run_exitfuncs()
