"""Signals that end a command: they raise KeyboardInterrupt, and are remembered in case that was swallowed.

An exception that a signal raises inside a finalizer is ignored by Python, and a run makes millions of objects;
whoever goes on for long asks `check` now and then. What the caller ignores (nohup) stays ignored.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from keisoku.faces.cli.exit_code import FAILED

_received: list[int] = []
_LATENESS_S = 0.2


def install() -> None:
    """SIGINT, SIGTERM and SIGHUP raise from now on, and what a finalizer or the interpreter's end makes of that is not
    printed: `check` knows of it."""
    _handle_with(_interrupt)
    sys.unraisablehook = _unraisable


def leave_at_once() -> None:
    """From now on a signal ends the process without a word: all is cleaned up, and what is left is to say so."""
    _handle_with(lambda number, frame: os._exit(FAILED))


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


def _handle_with(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _unraisable(what: sys.UnraisableHookArgs, /) -> None:
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt
