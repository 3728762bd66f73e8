"""Reads a file ahead of its sender and writes it behind its receiver, so that disk and network work in parallel.

Either may be limited to a rate, to imitate a slow disk. It knows no network.
"""

from __future__ import annotations

import fcntl
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
_BLOCK = 4096
"""Alignment of offsets and lengths for O_DIRECT."""


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
                raise _refused(path, chunk, direct, "read")
            number, count = chunk
            yield memoryview(rooms[number])[:count]
            free.put(number)
    finally:
        hold.release()
        free.put(None)
        thread.join()


class WriteBehind:
    """Chunks written to a new file by a thread of its own. `finish` returns when all is on the disk."""

    def __init__(self, path: Path, direct: bool, bps: float | None) -> None:
        """Raises EngineError if the file cannot be made."""
        self._path, self._direct = path, direct
        self._full: queue.Queue[tuple[int, int] | None] = queue.Queue()
        self._free: queue.Queue[int] = queue.Queue()
        self._rooms = [mmap.mmap(-1, CHUNK_BYTES) for _ in range(_AHEAD)]
        for number in range(_AHEAD):
            self._free.put(number)
        self._error: OSError | None = None
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | (os.O_DIRECT if direct else 0)
            self._handle = os.open(path, flags, 0o644)
        except OSError as error:
            raise _refused(path, error, direct, "written") from error
        self._hold = Hold(bps)
        self._thread = threading.Thread(target=self._write, name="keisoku-write")
        self._thread.start()
        self._number = self._free.get()
        self._filled = 0

    @property
    def room(self) -> memoryview:
        """Where the next bytes are to be put."""
        return memoryview(self._rooms[self._number])[self._filled :]

    def put(self, count: int) -> None:
        """So many bytes were put into `room`."""
        self._filled += count
        if self._filled == CHUNK_BYTES:
            self._hand_over()
            self._number, self._filled = self._free.get(), 0

    def finish(self) -> None:
        """Writes the rest and waits until it is on the disk. Raises EngineError if writing fails."""
        if self._filled:
            self._hand_over()
        self._end()
        if self._error is None:
            try:
                os.fdatasync(self._handle)
            except OSError as error:
                self._error = error
        os.close(self._handle)
        if self._error is not None:
            raise _refused(self._path, self._error, self._direct, "written") from self._error

    def abandon(self) -> None:
        """Ends without waiting for the disk."""
        self._hold.release()
        self._end()
        os.close(self._handle)

    def _end(self) -> None:
        self._full.put(None)
        self._thread.join()

    def _hand_over(self) -> None:
        self._full.put((self._number, self._filled))

    def _write(self) -> None:
        while (chunk := self._full.get()) is not None:
            number, count = chunk
            if self._error is None:
                try:
                    self._write_chunk(number, count)
                    self._hold.passed(count)
                except OSError as error:
                    self._error = error  # The rest is taken and thrown away, so that the sender comes to its end.
            self._free.put(number)

    def _write_chunk(self, number: int, count: int) -> None:
        if self._direct and count % _BLOCK:
            # The last one: only whole blocks go past the cache.
            flags = fcntl.fcntl(self._handle, fcntl.F_GETFL)
            fcntl.fcntl(self._handle, fcntl.F_SETFL, flags & ~os.O_DIRECT)
        left = memoryview(self._rooms[number])[:count]
        while left:
            left = left[os.write(self._handle, left) :]


def _refused(path: Path, error: OSError, direct: bool, what: str) -> EngineError:
    remedy = "leave --direct away" if direct and error.errno == 22 else "check the file and its disk"
    return EngineError(f"{path.name} cannot be {what}: {error.strerror}; {remedy}")
