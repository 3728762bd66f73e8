"""Sees when the host takes a CPU away, so that a lab test which failed then is run again; one on a calm host is not.

Threads that only sleep, one for each CPU, go before everything else of this machine (SCHED_FIFO): what makes them late
is the host beneath it, never the load that a test makes. Run as a program, it tells its parent of every late moment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

INTERVAL_NS = 4_000_000
STALL_NS = 4_000_000
"""Queues of labs hold some ms of frames. A stall of twice this is always seen."""


class HostWatch:
    """Counts the stalls of any CPU since it was last asked to begin anew."""

    def __init__(self) -> None:
        self._program = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._program.stdout is not None
        os.set_blocking(self._program.stdout.fileno(), False)
        self.stalls = 0

    def restart(self) -> None:
        """Forget what was seen."""
        self._read()
        self.stalls = 0

    def saw_stall(self) -> bool:
        """Whether a CPU was away since `restart`."""
        self._read()
        return self.stalls > 0

    def close(self) -> None:
        """End the program."""
        self._program.kill()
        self._program.communicate()

    def _read(self) -> None:
        assert self._program.stdout is not None
        while seen := self._program.stdout.read():
            self.stalls += seen.count(b"\n")


def watch(cpu: int) -> None:
    """Prints a line for every late moment of a CPU."""
    os.sched_setaffinity(0, {cpu})
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    except PermissionError:
        return  # Ordinary threads are made late by the tests themselves: nothing is known of the host.
    while True:
        due_ns = time.monotonic_ns() + INTERVAL_NS
        time.sleep(INTERVAL_NS / 1e9)
        late_ns = time.monotonic_ns() - due_ns
        if late_ns > STALL_NS:
            os.write(1, b"%d %d\n" % (cpu, late_ns))


def main() -> None:
    """Watches until the parent is gone: its end of stdin is closed then."""
    for cpu in os.sched_getaffinity(0):
        threading.Thread(target=watch, args=(cpu,), daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
