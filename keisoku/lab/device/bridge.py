"""`Bridge`: the kernel's learning bridge. Acts on the namespace of the calling thread, never on the host's own."""

from __future__ import annotations

from typing import ClassVar

from pyroute2 import IPRoute

from keisoku.lab.device.device import LabDevice, Site
from keisoku.lab.device.interface import set_sysctl


class Bridge(LabDevice):
    """A learning bridge over all ports that speaks no protocol of its own."""

    family: ClassVar[str] = "bridge"
    title: ClassVar[str] = "Linux bridge"
    resets: ClassVar[bool] = True

    def build(self, site: Site) -> None:
        """Make the bridge."""
        for family in ("iptables", "ip6tables", "arptables"):
            # Where br_netfilter is loaded, a bridge would show every frame to the firewall: 10 to 20 % of its time.
            set_sysctl(f"bridge/bridge-nf-call-{family}", "0")
        with IPRoute() as ip:
            bridge(ip, [str(port.dut_interface) for port in site.ports])

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
