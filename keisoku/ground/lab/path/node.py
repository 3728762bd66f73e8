"""What a path sets in the namespace of one of its nodes: devices up, addresses, routes, ICMP.

Every function acts on the namespace of the calling thread. Only the path calls them, in namespaces that it made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pyroute2 import IPRoute

from keisoku.ground.lab.device.interface import set_sysctl

Icmp = Literal["default", "unlimited", "silent"]
TargetReply = Literal["answers", "drops", "resets"]

_QUEUE_PACKETS = 10_000
_NEVER_MS = 24 * 3600 * 1000
_LOCAL_TABLE = 255


@dataclass(frozen=True)
class Foot:
    """A node's end of a link: its device, address and MTU, and the address at the other end."""

    interface: str
    address: str
    peer: str
    mtu: int


@dataclass
class PathNode:
    """One node: its namespace's name, its interfaces, and its routes (network/bits → gateway)."""

    namespace: str
    icmp: Icmp
    answer: TargetReply = "answers"
    feet: list[Foot] = field(default_factory=list)
    routes: dict[str, str] = field(default_factory=dict)

    def build(self) -> None:
        """Set all interfaces up and add the routes. The devices must exist. Raises NetlinkError."""
        set_sysctl("ipv4/ip_forward", "1")
        set_icmp(self.icmp)
        with IPRoute() as ip:
            ip.link("set", index=ip.link_lookup(ifname="lo")[0], state="up")
            for foot in self.feet:
                index = ip.link_lookup(ifname=foot.interface)[0]
                ip.link("set", index=index, mtu=foot.mtu, txqlen=_QUEUE_PACKETS, state="up")
                ip.addr("add", index=index, address=foot.address, prefixlen=24)
            for destination, gateway in self.routes.items():
                ip.route("add", dst=destination, gateway=gateway)
            if self.answer != "answers":
                _refuse(ip, self.answer)


def set_icmp(icmp: Icmp) -> None:
    """How the kernel's ICMP errors are limited: as Linux does by default, not at all, or never one sent."""
    if icmp == "unlimited":
        # No ICMP type is limited, neither for each peer nor for all of them.
        set_sysctl("ipv4/icmp_ratemask", "0")
    elif icmp == "silent":
        # A message is allowed once so many ms have passed since the last, or since 60 s before the first.
        set_sysctl("ipv4/icmp_ratelimit", str(_NEVER_MS))
        set_sysctl("ipv4/icmp_echo_ignore_all", "1")


def _refuse(ip: IPRoute, answer: TargetReply) -> None:
    # Before the table of the node's own addresses, so it applies to packets for the node itself.
    ip.rule("add", priority=100, table=_LOCAL_TABLE)
    if answer == "drops":
        ip.rule("add", priority=50, action="blackhole", iifname="up")
    else:
        # ICMP 3/13, prohibited (RFC 1812 §5.2.7.1); TCP gets the reset of a closed port.
        for protocol in (1, 17):
            ip.rule("add", priority=50 + protocol, action="prohibit", iifname="up", ip_proto=protocol)
    ip.rule("delete", priority=0, table=_LOCAL_TABLE)
