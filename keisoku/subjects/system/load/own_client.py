"""keisoku's own client (core/src/system/http_load): HTTP/1.1, closed or open loop, nothing to install."""

from __future__ import annotations

import json

from keisoku._core import HttpLoad
from keisoku.errors import EngineError, PlanError
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun

NAME = "own"
SLICE_MS = 100


class OwnClient:
    """Ready from the start. Raises EngineError if its threads cannot be started."""

    def __init__(self, load: ClientLoad) -> None:
        load.check()
        self._own = load
        self._load: HttpLoad | None = None

    def begin(self, at_ns: int) -> None:
        """At that time of CLOCK_MONOTONIC; returns before.

        Raises PlanError for a load that is not possible, EngineError if it cannot be started.
        """
        load = self._own
        plan = {
            "namespace": load.namespace,
            "server": load.server,
            "paths": [list(path) for path in load.paths],
            "host": load.host,
            "headers": [["Accept-Encoding", "gzip"]] if load.compressed else [],
            "connections": load.connections,
            "per_second": load.per_second,
            "poisson": load.poisson,
            "keep_alive": load.keep_alive,
            "requests": load.requests,
            "seconds": load.seconds,
            "timeout_s": load.timeout_s,
            "begin_ns": at_ns,
            # One loop does more than any of our servers; a second thread would take a processor from them.
            "threads": 1,
            "seed": load.seed,
            "slice_ms": SLICE_MS,
        }
        try:
            self._load = HttpLoad(json.dumps(plan))
        except ValueError as error:
            raise PlanError("load", f"the load of {load.name} is not possible: {error}", "change it") from error
        except OSError as error:
            raise EngineError(f"the load of {load.name} cannot be started: {error}") from error

    def finish(self) -> ClientRun:
        """Waits for its end. Raises EngineError for a load that did not begin or could not go on."""
        name = self._own.name
        if self._load is None:
            raise EngineError(f"the load of {name} was stopped before it began")
        try:
            seen = json.loads(self._load.finish())
        except OSError as error:
            raise EngineError(f"the load of {name} could not go on: {error}") from error
        failures = {why: count for why, count in seen["failures"].items() if count}
        if seen["refusals"]:
            failures["refusals"] = seen["refusals"]
        latency = seen["latency"]
        return ClientRun(
            client=name,
            completed=seen["completed"] - seen["refusals"],
            failed=sum(failures.values()),
            received_bytes=seen["bytes"],
            began_ns=seen["began_ns"],
            ended_ns=seen["ended_ns"],
            latencies=tuple(zip(latency["lower_ns"], latency["upper_ns"], latency["counts"], strict=True)),
            given_up=seen["given_up"],
            unsent=seen["unsent"],
            cpu_ns=seen["cpu_ns"],
            failures=failures,
            slices=tuple((one["completed"], one["bytes"]) for one in seen["slices"]),
        )

    def stop(self) -> None:
        """Ends it early."""
        if self._load is not None:
            self._load.stop()
