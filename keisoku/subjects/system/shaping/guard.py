"""The guard: a process of its own that removes the limits of a run that died or hangs.

It hears a byte from the run every second. When the run's end of the pipe closes (also by kill -9), or nothing is heard
for `PATIENCE_S`, it undoes what the journal says. Run as
`python -m keisoku.subjects.system.shaping.guard ENTRY...` with the pipe as its input.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.undo import undo

BEAT_S = 1.0
PATIENCE_S = 4.0
_DONE = b"q"


class Guard:
    """The run's side: starts the guard for entries of the journal, and lets it hear that the run is alive."""

    def __init__(self, entries: Sequence[Path]) -> None:
        """Returns when the guard watches. Raises EngineError if it does not start."""
        self._child = subprocess.Popen(
            [sys.executable, "-m", "keisoku.subjects.system.shaping.guard", *map(str, entries)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # whatever signal ends the run must not end it, too
        )
        assert self._child.stdin and self._child.stdout
        self._pipe = self._child.stdin
        if self._child.stdout.readline() != b"ready\n":
            self._child.kill()
            self._child.wait()
            raise EngineError("the guard process that removes limits did not start")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="keisoku-guard", daemon=True)
        self._thread.start()

    @property
    def watches(self) -> bool:
        """False once it has ended, as it does after it has lifted the limits of a run that it took for hung."""
        return self._child.poll() is None

    def end(self) -> None:
        """Ends it, after the limits were lifted."""
        self._over.set()
        self._thread.join()
        try:
            self._pipe.write(_DONE)
            self._pipe.close()
        except OSError:
            pass  # it has ended by itself
        self._child.wait()
        if self._child.stdout:
            self._child.stdout.close()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_S):
            try:
                self._pipe.write(b".")
                self._pipe.flush()
            except OSError:
                return


def watch(entries: Sequence[Path], source: int) -> None:
    """The guard's side: returns when the run has ended in order, or its limits are lifted."""
    while select.select([source], [], [], PATIENCE_S)[0]:
        heard = os.read(source, 4096)
        if _DONE in heard:
            return
        if not heard:
            break
    undo(*entries)


def main() -> None:
    """Says that it watches, once it holds all that it needs, and watches."""
    os.write(1, b"ready\n")
    watch([Path(entry) for entry in sys.argv[1:]], 0)


if __name__ == "__main__":
    main()
