"""The capture of an engine's ports during its trials: evidence, from which no result is computed.

It never overwrites a file, and reports to `warn` at the end how many frames it holds and lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from keisoku._core import Wire
from keisoku.errors import PlanError
from keisoku.subjects.device.capture.capture import Capture
from keisoku.subjects.device.capture.port import CapturePort

WHOLE_FRAMES_BYTES = 65_535
"""Bytes that a port's program keeps of each frame where whole frames are wanted: the largest frame."""
Tell: TypeAlias = Callable[[str], None]
"""Takes a line for the user."""


class PortCapture:
    """A new pcapng file of all ports of a wire; `snap_bytes` of each frame are kept (0: all).

    The file is made at once, so that an unwritable path is refused before the first frame. Raises PlanError if the file
    exists or cannot be made.
    """

    def __init__(self, path: Path, snap_bytes: int, warn: Tell) -> None:
        self.path, self.snap_bytes = path, snap_bytes
        self._warn = warn
        self._capture: Capture | None = None
        try:
            path.open("xb").close()
        except FileExistsError:
            raise PlanError(
                "capture", f"{path} exists, and a capture never overwrites a file", "name another file"
            ) from None
        except OSError as error:
            raise PlanError("capture", f"cannot write {path}: {error.strerror}", "name another file") from error

    @property
    def kept_bytes(self) -> int:
        """Value of `capture_bytes` for each port that is opened."""
        return self.snap_bytes or WHOLE_FRAMES_BYTES

    def begin(self, wire: Wire, ports: Sequence[CapturePort]) -> None:
        """Begins the capture; only between trials, and only once. Raises EngineError if a port cannot be captured."""
        if self._capture is None:
            capture = Capture(ports, self.path, rings=wire.capture_rings(), snap_bytes=self.snap_bytes)
            self._capture = capture.__enter__()

    def close(self) -> None:
        """Completes the file and reports how many frames it holds and lost; to be called before the ports are closed.

        A file without a begun capture is removed. Raises EngineError if it could not be written.
        """
        capture, self._capture = self._capture, None
        if capture is None:
            if self.path.exists() and self.path.stat().st_size == 0:
                self.path.unlink()
            return
        capture.close()
        held = [
            f"{port.interface} {counts.written} frames"
            + (f" and {counts.dropped} LOST BY THE CAPTURE" if counts.dropped else "")
            for port, counts in zip(capture.ports, capture.counts, strict=True)
        ]
        self._warn(f"capture: {self.path}: {', '.join(held)}")

    def context(self) -> dict[str, object]:
        """Where it is, for a record."""
        return {"file": str(self.path.absolute()), "snap_bytes": self.snap_bytes}


def next_free(path: Path) -> Path:
    """`path`, or with the first number behind its stem that makes it new: a resumed run adds a file of its own."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
    return free
