"""A process of this host, by its number and start time: the number alone may be reused by another process."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from pathlib import Path

_GRACE_S, _PATIENCE_S = 2.0, 10.0


def lives(process: int, born: int) -> bool:
    """It also works for another user's process, and where the start time is hidden.

    A process that has ended does not live, even if nobody has asked for its exit code yet.
    """
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    state, began = _stat(process)
    return began in (born, 0) and state not in ("Z", "X")


def born_at(process: int) -> int:
    """Start time of a process in clock ticks since boot. 0: there is no such process."""
    return _stat(process)[1]


def age_s() -> float:
    """Seconds since this process began, suspension included; 0 where its start time is hidden."""
    born = born_at(os.getpid())
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - born / os.sysconf("SC_CLK_TCK")) if born else 0.0


def _stat(process: int) -> tuple[str, int]:
    """State (proc(5)) and start time; empty and 0 where they cannot be read."""
    with suppress(OSError, IndexError, ValueError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return fields[0], int(fields[19])
    return "", 0


def end(process: int, born: int) -> bool:
    """Ends a process and waits for its end; returns whether it existed. Raises OSError if it cannot be ended."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return False
    try:
        # Verified while the handle is held: the number cannot be reused in between.
        if born_at(process) != born:
            return False
        for sign, patience_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _PATIENCE_S)):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, sign)
            if select.select([handle], [], [], patience_s)[0]:
                return True
        raise TimeoutError(f"process {process} does not end")
    finally:
        os.close(handle)
