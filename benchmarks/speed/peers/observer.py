"""The neutral observer: stamps and swallows test frames at the far end, alike for every sender."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import numpy as np
from numpy.typing import NDArray

from peers.compiled import Compiled
from peers.pair import End

Times = NDArray[np.uint64]


class Observation:
    """What was seen; `times_ns` is filled when the observer has left."""

    times_ns: Times


@contextmanager
def observer(compiled: Compiled, end: End, capacity: int = 1) -> Iterator[Observation]:
    """Watches `end` inside the context; keeps the times of the first `capacity` frames, swallows all.

    With a capacity of 0 nothing is stamped or counted, only swallowed.
    """
    command = end.inside(str(compiled.observer), str(compiled.observer_program), end.interface, str(capacity))
    seen = Observation()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        output = _pipe(process.stdout)
        try:
            if output.readline() != b"watching\n":
                raise RuntimeError("the observer does not start")
            yield seen
        finally:
            _pipe(process.stdin).close()
            seen.times_ns = np.frombuffer(output.read(), dtype=np.uint64)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe
    return pipe
