"""`LoadProgram`: an external program that makes load: how it is called, and how its output is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from keisoku.errors import PlanError
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.invocation import Ended, Invocation


@dataclass(frozen=True)
class LoadProgram:
    """`invoke` raises PlanError for a load that it cannot make; `read` raises EngineError for other output."""

    name: str
    origin: str
    """Where it comes from: 'the Debian package NAME'."""
    invoke: Callable[[ClientLoad], Invocation]
    read: Callable[[ClientLoad, Ended], ClientRun]
    remark: str
    """What its figures show, and what they do not."""


def only_path(load: ClientLoad, program: str) -> str:
    """The one file of a load. Raises PlanError if there are several."""
    paths = [path for path, weight in load.paths if weight]
    if len(paths) != 1:
        raise PlanError("with", f"{program} requests one file only", "use --with own or wrk for several")
    return paths[0]


def closed_loop(load: ClientLoad, program: str) -> None:
    """Raises PlanError for an open loop."""
    if load.per_second is not None:
        raise PlanError("with", f"{program} sends requests in a closed loop only", "use --with own or oha for --rate")
