"""The command on a pseudo-terminal, as a user has it before himself."""

from __future__ import annotations

import codecs
import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from support.screen import Screen

_HEIGHT = 24
_MOST_S = 120.0
"""A host may be busy; nothing here waits for that long where the command does what it should."""


class Session:
    """Runs `keisoku` in a folder; `screen` is what the user sees, `said` all that was sent to it.

    The folder is also where calibrations are kept.
    """

    def __init__(self, folder: Path, *arguments: str, width: int = 80) -> None:
        self.screen, self.said = Screen(width, _HEIGHT), ""
        self._master, terminal = os.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _HEIGHT, width, 0, 0))
        attributes = termios.tcgetattr(terminal)
        attributes[3] |= termios.NOFLSH  # Ctrl-C would discard what was drawn and is not read yet: half a picture
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        sizes = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR")
        environment = {name: value for name, value in os.environ.items() if name not in sizes}
        self._child = subprocess.Popen(
            [sys.executable, "-m", "keisoku", *arguments],
            cwd=folder,
            env=environment
            | {"TERM": "xterm-256color", "XDG_STATE_HOME": str(folder), "PYTHONPATH": ":".join(sys.path)},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(terminal)
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.wait()
        os.close(self._master)

    def until(self, seen: Callable[[Screen], bool]) -> None:
        """Reads until the screen shows it. Raises AssertionError if the command ends before."""
        while not seen(self.screen):
            assert self._read(), f"it ended before:\n{self.screen.text}"

    def press_ctrl_c(self) -> None:
        """The terminal makes the signal of it."""
        os.write(self._master, b"\x03")

    def end(self) -> int:
        """Reads to the end; the exit code."""
        while self._read():
            pass
        return self._child.wait(_MOST_S)

    def _read(self) -> bool:
        before = time.monotonic()
        ready, _, _ = select.select([self._master], [], [], _MOST_S)
        assert ready, f"nothing was said for {time.monotonic() - before:.0f} s:\n{self.screen.text}"
        try:
            found = os.read(self._master, 65536)
        except OSError:  # EIO: the last program has closed the terminal
            return False
        text = self._decoder.decode(found)
        self.said += text
        self.screen.write(text)
        return bool(found)
