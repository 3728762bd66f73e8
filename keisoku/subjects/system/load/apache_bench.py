"""ApacheBench: how `ab` is called, and how its output is read.

It has one thread, speaks HTTP/1.0, and reports latencies as percentiles in steps of 1 % only.
"""

from __future__ import annotations

import csv
import re

from keisoku.errors import EngineError
from keisoku.language import phrase
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.invocation import Ended, Invocation
from keisoku.subjects.system.load.percentiles import buckets_of
from keisoku.subjects.system.load.program import LoadProgram, closed_loop, only_path

NAME = "ab"
MOST_PER_SECOND = 50_000
"""Number of requests for which it allocates memory when only a time is given; it never does as many."""
TABLE = "percent.csv"


def invoke(load: ClientLoad) -> Invocation:
    """Raises PlanError for a load that it cannot make."""
    closed_loop(load, NAME)
    path = only_path(load, NAME)
    most = load.requests or round((load.seconds or 0) * MOST_PER_SECOND)
    arguments = [NAME, "-q", "-r"]
    # -n has to come behind -t, which else sets it to 50000; and it is never below the concurrency.
    arguments += ["-t", str(max(1, round(load.seconds)))] if load.seconds else []
    arguments += ["-n", str(max(most, load.connections)), "-c", str(load.connections)]
    arguments += ["-s", str(max(1, round(load.timeout_s))), "-e", TABLE]
    arguments += ["-k"] if load.keep_alive else []
    arguments += ["-H", "Accept-Encoding: gzip"] if load.compressed else []
    arguments += ["-H", f"Host: {load.host}", f"http://{load.server}{path}"]
    return Invocation(tuple(arguments), taken=(TABLE,), open_files=load.connections + 1024)


def read(load: ClientLoad, ended: Ended) -> ClientRun:
    """A run from ab's words and its table of percentiles. Raises EngineError if they are not."""
    said = ended.succeeded(f"ab of {load.name}").said
    completed = round(_figure(said, "Complete requests"))
    failed = round(_figure(said, "Failed requests")) + round(_figure(said, "Non-2xx responses", 0.0))
    seconds = _figure(said, "Time taken for tests")
    return ClientRun(
        client=load.name,
        completed=max(0, completed - failed),
        failed=failed,
        received_bytes=round(_figure(said, "Total transferred")),
        began_ns=ended.began_ns,
        ended_ns=ended.began_ns + round(seconds * 1e9),
        latencies=buckets_of(_percentiles(ended.files.get(TABLE, "")), completed),
        failures={"failed": failed} if failed else {},
    )


def _percentiles(table: str) -> list[tuple[float, float]]:
    """Percent and ns. ab's 0 % is its fastest request, and 100 % its slowest."""
    try:
        return [(float(row[0]), float(row[1]) * 1e6) for row in list(csv.reader(table.splitlines()))[1:] if row]
    except (ValueError, IndexError, csv.Error) as error:
        raise EngineError(f"ab's table of percentiles cannot be read: {error}") from error


def _figure(said: str, name: str, default: float | None = None) -> float:
    found = re.search("^" + re.escape(name) + r":\s+(\d{1,15}(?:\.\d{1,9})?)(?=\s|$)", said, re.MULTILINE)
    if found is None and default is None:
        raise EngineError(f"ab's output has no '{name}'")
    return float(found[1]) if found else float(default or 0.0)


PROGRAM = LoadProgram(
    NAME,
    "the Debian package apache2-utils",
    invoke,
    read,
    phrase(
        "ab is a closed loop on one thread that reports percentiles in steps of 1 % only: "
        "those between them lie between two of its figures."
    ),
)
