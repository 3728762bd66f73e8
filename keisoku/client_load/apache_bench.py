"""ApacheBench as E4 used it: runs `ab` in the client's namespace and reads what it says.

It has one thread, speaks HTTP/1.0, and says percentiles only: every hundredth of its requests in order of their time.
"""

from __future__ import annotations

import csv
import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from keisoku.client_load.client_load import ClientLoad
from keisoku.client_load.client_run import ClientRun
from keisoku.errors import EngineError, PlanError
from keisoku.lab.namespace import within
from keisoku.lab.program import Program

NAME = "ab"
AB = Program("ab", "apache2-utils")
MOST_PER_SECOND = 50_000
"""Requests for which it makes room when only a time is given: it never does as many."""


class ApacheBench:
    """A running `ab`. Raises PlanError for a load that it cannot make, or if it is not installed."""

    def __init__(self, load: ClientLoad, begin_ns: int) -> None:
        load.check()
        if AB.path is None:
            raise PlanError("with", "ab is not installed", f"install the Debian package {AB.package}, or use own")
        paths = [path for path, weight in load.paths if weight]
        if load.per_second is not None or len(paths) != 1:
            raise PlanError("with", "ab asks for one file in a closed loop", "use --with own for other loads")
        self._load = load
        self._folder = tempfile.TemporaryDirectory(prefix="keisoku-ab-")
        self._table = Path(self._folder.name) / "percent.csv"
        self._arguments = [AB.path, "-q", "-r", *self._amount(), "-c", str(load.connections)]
        self._arguments += ["-s", str(max(1, round(load.timeout_s))), "-e", str(self._table)]
        self._arguments += ["-k"] if load.keep_alive else []
        self._arguments += ["-H", "Accept-Encoding: gzip"] if load.compressed else []
        self._arguments += ["-H", f"Host: {load.host}", f"http://{load.server}{paths[0]}"]
        self._begin_ns = begin_ns + round(load.offset_s * 1e9)
        self._stopped = threading.Event()
        self._child: subprocess.Popen[str] | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._start, name="keisoku-ab")
        self._thread.start()

    def finish(self) -> ClientRun:
        """Waits for its end and reads what it said. Raises EngineError if it failed."""
        try:
            self._thread.join()
            if self._failure is not None:
                raise self._failure
            if self._child is None:
                raise EngineError(f"ab of {self._load.name} was stopped before it began")
            said, complained = self._child.communicate()
            if self._child.returncode != 0:
                words = complained.strip().splitlines() or said.strip().splitlines() or ["it said nothing"]
                raise EngineError(f"ab of {self._load.name} failed: {words[-1]}")
            return parse(self._load.name, said, self._table.read_text(), self._began_ns)
        finally:
            self._folder.cleanup()

    def stop(self) -> None:
        """Ends it early: it then tells nothing."""
        self._stopped.set()
        self._thread.join()
        if self._child is not None:
            self._child.kill()

    def _amount(self) -> list[str]:
        load = self._load
        most = load.requests or round((load.seconds or 0) * MOST_PER_SECOND)
        # -n has to come behind -t, which else sets it to 50000; and it is never below the concurrency.
        return [
            *(["-t", str(max(1, round(load.seconds)))] if load.seconds else []),
            "-n",
            str(max(most, load.connections)),
        ]

    def _start(self) -> None:
        if self._stopped.wait(max(0.0, (self._begin_ns - time.monotonic_ns()) / 1e9)):
            return
        try:
            place = self._load.namespace
            self._began_ns = time.monotonic_ns()
            self._child = within(Path(place), self._spawn) if place else self._spawn()
        except BaseException as failure:
            self._failure = failure

    def _spawn(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


def parse(client: str, said: str, table: str, began_ns: int) -> ClientRun:
    """A run from ab's words and its table of percentiles. Raises EngineError if they are not ab's."""
    completed = round(_figure(said, "Complete requests"))
    failed = round(_figure(said, "Failed requests")) + round(_figure(said, "Non-2xx responses", 0.0))
    seconds = _figure(said, "Time taken for tests")
    good = max(0, completed - failed)
    return ClientRun(
        client=client,
        completed=good,
        failed=failed,
        received_bytes=round(_figure(said, "Total transferred")),
        began_ns=began_ns,
        ended_ns=began_ns + round(seconds * 1e9),
        latencies=tuple(_latencies(table, completed)),
        failures={"failed": failed} if failed else {},
    )


def _latencies(table: str, completed: int) -> list[tuple[int, int, int]]:
    """A hundredth of all requests lies between each time in the table and the next."""
    rows = list(csv.reader(table.splitlines()))[1:]
    times = [round(float(row[1]) * 1e6) for row in rows if len(row) == 2]
    shares = [round(completed * at / max(1, len(times) - 1)) for at in range(len(times))]
    return [
        (low, max(high, low + 1), upto - before)
        for low, high, before, upto in zip(times, times[1:], shares, shares[1:], strict=False)
        if upto > before
    ]


def _figure(said: str, name: str, default: float | None = None) -> float:
    found = re.search(rf"^{re.escape(name)}:\s+([\d.]+)", said, re.MULTILINE)
    if found is None and default is None:
        raise EngineError(f"ab says nothing of '{name}'")
    return float(found[1]) if found else float(default or 0.0)
