"""The far ends of bulk streams in a lab: for each client one in its server's namespace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.system.lab import SystemLab
from keisoku.subjects.system.load.target import Aim, lab_aims


@contextmanager
def bulk_aims(lab: SystemLab) -> Iterator[list[Aim]]:
    """Every client of a lab with a stream server of its own, as a server measures with one client at a time."""
    with ExitStack() as stack:
        aims = []
        for at, aim in enumerate(lab_aims(lab)):
            address = aim.server.rpartition(":")[0]
            here = Place(address, lab.servers[at % len(lab.servers)].name)
            server = stack.enter_context(FarEnd("stream", here))
            aims.append(replace(aim, server=f"{address}:{server.port}"))
        yield aims
