"""Signals that end a command: they raise KeyboardInterrupt, and are remembered in case that was swallowed.

An exception that a signal raises inside a finalizer is ignored by Python, and a run makes millions of objects;
whoever goes on for long asks `check` now and then. What the caller ignores (nohup) stays ignored.
"""

from __future__ import annotations

import signal
from types import FrameType

_received: list[int] = []


def install() -> None:
    """SIGINT, SIGTERM and SIGHUP raise from now on."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def check() -> None:
    """Raises KeyboardInterrupt if a signal came and nobody noticed."""
    if _received:
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt
