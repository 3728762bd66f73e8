"""Waits until a CPU works at its full speed, before what is measured depends on it.

Another hardware thread of the same core takes about a third of a CPU's speed, for milliseconds up to many seconds, and
a virtual machine cannot see whose it is: it is no steal (`core/src/hiccup/speed.rs`). docs/how-we-know/devices.md has
what was measured.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from keisoku._core import speed_of_cpu

FULL = 1.1
"""A CPU has its full speed if a piece of work takes at most this many times as long as the fastest one on any of
them."""
LOOK_NS = 2_000_000
PAUSE_S = 0.02
"""From one look to the next."""
LONGEST_S = 0.5
"""Longest wait: most slow spells are shorter."""
SHARE = 0.1
"""All waits together take at most this share of the time since the first of them, and one of `LONGEST_S`."""


class FullSpeed:
    """Waits for the full speed of a CPU, or chooses one of some that has it. It keeps the fastest piece of work that
    was seen."""

    def __init__(self, cpus: Sequence[int]) -> None:
        self._cpus = list(cpus)
        self.chooses = False
        """Whether it may be another CPU than before; at first it is the first one."""
        self._fastest_ns: int | None = None
        self._began_s: float | None = None
        self._waited_s = 0.0

    def wait(self, stopped: threading.Event) -> int:
        """A CPU: the last one again if it has its full speed, or with `chooses` another one that has it. The last one
        if none has it until the time for that is used up, or it is stopped."""
        now_s = time.monotonic()
        self._began_s = now_s if self._began_s is None else self._began_s
        most_s = min(LONGEST_S, LONGEST_S + SHARE * (now_s - self._began_s) - self._waited_s)
        while (chosen := self._at_full_speed()) is None and time.monotonic() - now_s < most_s:
            if stopped.wait(PAUSE_S):
                break
        self._waited_s += time.monotonic() - now_s
        if chosen is not None:
            self._cpus.remove(chosen)
            self._cpus.insert(0, chosen)
        return self._cpus[0]

    def _at_full_speed(self) -> int | None:
        cpus = self._cpus if self.chooses else self._cpus[:1]
        return next((cpu for cpu in cpus if self._has_it(cpu)), None)

    def _has_it(self, cpu: int) -> bool:
        pieces, fastest_ns, total_ns = speed_of_cpu(cpu, LOOK_NS)
        self._fastest_ns = fastest_ns if self._fastest_ns is None else min(self._fastest_ns, fastest_ns)
        return pieces > 0 and total_ns <= FULL * pieces * self._fastest_ns
