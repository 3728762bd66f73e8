"""A host in virtual time whose clocks can be logged: they are late, silent, suspended or set on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from keisoku.errors import EngineError
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.clock.host_clocks import HostClocks, Steering
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.stability.analysis import NAME
from keisoku.subjects.clock.stability.log import Logger, place

HZ = 2.6e9
EVERY_S = 0.5


class Host:
    """Time that passes only when somebody sleeps or reads, and clocks that show it."""

    def __init__(self, ppb: float = 0.0) -> None:
        self.ns, self.ppb = 10**12, ppb
        self.suspended = self.offset = 0
        self.steering = 0.0
        self.silent: Callable[[int], bool] = lambda ns: False
        self.slow: Callable[[int], int] = lambda ns: 0
        self.reads = 0
        self._random = np.random.default_rng(4)

    def monotonic_ns(self) -> int:
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)

    def ticks(self) -> int:
        return round(self.ns * (1 + self.ppb * 1e-9) * HZ / 1e9)

    def read(self) -> Reading:
        self.reads += 1
        if self.silent(self.ns):
            raise EngineError("no answer")
        self.ns += 1000 + self.slow(self.ns)
        noise = int(self._random.integers(-40, 41))
        return Reading(self.ticks() - 52 + noise, self.ns + self.offset, self.ticks() + 52 + noise)

    def look(self) -> HostClocks:
        bounds = self.suspended - 200, self.suspended + 300
        realtime = 10**18 + self.offset - 200, 10**18 + self.offset + 300
        return HostClocks(self.ns, "tsc", Steering(self.steering, 64, 0, 10_000), bounds, realtime)


def created(path: Path, **settings: object) -> RunDirectory:
    given = {"clock": "counter", "reference": "raw", "every_s": EVERY_S, **settings}
    return RunDirectory.create(path, NAME, given, {"clock": "TSC", "said": []})


def logger(directory: RunDirectory, host: Host, boot: str = "first") -> Logger:
    return Logger(directory, host.read, None, host.look, boot, host.monotonic_ns, host.sleep)


def ran(directory: RunDirectory, host: Host, duration_s: float, boot: str = "first") -> list[float]:
    return list(logger(directory, host, boot).run(EVERY_S, duration_s, place(directory, EVERY_S)))
