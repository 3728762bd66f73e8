"""Signals that end a command: they raise KeyboardInterrupt, and are remembered in case that was swallowed.

An exception that a signal raises inside a finalizer is ignored by Python, and a run makes millions of objects;
whoever goes on for long asks `check` now and then. What the caller ignores (nohup) stays ignored.
"""

from __future__ import annotations

import signal
import time
from types import FrameType

_received: list[int] = []
_LATENESS_S = 0.2


def install() -> None:
    """SIGINT, SIGTERM and SIGHUP raise from now on."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def check() -> None:
    """Raises KeyboardInterrupt if a signal came and nobody noticed."""
    if _received:
        raise KeyboardInterrupt


def wait() -> None:
    """Sleeps until a signal raises KeyboardInterrupt.

    In short sleeps: one that comes just before `signal.pause` sleeps would be noticed only with the next.
    """
    while True:
        check()
        time.sleep(_LATENESS_S)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt
