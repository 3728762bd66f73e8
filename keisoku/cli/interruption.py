"""Signals that end a command: they raise KeyboardInterrupt, and are remembered in case that was swallowed.

Python ignores an exception that a signal raises inside a finalizer, and a run makes millions of objects; long loops
therefore call `check` at times. Signals that the calling process ignores (nohup) stay ignored.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from keisoku.cli.exit_code import FAILED

_received: list[int] = []
_LATENESS_S = 0.2


def install() -> None:
    """Makes SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def check() -> None:
    """Raises KeyboardInterrupt if a signal arrived and its exception was lost."""
    if _received:
        raise KeyboardInterrupt


def wait() -> None:
    """Sleeps until a signal raises KeyboardInterrupt.

    It sleeps for short times: a signal just before `signal.pause` would only be noticed with the next one.
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
