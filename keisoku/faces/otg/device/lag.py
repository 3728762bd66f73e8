"""The link aggregation groups of a configuration, as plain values. Knows no Open vSwitch, except what it cannot do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keisoku.errors import PlanError
from keisoku.faces.otg.reading.node import Node

_NO_SYSTEM = "00:00:00:00:00:00"
_TIMEOUTS = {0: False, 3: True, 90: False}
"""Seconds after which an actor gives its partner up (IEEE 802.1AX), and whether that is the short timeout; 0 leaves it
to keisoku."""
_OWN_MAC = "LACP frames have the address of the port's interface, which keisoku does not change"


@dataclass(frozen=True)
class LagMember:
    """A port of a group."""

    name: str
    """Of the port."""
    port: int
    number: int
    """That LACP gives it; 0: of Open vSwitch's choice."""
    priority: int


@dataclass(frozen=True)
class Lacp:
    """What the members of a group say by LACP; 0 and None leave a value to Open vSwitch."""

    system_id: str | None
    system_priority: int
    key: int
    active: bool
    fast: bool
    """Whether the partner is asked for the short timeout."""


@dataclass(frozen=True)
class Lag:
    """A group of ports by which frames leave and arrive as by one."""

    name: str
    path: str
    members: tuple[LagMember, ...]
    lacp: Lacp | None
    """None: the group is static."""
    min_links: int

    @property
    def ports(self) -> tuple[int, ...]:
        """Indices of its members."""
        return tuple(member.port for member in self.members)


def lags(document: Node, ports: Mapping[str, int]) -> dict[str, Lag]:
    """All groups of a configuration by their names. Raises PlanError, with the path, for what cannot be carried out as
    written."""
    found: dict[str, Lag] = {}
    taken: dict[int, str] = {}
    for node in document.children("lags"):
        lag = _lag(node, ports)
        if lag.name in ports or lag.name in found:
            node.refuse(f"'{lag.name}' is given twice", "use another name", "name")
        for place, member in enumerate(lag.members):
            if member.port in taken:
                where = f"{node.path}.ports[{place}].port_name"
                raise PlanError(where, f"{member.name} is in {taken[member.port]}, too", "put it in one LAG")
            taken[member.port] = lag.name
        found[lag.name] = lag
    return found


def _lag(node: Node, ports: Mapping[str, int]) -> Lag:
    protocol = node.child("protocol")
    members, active, timeouts = [], set[bool](), set[bool]()
    nodes = node.children("ports")
    is_static = protocol.choice() == "static"
    for each in nodes:
        name = str(each.scalar("port_name"))
        if name not in ports:
            each.refuse(f"there is no port {name}", "name one of ports[].name", "port_name")
        ethernet = each.child("ethernet")
        ethernet.scalar("name")
        ethernet.scalar("mtu")
        ethernet.without_effect("mac", None if is_static else _OWN_MAC)
        lacp = each.child("lacp")
        number, priority = int(lacp.scalar("actor_port_number")), int(lacp.scalar("actor_port_priority"))
        if not priority:
            lacp.refuse("is no priority of Open vSwitch's ports", "use 1 to 65535", "actor_port_priority")
        members.append(LagMember(name, ports[name], number, priority))
        active.add(lacp.scalar("actor_activity") == "active")
        timeout = int(lacp.scalar("lacpdu_timeout"))
        if timeout not in _TIMEOUTS:
            lacp.refuse(f"LACP has no timeout of {timeout} s", "use 3, 90, or 0 for keisoku's choice", "lacpdu_timeout")
        timeouts.add(_TIMEOUTS[timeout])
        if lacp.scalar("lacpdu_periodic_time_interval"):
            reason = "LACP frames are sent as often as the partner's timeout asks for"
            lacp.without_effect("lacpdu_periodic_time_interval", reason)
    for name, said in (("actor_activity", active), ("lacpdu_timeout", timeouts)):
        if len(said) > 1:
            problem = "the members of a LAG have one value with Open vSwitch"
            node.refuse(problem, "give all of them the same", f"ports[0].lacp.{name}")
    lacp_ = _lacp(protocol, True in active, True in timeouts)
    min_links = int(node.scalar("min_links"))
    return Lag(str(node.scalar("name")), node.path, tuple(members), lacp_, min_links)


def _lacp(protocol: Node, active: bool, fast: bool) -> Lacp | None:
    if protocol.choice() == "static":
        # A static LAG says nothing to the device, so its number is the script's own.
        protocol.child("static").scalar("lag_id")
        return None
    node = protocol.child("lacp")
    system = str(node.scalar("actor_system_id")).lower()  # some scripts give that of a group
    key, priority = int(node.scalar("actor_key")), int(node.scalar("actor_system_priority"))
    return Lacp(None if system == _NO_SYSTEM else system, priority, key, active, fast)
