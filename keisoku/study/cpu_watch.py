"""How busy this host's CPUs are while a step is measured, so that 'limited by the CPUs' is a figure that can fail."""

from __future__ import annotations

import statistics
import threading
import time
from bisect import bisect_left
from pathlib import Path
from types import TracebackType
from typing import Self

from keisoku.analysis.quantity import Quantity
from keisoku.run.result import Result, Row

_EVERY_S = 0.1
"""Ten ticks of the kernel's accounts (10 ms each)."""
_IDLE = (3, 4)
"""Columns of /proc/stat that count idle time: idle and iowait (proc(5))."""
BUSIEST = "cpu"
"""Name of the figure: time that the busiest CPU was not idle, in percent."""


class CpuWatch:
    """A context manager. Within it a thread reads the accounts of all CPUs ten times a second."""

    def __init__(self) -> None:
        self._at_ns: list[int] = []
        self._accounts: list[list[tuple[int, int]]] = []
        """Of each CPU: ticks not idle, and all ticks."""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="keisoku-cpu-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def busiest(self, spans_ns: list[tuple[int, int]]) -> Quantity | None:
        """Percent of time that the busiest CPU was not idle, mean over spans of time.monotonic_ns().

        None where no span has an account at its beginning and another at its end.
        """
        shares = [share for begin, end in spans_ns if (share := self._share(begin, end)) is not None]
        if not shares:
            return None
        error = statistics.stdev(shares) / len(shares) ** 0.5 if len(shares) > 1 else None
        return Quantity(
            value=100 * statistics.fmean(shares), unit="%", uncertainty=None if error is None else 200 * error
        )

    def median(self) -> Quantity | None:
        """The same as a median over seconds: of a step whose load has short pauses."""
        if not self._at_ns:
            return None
        begin, end = self._at_ns[0], self._at_ns[-1]
        spans = [(at, at + 10**9) for at in range(begin, end - 10**9, 10**9)]
        shares = [share for span in spans if (share := self._share(*span)) is not None]
        return Quantity(value=100 * statistics.median(shares), unit="%") if shares else None

    def _share(self, begin_ns: int, end_ns: int) -> float | None:
        first, last = bisect_left(self._at_ns, begin_ns), bisect_left(self._at_ns, end_ns) - 1
        if last <= first:
            return None
        pairs = zip(self._accounts[first], self._accounts[last], strict=True)
        return max((b[0] - a[0]) / (b[1] - a[1]) for a, b in pairs if b[1] > a[1])

    def _watch(self) -> None:
        while True:
            self._accounts.append(accounts(Path("/proc/stat").read_text()))
            self._at_ns.append(time.monotonic_ns())
            if self._end.wait(_EVERY_S):
                return


def with_busiest(result: Result, watch: CpuWatch) -> Result:
    """The result with a row 'busiest CPU' of the whole step."""
    if (busy := watch.median()) is None:
        return result
    return result.model_copy(update={"rows": [*result.rows, Row(case="busiest CPU", figures={BUSIEST: busy})]})


def accounts(stat: str) -> list[tuple[int, int]]:
    """Of each CPU: ticks not idle, and all ticks, from the text of /proc/stat."""
    found = []
    for line in stat.splitlines():
        name, *columns = line.split()
        if name.startswith("cpu") and name != "cpu":
            ticks = [int(column) for column in columns[:8]]  # guest time is in user time already
            found.append((sum(ticks) - sum(ticks[place] for place in _IDLE), sum(ticks)))
    return found
