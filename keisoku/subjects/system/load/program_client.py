"""`ProgramClient`: one client's load made by a program (ab, wrk, oha) in a namespace here or on a host over ssh."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from keisoku.errors import PlanError
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.program import LoadProgram
from keisoku.subjects.system.load.ssh_hosts import SshHosts
from keisoku.subjects.system.load.watched_script import script
from keisoku.subjects.system.load.watched_session import WatchedSession


class ProgramClient:
    """Ready from the start. Raises PlanError for a load that it cannot make, or where the program is not installed."""

    def __init__(self, program: LoadProgram, load: ClientLoad, hosts: SshHosts) -> None:
        load.check()
        self._program, self._load = program, load
        invocation = program.invoke(load)
        token = f"keisoku-{secrets.token_hex(8)}"
        text = script(token, invocation)
        command = ["/bin/sh", "-c", text] if load.ssh is None else hosts.command(load.ssh, text)
        self._session = WatchedSession(command, token, f"{program.name} of {load.name}", load.namespace)
        if not self._session.ready():
            where = "" if load.ssh is None else f" at {load.ssh}"
            raise PlanError(
                "with", f"{program.name} is not installed{where}", f"install {program.origin} there, or use own"
            )

    def begin(self, at_ns: int) -> None:
        """At that time of CLOCK_MONOTONIC."""
        self._session.begin(at_ns)

    def finish(self) -> ClientRun:
        """Waits for its end and reads its output. Raises EngineError if it failed."""
        return self._program.read(self._load, self._session.finish())

    def stop(self) -> None:
        """Ends it early, without figures."""
        self._session.stop()


def maker(program: LoadProgram) -> Callable[[ClientLoad, SshHosts], ProgramClient]:
    """Makes clients of a program."""
    return lambda load, hosts: ProgramClient(program, load, hosts)
