"""The settings of RFC 9693's procedures: stateful devices, such as NATs and firewalls. The first port opens connections
to the second, which answers."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.record.opening import Order, Transport

MOST_CONNECTIONS = 1 << 21
ConnectionCount = Annotated[int, Field(ge=1, le=MOST_CONNECTIONS)]
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_MOST_PORT = 65_535


class ConnectionSettings(Settings):
    """What all procedures with connections need."""

    connections: ConnectionCount = 20_000
    """Connections of each trial; the device must have room for them."""
    source_ports: str = "1024-65535"
    """Source ports of connections (RFC 4814 §4.5)."""
    destination_ports: str = "1-49151"
    """Destination ports of connections, of which as few are used as possible."""
    transport: Transport = "udp"
    """Protocol of connections; frames of TCP have 76 bytes or more."""
    established: bool = False
    """Connections of TCP are established by all three frames of a handshake, which is always so before a load;
    otherwise they stay half open (a SYN, and a SYN with ACK)."""
    order: Order = "pseudorandom"
    """Order of the pairs of ports: each once, at random or one after the other (RFC 9693)."""
    validate_percent: float = Field(50.0, gt=0, le=100)
    """Rate of the answers that show that each connection is known, as a share of the rate at which they are opened."""
    settle_s: float = Field(0.1, ge=0)
    """Pause between the last connection and the first frame that uses them."""
    forget: str = ""
    """Event of the device, or command of this host, that makes the device forget all connections before each trial
    (default: conntrack-flushed where the device offers it)."""
    forgotten_s: float = Field(0.2, ge=0)
    """Pause after that; where nothing makes the device forget, its own timeout, which must then be given."""

    @field_validator("source_ports", "destination_ports")
    @classmethod
    def _ports(cls, text: str) -> str:
        first, last = port_range(text)
        if not 1 <= first <= last <= _MOST_PORT:
            raise PlanError("ports", f"'{text}' is no range of ports", "write for example 1024-65535")
        return text

    @property
    def most(self) -> int:
        """The most connections of a trial."""
        return self.connections


def port_range(text: str) -> tuple[int, int]:
    """The first and the last port; zeros for a text that is none."""
    found = _RANGE.fullmatch(text.strip())
    return (int(found[1]), int(found[2] or found[1])) if found else (0, 0)


class ConnectionCapacitySettings(ConnectionSettings):
    """RFC 9693: how many connections the device can hold at the same time."""

    connections: ConnectionCount = 4096
    """Number of connections at which the search starts."""
    most_connections: ConnectionCount = 1 << 20
    """Highest number of connections tried."""
    open_fps: float = Field(20_000.0, gt=0)
    """Connections opened a second; clearly fewer than the device can take."""
    resolution_percent: float = Field(0.1, gt=0, le=50)
    """The search ends when the numbers that the device held and did not hold differ by at most this share."""
    named: int = Field(8, ge=0, le=10_000)
    """How many connections that failed at the edge have a row of their own."""

    @property
    def most(self) -> int:
        """The most connections of a trial."""
        return self.most_connections


class ConnectionRateSettings(ConnectionSettings):
    """RFC 9693: the highest rate at which the device takes new connections."""

    maximum_fps: Load | None = None
    """Highest rate of the search (default: what the tester can send)."""
    resolution_percent: float = Field(1.0, gt=0, le=50)
    """The search ends when the rates with and without a failed connection differ by at most this share."""


class ConnectionTeardownSettings(ConnectionSettings):
    """RFC 9693: how fast the device removes connections when it is told to forget all of them."""

    open_fps: float = Field(20_000.0, gt=0)
    """Connections opened a second."""
    repetitions: int = Field(10, ge=2)
    """How often it is told to."""


class ConnectionThroughputSettings(ConnectionSettings):
    """RFC 9693: the throughput with connections that exist already."""

    trial_s: float = Field(60.0, gt=0)
    """Length of each trial."""
    connections: ConnectionCount = 10_000
    """Connections that are opened before each trial, and used one after the other."""
    open_fps: float = Field(20_000.0, gt=0)
    """Connections opened a second."""
    direction: Literal["both", "out", "in"] = "both"
    """Which ports send: both at the same rate, that which opens connections, or that which answers."""
    native_percent: float = Field(0.0, ge=0, lt=100)
    """Share of each port's load that is IPv6 in place of connections: a NAT44 forwards it as it is (RFC 8219)."""
    maximum_fps: Load | None = None
    """Highest load of a port in the search (default: the maximum of the link, or what the tester can send)."""
    resolution_percent: float = Field(1.0, gt=0, le=50)
    """The search ends when the loads with and without loss differ by at most this share."""
