"""What a client has configured on the server's ports, and how it stands now, for whoever only looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

OWNER_S = 600.0
"""A client without a request for so long, and without running traffic, no longer owns the ports."""


@dataclass(frozen=True)
class Owner:
    """The client that has the ports."""

    who: str
    """Its name, or its address."""
    program: str | None
    """What it calls itself; None if it says nothing."""
    set_ago_s: float
    """Since it configured the ports for the last time."""
    silent_s: float
    """Since its last request."""


@dataclass(frozen=True)
class Configured:
    """At one moment."""

    owner: Owner | None
    """None if the ports are free."""
    run: str | None
    """The measurement of this server that has the ports instead of a configuration."""
    transmitting: bool
    document: Mapping[str, Any]
    """The configuration as it was sent; empty without one."""
    counters: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Metrics of ports, flows and LAGs, and of the sessions of each protocol, by what they are of."""
