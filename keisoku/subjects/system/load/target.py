"""The target of a load, as a user writes it: a system of the lab, or a URL for each client with the client's place.

It names places only; it makes a lab's description, never the lab.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.host.place import Place
from keisoku.ground.lab.system.lab import SystemLab
from keisoku.subjects.stream.far_end import PORT as STREAM_PORT
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.ssh_hosts import SCHEME, check_destination

_URL = re.compile(
    r"(?P<kind>http|tcp)://(?P<host>[^/:@\s]+)(?::(?P<port>\d{1,5}))?(?P<path>/[^@\s]*)?(?:@(?P<place>\S+))?"
)
HTTP, TCP = "http", "tcp"
_PORTS = {HTTP: 80, TCP: STREAM_PORT}


@dataclass(frozen=True)
class Aim:
    """The place of one client, its server and its files."""

    name: str
    namespace: str | None
    server: str
    host: str
    paths: tuple[tuple[str, float], ...]
    compressed: bool = False
    ssh: str | None = None

    def load(self, **how: Any) -> ClientLoad:
        """The load of this client."""
        place = (self.name, self.server, self.host, self.paths, self.namespace)
        return ClientLoad(*place, compressed=self.compressed, ssh=self.ssh, **how)


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


def url_aims(urls: Sequence[str], kind: str = HTTP) -> list[Aim]:
    """One client for each URL 'http://HOST[:PORT][/PATH][@PLACE]', or 'tcp://HOST[:PORT][@PLACE]' of streams.

    A place is a namespace's name or path, or ssh://USER@HOST[:PORT]. Raises PlanError for a URL that is none,
    EngineError for a host that is not known.
    """
    found = []
    for number, url in enumerate(urls, 1):
        match = _URL.fullmatch(url)
        port = int(match["port"] or _PORTS[kind]) if match else 0
        if match is None or match["kind"] != kind or not 0 < port < 65536 or (kind == TCP and match["path"]):
            form = "http://HOST[:PORT]/FILE[@PLACE]" if kind == HTTP else "tcp://HOST[:PORT][@PLACE]"
            raise PlanError("target", f"'{url}' is no address to load", f"write {form}, or lab:system?…")
        at = match["place"] or ""
        ssh = check_destination(at) if at.startswith(SCHEME) else None
        place = Place.parse(match["host"] if ssh or not at else f"{match['host']}@{at}")
        address = next((one for one in place.addresses() if ":" not in one), None)
        if address is None:
            raise PlanError("target", f"{match['host']} has an IPv6 address only", "give one of IPv4")
        paths = ((match["path"] or "/", 1.0),)
        host = match["host"] if port == _PORTS[kind] else f"{match['host']}:{port}"
        found.append(Aim(f"client{number}", place.path, f"{address}:{port}", host, paths, ssh=ssh))
    return found
