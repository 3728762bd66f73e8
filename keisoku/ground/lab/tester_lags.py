"""`TesterLags`: link aggregation groups of the tester: LACP at the ports of each, and an interface of the kernel.

Open vSwitch speaks LACP, and carries what is no test frame between the interface and the ports; nothing here does.
Each port has a macvlan that takes all that the port's own interface receives beside test frames, so nothing else of the
tester can be at the port meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.lab.daemons import Daemons
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.interface import disable_ipv6
from keisoku.ground.lab.device.vswitch import PROGRAMS, Vswitch
from keisoku.ground.lab.lifetime import Lifetime


@dataclass(frozen=True)
class MemberPlace:
    """A port of a group."""

    port: str
    """Its interface."""
    port_namespace: Path | None
    settings: Mapping[str, str]
    """Of Open vSwitch's `Interface`, in its `other_config`."""


@dataclass(frozen=True)
class LagPlace:
    """A group."""

    members: Sequence[MemberPlace]
    lacp: str | None
    """'active' or 'passive'; None: the group is static."""
    settings: Mapping[str, str]
    """Of Open vSwitch's `Port`, in its `other_config`."""


class TesterLags(Lifetime):
    """A context manager. Raises PlanError where there is no Open vSwitch or labs are not possible; EngineError if it
    cannot be made, after removing all that was made."""

    kind = "of the tester's LAGs"

    def __init__(self, places: Sequence[LagPlace]) -> None:
        super().__init__()
        self._places = places
        self._namespace: Namespace | None = None
        self._daemons: Daemons | None = None
        self._switch: Vswitch | None = None

    def interface(self, place: int) -> tuple[str, Path]:
        """The interface of a group, by its number, and its namespace."""
        assert self._namespace is not None, "it is made"
        return _name(place), self._namespace.path

    def lacp_state(self, place: int) -> tuple[str, str]:
        """What Open vSwitch says of a group's LACP, and its statistics. Members are called as `member` says."""
        assert self._switch is not None, "it is made"
        bond = _bond(place, self._places[place])
        return self._switch.control("lacp/show", bond), self._switch.control("lacp/show-stats", bond)

    def set_member(self, place: int, number: int, up: bool) -> None:
        """A member takes part in its group, or does not."""
        assert self._namespace is not None, "it is made"
        self._namespace.run(partial(iproute.ip, f"link set dev {member(place, number)} {'up' if up else 'down'}"))

    def _prepare(self) -> None:
        if any(program.path is None for program in PROGRAMS):
            problem = "LACP is spoken by Open vSwitch, which is not installed"
            raise PlanError("lags", problem, "install the Debian package openvswitch-switch")

    def _create(self, prefix: str) -> None:
        self._namespace = namespace = self._add_namespace(f"{prefix}-lags")
        namespace.run(disable_ipv6)
        for number, place in enumerate(self._places):
            for at, one in enumerate(place.members):
                name = member(number, at)
                into = f"group {iproute.UPON_PORT} netns {namespace.name}"
                link = f"link add link {one.port} name {name} {into} type macvlan mode passthru"
                run_in_namespace(one.port_namespace, partial(iproute.ip, link))
                namespace.run(partial(iproute.ip, f"link set dev {name} up"))
        self._daemons = daemons = Daemons(namespace.name)
        self._switch = switch = namespace.run(lambda: Vswitch(daemons, None))
        for number, place in enumerate(self._places):
            namespace.run(partial(_build, switch, number, place))
            namespace.run(partial(iproute.ip, f"link set dev {_name(number)} up"))

    def _end(self) -> None:
        daemons, self._daemons = self._daemons, None
        if daemons is not None:
            daemons.end()
        if self._namespace is not None:
            self._namespace.run(iproute.remove_links_upon_ports)
            self._namespace = None


def member(place: int, number: int) -> str:
    """The name of a member's interface, by the numbers of its group and of itself."""
    return f"lag{place + 1}-{number + 1}"


def _name(place: int) -> str:
    return f"lag{place + 1}"


def _bond(number: int, place: LagPlace) -> str:
    """Open vSwitch's name of the members together; of one it is that of its interface."""
    return f"{_name(number)}-all" if len(place.members) > 1 else member(number, 0)


def _build(switch: Vswitch, number: int, place: LagPlace) -> None:
    name, bond = _name(number), _bond(number, place)
    members = [member(number, at) for at in range(len(place.members))]
    if place.lacp is None:
        switch.bridge(name, *members)
        numbers = range(1, len(members) + 1)
        # Each conversation leaves by the same one of the members that have a link.
        chosen = f"bundle(symmetric_l3l4+udp,0,hrw,ofport,members:{','.join(map(str, numbers))})"
        arriving = [f"in_port={one},actions=LOCAL" for one in numbers]
        switch.set_flows(name, [*arriving, f"in_port=LOCAL,actions={chosen}"])
        return
    switch.bridge(name, learning=True)
    several = ["add-bond", name, bond, *members, "bond_mode=balance-tcp"]
    words = several if len(members) > 1 else ["add-port", name, bond]
    words += ["--", "set", "port", bond, f"lacp={place.lacp}", *_written(place.settings)]
    for interface, one in zip(members, place.members, strict=True):
        if one.settings:
            words += ["--", "set", "interface", interface, *_written(one.settings)]
    switch.configure(*words)


def _written(settings: Mapping[str, str]) -> Iterable[str]:
    # A colon in a value would end it.
    return [f'other_config:{key}="{value}"' for key, value in settings.items()]
