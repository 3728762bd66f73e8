"""What happens to the device while a trial runs: what is asked for (`Event`), and when it was done (`Happened`)."""

from __future__ import annotations

from pydantic import Field

from keisoku.frozen import Frozen
from keisoku.language import phrase

EVENTS = {
    "path-lost": phrase("the path in use loses every frame for a while"),
    "link-down": phrase("the link in use loses its carrier"),
    "neighbour-lost": phrase(
        "the routing neighbour in use no longer receives anything, while the link keeps its carrier"
    ),
    "route-withdrawn": phrase("the route in use is withdrawn by its origin"),
    "next-hop-killed": phrase("the routing process of the next hop in use is killed"),
    "master-killed": phrase("the VRRP master is killed"),
    "member-lost": phrase("one of several equal paths or links is lost"),
    "port-blocked": phrase("the spanning tree's root port is taken away"),
    "rebooted": phrase("the device forwards nothing and forgets what it has learned (RFC 6201)"),
    "conntrack-flushed": phrase("the table of connections is emptied"),
}
"""Events by name, of which a device offers some. Everything else that a user asks for is a command."""


class Event(Frozen):
    """Something that is done to the device in a trial."""

    name: str
    """Name of an event that the device offers, or a command of the host's shell."""
    after_ns: int = Field(ge=0)
    """When it is done, after the start of the load."""
    undo: bool = False
    """What the event did is undone."""
    command: bool = False

    @property
    def called(self) -> str:
        """Its name, or 'command'."""
        return self.name if self.name in EVENTS or not self.command else "command"


class Happened(Frozen):
    """When an event was done, in ns since the first frame was due: at some moment from `begun_ns` to `ended_ns`."""

    begun_ns: int
    ended_ns: int
    """Where the device itself says when, both are that moment."""
