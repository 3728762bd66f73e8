"""Waits until a CPU works at its full speed, before what is measured depends on it.

Another hardware thread of the same core takes about a third of a CPU's speed, for milliseconds up to many seconds, and
a virtual machine cannot see whose it is: it is no steal (`core/src/hiccup/speed.rs`). docs/guards.md has what was
measured.
"""

from __future__ import annotations

import threading
import time

from keisoku._core import speed_of_cpu

FULL = 1.1
"""A CPU has its full speed if a piece of work takes at most this many times as long as the fastest one."""
LOOK_NS = 2_000_000
PAUSE_S = 0.02
"""From one look to the next."""
LONGEST_S = 0.5
"""Longest wait: most slow spells are shorter."""
SHARE = 0.1
"""All waits together take at most this share of the time since the first of them, and one of `LONGEST_S`."""


class FullSpeed:
    """Waits for the full speed of one CPU, and keeps the fastest piece of work that was seen there."""

    def __init__(self, cpu: int) -> None:
        self._cpu = cpu
        self._fastest_ns: int | None = None
        self._began_s: float | None = None
        self._waited_s = 0.0

    def wait(self, stopped: threading.Event) -> None:
        """Returns at full speed, when the time for it is used up, or when it is stopped."""
        now_s = time.monotonic()
        self._began_s = now_s if self._began_s is None else self._began_s
        most_s = min(LONGEST_S, LONGEST_S + SHARE * (now_s - self._began_s) - self._waited_s)
        while not self._has_it() and time.monotonic() - now_s < most_s:
            if stopped.wait(PAUSE_S):
                break
        self._waited_s += time.monotonic() - now_s

    def _has_it(self) -> bool:
        pieces, fastest_ns, total_ns = speed_of_cpu(self._cpu, LOOK_NS)
        self._fastest_ns = fastest_ns if self._fastest_ns is None else min(self._fastest_ns, fastest_ns)
        return pieces > 0 and total_ns <= FULL * pieces * self._fastest_ns
