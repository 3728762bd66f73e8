"""What a load is aimed at, as a user writes it: a system of the lab, or a URL with the namespaces of its clients.

It names places only; it makes a lab's description, never the lab.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.client_load.client_load import ClientLoad
from keisoku.errors import PlanError
from keisoku.lab.system import SystemLab
from keisoku.path.place import Place

_URL = re.compile(r"http://(?P<host>[^/:@]+)(?::(?P<port>\d+))?(?P<path>/[^@\s]*)?(?:@(?P<namespace>\S+))?")


@dataclass(frozen=True)
class Aim:
    """Where one client is and whom it asks for what."""

    name: str
    namespace: str | None
    server: str
    host: str
    paths: tuple[tuple[str, float], ...]
    compressed: bool = False

    def load(self, **how: Any) -> ClientLoad:
        """The load of this client."""
        place = (self.name, self.server, self.host, self.paths, self.namespace)
        return ClientLoad(*place, compressed=self.compressed, **how)


def lab_aims(lab: SystemLab) -> list[Aim]:
    """Every client of a lab; the servers are shared out among them in turn."""
    paths = tuple((file.path, file.weight) for file in lab.shape.files)
    servers = lab.addresses
    return [
        Aim(
            port.name,
            str(port.namespace_path),
            servers[at % len(servers)],
            "keisoku",
            paths,
            bool(lab.shape.compression),
        )
        for at, port in enumerate(lab.ports)
    ]


def url_aims(urls: Sequence[str]) -> list[Aim]:
    """One client for each URL 'http://HOST[:PORT][/PATH][@NAMESPACE]'.

    Raises PlanError for one that is none, EngineError for a host that is not known.
    """
    found = []
    for number, url in enumerate(urls, 1):
        match = _URL.fullmatch(url)
        if match is None or not 0 < int(match["port"] or 80) < 65536:
            remedy = "write http://HOST[:PORT]/FILE[@NAMESPACE], or lab:system?…"
            raise PlanError("target", f"'{url}' is no address to load", remedy)
        place = Place.parse(f"{match['host']}@{match['namespace']}" if match["namespace"] else match["host"])
        address = place.resolve()
        if ":" in address:
            raise PlanError("target", f"{match['host']} has an IPv6 address only", "give one of IPv4")
        server = f"{address}:{match['port'] or 80}"
        found.append(Aim(f"client{number}", place.path, server, match["host"], ((match["path"] or "/", 1.0),)))
    return found
