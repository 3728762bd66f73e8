"""The kinds of clients, by name, and the common start of several of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence

from keisoku.errors import PlanError
from keisoku.ground.host.open_files import allow_files
from keisoku.subjects.system.load import apache_bench, bulk_client, oha, own_client, wrk
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun, Running
from keisoku.subjects.system.load.program import LoadProgram
from keisoku.subjects.system.load.program_client import maker
from keisoku.subjects.system.load.remote_client import RemoteClient
from keisoku.subjects.system.load.ssh_hosts import SshHosts

PROGRAMS: dict[str, LoadProgram] = {one.name: one for one in (apache_bench.PROGRAM, wrk.PROGRAM, oha.PROGRAM)}
BULK = tuple(bulk_client.KINDS)
"""Those that send bytes in TCP streams instead of requesting files."""
CLIENTS: dict[str, Callable[[ClientLoad, SshHosts], Running]] = {
    own_client.NAME: lambda load, hosts: RemoteClient(load, hosts) if load.ssh else own_client.OwnClient(load),
    **{name: maker(program) for name, program in PROGRAMS.items()},
    **{name: make for name, make in bulk_client.KINDS.items()},
}
HEAD_START_S = 0.2
"""From when all clients are ready to the common beginning."""


def find_client(name: str) -> Callable[[ClientLoad, SshHosts], Running]:
    """Raises PlanError for an unknown one."""
    if name not in CLIENTS:
        raise PlanError("with", f"there is no client '{name}'", f"choose one of {', '.join(CLIENTS)}")
    return CLIENTS[name]


def begin(loads: Sequence[ClientLoad], client: str, hosts: SshHosts | None = None) -> list[Running]:
    """Starts all loads, which begin together, each by its offset later.

    Raises what the client raises, after stopping those that were started.
    """
    make = find_client(client)
    allow_files("concurrency", sum(load.connections for load in loads))
    running: list[Running] = []
    try:
        for load in loads:
            running.append(make(load, hosts or SshHosts()))
        begin_ns = time.monotonic_ns() + round(HEAD_START_S * 1e9)
        for load, one in zip(loads, running, strict=True):
            one.begin(begin_ns + round(load.offset_s * 1e9))
    except BaseException:
        end(running)
        raise
    return running


def run(loads: Sequence[ClientLoad], client: str, hosts: SshHosts | None = None) -> list[ClientRun]:
    """Runs all loads to their end, together."""
    running = begin(loads, client, hosts)
    try:
        return [one.finish() for one in running]
    except BaseException:
        end(running)
        raise


def end(running: Sequence[Running]) -> None:
    """Stops all and waits; their records are not kept."""
    for one in running:
        one.stop()
    for one in running:
        with contextlib.suppress(Exception):
            one.finish()
