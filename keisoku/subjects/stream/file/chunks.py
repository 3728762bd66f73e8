"""Reads a file ahead of its sender, so that disk and network work in parallel.

It may be limited to a rate, to imitate a slow disk. It knows no network. The far end writes (far/src/stream/chunks.rs).
"""

from __future__ import annotations

import mmap
import os
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from keisoku.errors import EngineError

CHUNK_BYTES = 1 << 20
_AHEAD = 4


class Hold:
    """Sleeps so that no more than `bps` pass, from the moment it is made; None: no limit."""

    def __init__(self, bps: float | None) -> None:
        self._bytes_per_s = None if bps is None else bps / 8
        self._due_s = time.monotonic()
        self._released = threading.Event()

    @property
    def released(self) -> bool:
        """Whether `release` was called."""
        return self._released.is_set()

    def release(self) -> None:
        """Ends a sleep at once, and all later ones: nobody wants the rest."""
        self._released.set()

    def passed(self, count: int) -> None:
        """So many bytes passed."""
        if self._bytes_per_s is not None:
            self._due_s += count / self._bytes_per_s
            self._released.wait(max(self._due_s - time.monotonic(), 0))


def forget(path: Path) -> None:
    """Has the kernel drop a file's pages from memory, so that it is read from the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fdatasync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def read_chunks(path: Path, direct: bool, bps: float | None) -> Iterator[memoryview]:
    """A file's chunks, read ahead by a thread; each is valid until the next one is requested.

    Raises EngineError if it cannot be read, or not with O_DIRECT.
    """
    full: queue.Queue[tuple[int, int] | OSError | None] = queue.Queue()
    free: queue.Queue[int | None] = queue.Queue()
    rooms = [mmap.mmap(-1, CHUNK_BYTES) for _ in range(_AHEAD)]
    for number in range(_AHEAD):
        free.put(number)

    hold = Hold(bps)

    def read() -> None:
        try:
            handle = os.open(path, os.O_RDONLY | (os.O_DIRECT if direct else 0))
            try:
                while (number := free.get()) is not None and not hold.released:
                    count = os.readv(handle, [rooms[number]])
                    hold.passed(count)
                    if count == 0:
                        break
                    full.put((number, count))
            finally:
                os.close(handle)
            full.put(None)
        except OSError as error:
            full.put(error)

    thread = threading.Thread(target=read, name="keisoku-read")
    thread.start()
    try:
        while (chunk := full.get()) is not None:
            if isinstance(chunk, OSError):
                raise _refused(path, chunk, direct)
            number, count = chunk
            yield memoryview(rooms[number])[:count]
            free.put(number)
    finally:
        hold.release()
        free.put(None)
        thread.join()


def _refused(path: Path, error: OSError, direct: bool) -> EngineError:
    remedy = "leave --direct away" if direct and error.errno == 22 else "check the file and its disk"
    return EngineError(f"{path.name} cannot be read: {error.strerror}; {remedy}")
