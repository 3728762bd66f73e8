"""`LabPort`: one port of the tester in a lab and the DUT's port that it is connected to. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LabPort:
    """A tester port. Addresses are text without prefix length (/24 and /64).

    The `dut_` values are None where they do not apply: a cable has no DUT port, a bridge or
    `faulty` no addresses. `dut_ipv4` and `dut_ipv6` are the gateway of the port, or its tunnel end.
    """

    name: str
    interface: str
    namespace_path: Path
    mac: str
    ipv4: str
    ipv6: str
    mtu_bytes: int
    dut_interface: str | None
    dut_namespace_path: Path | None
    dut_mac: str | None
    dut_ipv4: str | None
    dut_ipv6: str | None
