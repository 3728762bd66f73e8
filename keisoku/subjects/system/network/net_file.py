"""Real ports as a TOML file names them: 'net:FILE'. Interfaces of this host, or of one that ssh reaches.

Reads and refuses; it limits and watches nothing. The load is the user's own.
"""

from __future__ import annotations

import ipaddress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from keisoku.errors import PlanError
from keisoku.ground.host.interface import has_default_route
from keisoku.ground.host.link import speed_mbps
from keisoku.ground.host.namespace import named, run_in_namespace
from keisoku.ground.host.text_file import read_toml
from keisoku.ground.run.settings import Settings, parsed
from keisoku.subjects.system.load.ssh_hosts import check_destination
from keisoku.subjects.system.network.network_system import GovernedPort
from keisoku.subjects.system.network.port_watch import Before, WatchedPort
from keisoku.subjects.system.shaping.port_place import PortPlace

Rate = Annotated[float, Field(gt=0)]
_Port = tuple[Path | None, str]


class SeenPort(Settings):
    """The port that delivers to a client, where that is another one than the one that is limited."""

    interface: str
    namespace: str | None = None
    line_bps: Rate | None = None


class NetClient(Settings):
    """A client, and the interface that sends towards it."""

    name: str
    interface: str
    namespace: str | None = None
    """A name as of `ip netns`, or a path."""
    address: str | None = None
    """IPv4 address of the client, where the interface leads to others as well: only what is sent to it is limited."""
    line_bps: Rate | None = None
    """Of the interface; not given: its own speed."""
    seen: SeenPort | None = None


class NetFile(Settings):
    """As written."""

    client: tuple[NetClient, ...] = Field(min_length=1)
    title: str = "real ports"
    host: str | None = None
    """ssh://USER@HOST[:PORT]: the interfaces are there, and keisoku is installed there; not given: they are here."""
    ssh_config: str | None = None
    """Configuration file for ssh, in place of the user's own."""
    server_line_bps: Rate | None = None
    """Of the one link that all answers come over, where there is one."""
    force: bool = False
    """Limit an interface even if it carries the default route."""


def read_net(path: Path) -> NetFile:
    """A user's file. Raises PlanError for the first thing that is wrong."""
    return checked(read_toml("system", path))


def checked(values: dict[str, Any]) -> NetFile:
    """The file of these values. Raises PlanError for the first thing that is wrong."""
    clients = values.get("client")
    for number, one in enumerate(clients if isinstance(clients, list) else [], 1):
        if isinstance(one, dict):
            parsed(NetClient, one, partial(_of_client, number))
    file = parsed(NetFile, values)
    if file.host is not None:
        check_destination(file.host)
    names = [one.name for one in file.client]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise PlanError("client", f"two have the name '{twice}'", "give each a name of its own")
    for one in file.client:
        if one.address is not None:
            _check_address(one.address)
    seen = [_seen(one) for one in file.client]
    if shared := next((port for port in seen if seen.count(port) > 1), None):
        raise PlanError(
            "client",
            f"two clients are seen at {shared[1]}, which cannot tell them apart",
            "name the port that delivers to each of them as its 'seen'",
        )
    return file


def governed_ports(file: NetFile) -> list[GovernedPort]:
    """The ports of this host, with their line rates. Raises PlanError for one that is not there or must not be."""
    return [_governed(one, file.force) for one in file.client]


def _governed(one: NetClient, force: bool) -> GovernedPort:
    place = PortPlace(one.interface, named(one.namespace), one.address)
    if not force and run_in_namespace(place.namespace, lambda: has_default_route(one.interface)):
        raise PlanError(
            "client",
            f"{one.interface} carries the default route, and a limit there may cut this host off",
            "limit another port, or write force = true",
        )
    line_bps = one.line_bps or _line_rate(one.interface, place.namespace)
    if one.seen is None:
        return GovernedPort(WatchedPort(one.name, line_bps, one.interface, place.namespace), place, line_bps)
    interface, namespace = one.seen.interface, named(one.seen.namespace)
    seen_bps = one.seen.line_bps or _line_rate(interface, namespace)
    before = Before(line_bps, one.interface, place.namespace)
    return GovernedPort(WatchedPort(one.name, seen_bps, interface, namespace, before), place, line_bps)


def _line_rate(interface: str, namespace: Path | None) -> float:
    found = run_in_namespace(namespace, lambda: speed_mbps(interface))
    if found is None:
        raise PlanError("client", f"{interface} does not say how fast it is", "give its line_bps")
    return 1e6 * found


def _seen(one: NetClient) -> _Port:
    port = one.seen or one
    return named(port.namespace), port.interface


def _of_client(number: int, key: str) -> str:
    return f"client {number}.{key}"


def _check_address(text: str) -> None:
    try:
        ipaddress.IPv4Address(text)
    except ValueError as error:
        raise PlanError("address", f"'{text}' is no IPv4 address", "write one such as 192.0.2.7") from error
