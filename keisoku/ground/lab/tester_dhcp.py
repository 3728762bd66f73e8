"""`TesterDhcp`: DHCP clients and servers of the tester: daemons at interfaces of its routers' namespaces.

Kea serves, and dhcpcd asks; nothing here does. Each client and server has a daemon of its own, so that what it counts
and knows is of that one alone.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.daemons import Daemons, listens
from keisoku.ground.lab.dhcp_count import DhcpCount

DHCPCD = Program("dhcpcd", "dhcpcd-base")
KEA = {version: Program(f"kea-dhcp{version}", f"kea-dhcp{version}-server", version_option="-v") for version in (4, 6)}
"""By the version of IP."""
UNSHARE = Program("unshare", "util-linux")
LEASES_HOOK = "libdhcp_lease_cmds.so"
"""By which Kea tells its leases."""
CONFIGURATION = "keisoku.conf"
"""What a daemon reads, in the folder of its own."""

_HOOK = """#!/bin/sh
# dhcpcd tells what it learned by its environment.
env >"/run/$protocol.new" && mv "/run/$protocol.new" "/run/$protocol.told"
"""
_OWN_FILES = 'mount --bind "$1" /run && mount -t tmpfs keisoku /var/lib && shift && exec "$@"'
"""dhcpcd has its files where all of the host's would have theirs, so that each has a /run and a /var/lib of its own."""
_NO_LEASES = 3
"""Kea's result where there is nothing."""
_HELD = ("BOUND", "RENEW", "REBIND", "REBOOT", "INFORM")
"""Reasons of dhcpcd's with which there is a lease; those of DHCPv6 end with a 6."""
_ROUTER = "ROUTERADVERT"


@dataclass(frozen=True)
class DhcpPlace:
    """A client or a server at an interface."""

    interface: str
    namespace: Path
    version: int
    """Of IP."""
    text: str
    """What its daemon reads."""
    client_mac: str | None
    """Of a client; None: it is a server."""


class TesterDhcp:
    """Servers begin before clients. Raises PlanError where a program is absent; EngineError if one does not start,
    after all others have been ended."""

    def __init__(self, places: Sequence[DhcpPlace]) -> None:
        for place in places:
            program = KEA[place.version] if place.client_mac is None else DHCPCD
            if program.path is None:
                problem = f"DHCP is spoken by {program.name}, which is not installed"
                raise PlanError("devices", problem, f"install the Debian package {program.package}")
        self._places, self._stack = places, ExitStack()
        self._daemons: dict[int, Daemons] = {}
        self._counts: dict[int, DhcpCount] = {}
        servers_first = sorted(enumerate(places), key=lambda each: each[1].client_mac is not None)
        try:
            for number, place in servers_first:
                run_in_namespace(place.namespace, partial(self._start, number, place))
        except BaseException:
            self.close()
            raise

    def _start(self, number: int, place: DhcpPlace) -> None:
        self._counts[number] = counts = DhcpCount(place.interface, place.client_mac)
        self._stack.callback(counts.close)
        self._daemons[number] = daemons = Daemons(f"{place.namespace.name}-dhcp{number}")
        self._stack.callback(daemons.end)
        directory = daemons.make_directory(passable=True)
        (directory / CONFIGURATION).write_text(place.text)
        (_start_server if place.client_mac is None else _start_client)(daemons, place)

    def close(self) -> None:
        """Clients give their leases back. Twice is no error."""
        self._stack.close()

    def counts(self, place: int) -> Mapping[tuple[bool, str], int]:
        """The messages of a place, by its number (`DhcpCount`)."""
        return self._counts[place].counts(self._places[place].version)

    def lease(self, place: int) -> Mapping[str, str]:
        """What a client said of its lease the last time, by dhcpcd's names; empty if it has none."""
        found = _said(self._daemons[place].directory / f"{_protocol(self._places[place])}.told")
        return found if found.get("reason", "").rstrip("6") in _HELD else {}

    def router(self, place: int) -> str | None:
        """The router that a DHCPv6 client heard of last."""
        found = _said(self._daemons[place].directory / "ra.told")
        return found.get("nd1_from") if found.get("reason") == _ROUTER else None

    def leases(self, place: int) -> list[Mapping[str, Any]]:
        """All leases of a server, as Kea says them. Raises EngineError if it does not answer."""
        answer = _ask(_socket(self._daemons[place]), f"lease{self._places[place].version}-get-all")
        if answer["result"] not in (0, _NO_LEASES):
            raise EngineError(f"kea does not say its leases: {answer.get('text')}")
        return list(answer.get("arguments", {}).get("leases", ()))


def leases_hook() -> str:
    """The path of Kea's part that tells leases. Raises PlanError where there is none."""
    places = (place for folder in ("", "*/") for place in Path("/usr/lib").glob(f"{folder}kea/hooks/{LEASES_HOOK}"))
    found = next(places, None)
    if found is None:
        raise PlanError("devices", f"kea has no {LEASES_HOOK}", "install the Debian package kea-common")
    return str(found)


def _protocol(place: DhcpPlace) -> str:
    return "dhcp" if place.version == 4 else "dhcp6"


def _start_client(daemons: Daemons, place: DhcpPlace) -> None:
    hook = daemons.directory / "hook"
    hook.write_text(_HOOK)
    hook.chmod(0o755)
    words = ["--config", f"/run/{CONFIGURATION}", "--script", "/run/hook", f"-{place.version}"]
    client = [DHCPCD.path or DHCPCD.name, "--nobackground", *words, place.interface]
    arguments = ("--mount", "/bin/sh", "-c", _OWN_FILES, "sh", str(daemons.directory), *client)

    def ready() -> bool:
        return " starting" in daemons.log(DHCPCD.name)

    daemons.start(UNSHARE, *arguments, ready=ready, core=None, name=DHCPCD.name)


def _start_server(daemons: Daemons, place: DhcpPlace) -> None:
    program = KEA[place.version]
    own = {name: str(daemons.directory) for name in ("KEA_PIDFILE_DIR", "KEA_CONTROL_SOCKET_DIR", "KEA_DHCP_DATA_DIR")}

    def ready() -> bool:
        return f"DHCP{place.version}_STARTED" in daemons.log(program.name) and listens(_socket(daemons))

    file = str(daemons.directory / CONFIGURATION)
    daemons.start(program, "-c", file, ready=ready, core=None, environment={"KEA_LOCKFILE_DIR": "none", **own})
    for line in daemons.log(program.name).splitlines():
        if "OPEN_SOCKET_FAIL" in line:
            raise EngineError(f"kea cannot serve at {place.interface}: {line.partition('OPEN_SOCKET_FAIL ')[2]}")


def _socket(daemons: Daemons) -> Path:
    return daemons.directory / "socket"


def _ask(path: Path, command: str) -> dict[str, Any]:
    try:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(10)
            asked.connect(str(path))
            asked.sendall(json.dumps({"command": command}).encode())
            said = b"".join(iter(lambda: asked.recv(1 << 16), b""))
    except OSError as error:
        raise EngineError(f"kea does not answer: {error}") from error
    found: dict[str, Any] = json.loads(said)
    return found


def _said(path: Path) -> dict[str, str]:
    """The environment that a hook wrote; empty before it has."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition("=") for line in lines)
    return {name: value for name, _, value in pairs}
