"""`LoadProgram`: a program of somebody else's that makes load: how it is called for a load, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from keisoku.errors import PlanError
from keisoku.system.load.client_load import ClientLoad
from keisoku.system.load.client_run import ClientRun
from keisoku.system.load.invocation import Ended, Invocation


@dataclass(frozen=True)
class LoadProgram:
    """`invoke` raises PlanError for a load that it cannot make; `read` raises EngineError for what is not its word."""

    name: str
    origin: str
    """Where it comes from: 'the Debian package NAME'."""
    invoke: Callable[[ClientLoad], Invocation]
    read: Callable[[ClientLoad, Ended], ClientRun]
    remark: str
    """What its figures can tell, and what not."""


def only_path(load: ClientLoad, program: str) -> str:
    """The one file of a load. Raises PlanError if there are several."""
    paths = [path for path, weight in load.paths if weight]
    if len(paths) != 1:
        raise PlanError("with", f"{program} asks for one file only", "use --with own or wrk for several")
    return paths[0]


def closed_loop(load: ClientLoad, program: str) -> None:
    """Raises PlanError for an open loop."""
    if load.per_second is not None:
        raise PlanError("with", f"{program} asks in a closed loop only", "use --with own or oha for --rate")
