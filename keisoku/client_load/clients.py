"""The clients that there are, by name, and several of them begun at once."""

from __future__ import annotations

import contextlib
import resource
import time
from collections.abc import Callable, Sequence

from keisoku.client_load import apache_bench, own_client
from keisoku.client_load.client_load import ClientLoad
from keisoku.client_load.client_run import ClientRun, Running
from keisoku.errors import PlanError

CLIENTS: dict[str, Callable[[ClientLoad, int], Running]] = {
    own_client.NAME: own_client.OwnClient,
    apache_bench.NAME: apache_bench.ApacheBench,
}
HEAD_START_S = 0.2
"""From starting the clients to the common beginning."""


def find_client(name: str) -> Callable[[ClientLoad, int], Running]:
    """Raises PlanError for one that there is not."""
    if name not in CLIENTS:
        raise PlanError("with", f"there is no client '{name}'", f"choose one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def begin(loads: Sequence[ClientLoad], client: str) -> list[Running]:
    """Starts all loads, which begin together. Raises what the client raises, after stopping those that were started."""
    make = find_client(client)
    raise_file_limit(sum(load.connections for load in loads))
    begin_ns = time.monotonic_ns() + round(HEAD_START_S * 1e9)
    running: list[Running] = []
    try:
        for load in loads:
            running.append(make(load, begin_ns))
    except BaseException:
        end(running)
        raise
    return running


def run(loads: Sequence[ClientLoad], client: str) -> list[ClientRun]:
    """Runs all loads to their end, together."""
    running = begin(loads, client)
    try:
        return [one.finish() for one in running]
    except BaseException:
        end(running)
        raise


def end(running: Sequence[Running]) -> None:
    """Stops all and waits; what they saw is not kept."""
    for one in running:
        one.stop()
    for one in running:
        with contextlib.suppress(Exception):
            one.finish()


def raise_file_limit(connections: int) -> None:
    """Every connection is an open file. Raises PlanError if the system does not allow as many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 1024
    if soft != resource.RLIM_INFINITY and soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise PlanError("concurrency", f"only {hard} files may be open at once", "raise ulimit -n")
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
