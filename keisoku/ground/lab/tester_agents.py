"""`TesterAgents`: LLDP agents of the tester at its ports: interfaces of the kernel, and the daemons that speak at them.

lldpd speaks; nothing here does. Each agent has a namespace, as what lldpd says of a chassis is the same at all of its
interfaces. Each interface is a macvlan on a port, so that several agents and routers can be at one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.program import Program
from keisoku.ground.host.undo import record_chroot, undo
from keisoku.ground.lab.daemons import Daemons
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.interface import disable_ipv6
from keisoku.ground.lab.lifetime import Lifetime

LLDPD, LLDPCLI = PROGRAMS = tuple(Program(name, "lldpd", version_option="-v") for name in ("lldpd", "lldpcli"))
RIGHTS = ("CAP_SETUID", "CAP_SETGID", "CAP_SYS_CHROOT")
"""What lldpd needs, besides what a lab does: it gives up root by itself."""
_CHASSIS = "chassis~id"
"""An interface whose MAC address is that of the chassis; no script can name one so."""
CHROOT = Path("/run/lldpd")
"""Where lldpd locks itself up; it makes the folder if there is none."""
_READY = "lldpd should resume operations"
_REFUSED = ("an error occurred while executing last command", "too big message")
"""What it logs of a command that it does not carry out, and of agents whose TLVs have no room in a frame."""


@dataclass(frozen=True)
class AgentPlace:
    """An agent at a port."""

    name: str
    """Of its interface, at most 15 characters."""
    port: str
    """The interface of the port on which it is."""
    port_namespace: Path | None
    mac: str | None
    """None: of the kernel's choice."""
    chassis_mac: str | None
    """The chassis identifier, if it is a MAC address that the interface does not have."""
    commands: Sequence[str]
    """What lldpcli tells the daemon before it speaks."""


class TesterAgents(Lifetime):
    """A context manager. Raises PlanError where there is no lldpd or labs are not possible; EngineError if it cannot be
    made, after removing all that was made."""

    kind = "of the tester's LLDP agents"

    def __init__(self, places: Sequence[AgentPlace]) -> None:
        super().__init__()
        self._places = places
        self._made: list[tuple[Namespace, Daemons]] = []
        self._chroot: list[Path] = []

    def ask(self, place: int, *words: str) -> list[Mapping[str, Any]]:
        """What lldpcli says of the interface of a place, by its number: an entry, or one for each neighbour."""
        said = LLDPCLI.run("-u", str(_socket(self._made[place][1])), "-f", "json0", *words)
        # It writes one of the control characters that a neighbour's text may have as it is.
        (whole,) = json.loads(said, strict=False).values()
        found = [each for part in whole for each in part.get("interface", ())]
        return [each for each in found if each["name"] == self._places[place].name]

    def _prepare(self) -> None:
        if any(program.path is None for program in PROGRAMS):
            raise PlanError(
                "lldp", "LLDP is spoken by lldpd, which is not installed", "install the Debian package lldpd"
            )

    def _create(self, prefix: str) -> None:
        self._chroot += record_chroot(CHROOT)
        for number, place in enumerate(self._places, 1):
            namespace = self._add_namespace(f"{prefix}-agent{number}")
            namespace.run(disable_ipv6)
            mac = "" if place.mac is None else f"address {place.mac} "
            # Private: two agents of the tester meet through the device, never by a short cut in the kernel.
            into = f"{mac}group {iproute.UPON_PORT} netns {namespace.name}"
            link = f"link add link {place.port} name {place.name} {into} type macvlan mode private"
            run_in_namespace(place.port_namespace, partial(iproute.ip, link))
            namespace.run(partial(iproute.ip, *_interfaces(place)))
            daemons = Daemons(namespace.name)
            self._made.append((namespace, daemons))
            daemons.make_directory(passable=True)
            namespace.run(partial(_start, daemons, place))

    def _end(self) -> None:
        while self._made:
            namespace, daemons = self._made.pop()
            daemons.end()
            namespace.run(iproute.remove_links_upon_ports)
        while self._chroot:
            undo(self._chroot.pop())


def _socket(daemons: Daemons) -> Path:
    return daemons.directory / "lldpd.socket"


def _interfaces(place: AgentPlace) -> Sequence[str]:
    up = [f"link set dev {place.name} up"]
    if place.chassis_mac is None:
        return up
    # lldpd takes the address of an interface that it speaks at; nobody is at the other end of this one.
    pair = f"link add name {_CHASSIS} address {place.chassis_mac} type veth peer name {_CHASSIS}-end"
    return [*up, pair, f"link set dev {_CHASSIS} up", f"link set dev {_CHASSIS}-end up"]


def _start(daemons: Daemons, place: AgentPlace) -> None:
    file = daemons.directory / "lldpd.conf"
    file.write_text("".join(f"{command}\n" for command in place.commands))
    file.chmod(0o644)  # lldpd gives up root before it reads it
    chassis = place.name if place.chassis_mac is None else _CHASSIS
    names = ",".join(dict.fromkeys((place.name, chassis)))
    words = ("-d", "-u", str(_socket(daemons)), "-O", str(file), "-I", names, "-C", chassis)

    def ready() -> bool:
        return _READY in daemons.log(LLDPD.name)

    daemons.start(LLDPD, *words, ready=ready, core=None)
    said = [line.partition("] ")[2] for line in daemons.log(LLDPD.name).splitlines()]
    for before, line in pairwise(said):
        if any(word in line for word in _REFUSED):
            raise EngineError(f"lldpd refuses its configuration: {before}; {line}")
