"""What a client has configured on the server's ports, and how it stands now, for whoever only looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Configured:
    """At one moment."""

    owner: str | None
    """Name or address of the client that has the ports; None if they are free."""
    transmitting: bool
    document: Mapping[str, Any]
    """The configuration as it was sent; empty without one."""
    counters: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Metrics of ports, flows and LAGs, and of the sessions of each protocol, by what they are of."""
