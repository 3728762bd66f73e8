"""`Bridge`: the kernel's learning bridge. Acts on the namespace of the calling thread, never on the host's own."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator
from pyroute2 import IPRoute

from keisoku.ground.lab.device.ability import ResettableDevice
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.interface import set_sysctl

_QUERIER_CENTISECONDS = 50
"""How long the bridge waits, as the only querier, before it relies on what it has learned of groups."""
_NO_QUERY_CENTISECONDS = 360_000
_SNOOPING = "snooping"


class Bridge(ResettableDevice):
    """A learning bridge over all ports that speaks no protocol of its own, or one that learns multicast groups."""

    family: ClassVar[str] = "bridge"
    title: ClassVar[str] = "Linux bridge"
    parameters: ClassVar[str] = "snooping=on&leave=fast&groups=4096"

    snooping: Literal["off", "on"] = "off"
    """It learns groups from IGMP and MLD messages (RFC 4541), and is their querier."""
    leave: Literal["asked", "fast"] = "asked"
    """A port is removed from a group when nobody answered the queries after a leave, or with the leave itself."""
    groups: Annotated[int, Field(ge=1, le=1 << 20)] | None = None
    """The most groups that it learns; beyond them it stops snooping."""

    @field_validator("leave", "groups")
    @classmethod
    def _only_with_snooping(cls, value: object, given: ValidationInfo) -> object:
        if given.data.get(_SNOOPING) != "on":
            raise ValueError
        return value

    def build(self, site: Site) -> None:
        """Make the bridge."""
        for family in ("iptables", "ip6tables", "arptables"):
            # Where br_netfilter is loaded, a bridge would show every frame to the firewall: 10 to 20 % of its time.
            set_sysctl(f"bridge/bridge-nf-call-{family}", "0")
        with IPRoute() as ip:
            members = [str(port.dut_interface) for port in site.ports]
            bridge(ip, members)
            if self.snooping == "on":
                self._snoop(ip, members)

    def _snoop(self, ip: IPRoute, members: list[str]) -> None:
        """Make the bridge learn groups. It needs an IPv6 address for being MLD's querier."""
        set_sysctl("ipv6/conf/bridge/disable_ipv6", "0")
        set_sysctl("ipv6/conf/bridge/accept_dad", "0")
        set_sysctl("ipv6/conf/bridge/router_solicitations", "0")
        index = ip.link_lookup(ifname="bridge")[0]
        ip.addr("add", index=index, address="fe80::1", prefixlen=64)
        own: dict[str, object] = {
            "br_mcast_query_response_intvl": _QUERIER_CENTISECONDS,
            "br_mcast_query_intvl": _NO_QUERY_CENTISECONDS,
            "br_mcast_startup_query_intvl": _NO_QUERY_CENTISECONDS,
            "br_mcast_igmp_version": 3,
            "br_mcast_mld_version": 2,
        }
        if self.groups is not None:
            own["br_mcast_hash_max"] = self.groups
        ip.link("set", index=index, kind="bridge", **own)
        ip.link("set", index=index, kind="bridge", br_mcast_snooping=1)
        ip.link("set", index=index, kind="bridge", br_mcast_querier=1)
        if self.leave == "fast":
            for member in members:
                ip.brport("set", index=ip.link_lookup(ifname=member)[0], fast_leave=1)

    def halt(self) -> None:
        """Delete the bridge, and with it all that it has learned."""
        with IPRoute() as ip:
            ip.link("del", index=ip.link_lookup(ifname="bridge")[0])

    def restart(self, site: Site) -> None:
        """Make it again."""
        self.build(site)


def bridge(ip: IPRoute, members: list[str], name: str = "bridge") -> None:
    """Make a bridge over interfaces by name."""
    ip.link("add", ifname=name, kind="bridge", br_stp_state=0, br_forward_delay=0, br_mcast_snooping=0)
    index = ip.link_lookup(ifname=name)[0]
    for member in members:
        ip.link("set", index=ip.link_lookup(ifname=member)[0], master=index)
    ip.link("set", index=index, state="up")
