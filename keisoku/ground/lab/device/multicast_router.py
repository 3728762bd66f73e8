"""`MulticastRouter`: the kernel's multicast forwarding, with routes by what receivers say with IGMP and MLD."""

from __future__ import annotations

import sys
from typing import ClassVar

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.interface import set_sysctl
from keisoku.ground.lab.device.router import Router

_DAEMON = Program("group-routes", "", at=sys.executable)


class MulticastRouter(Router):
    """A router that also forwards multicast groups to the ports that join them by IGMP or MLD."""

    family: ClassVar[str] = "multicast-router"
    title: ClassVar[str] = "Linux multicast router"
    resets: ClassVar[bool] = False

    def build(self, site: Site) -> None:
        """Give the ports addresses, forward between them, and start what writes the multicast routes."""
        super().build(site)
        # The daemon joins the routers' groups, of which the kernel would tell.
        set_sysctl("ipv4/igmp_link_local_mcast_reports", "0")
        ready = site.daemons.make_directory() / "ready"
        interfaces = [str(port.dut_interface) for port in site.ports]
        program = ("-m", "keisoku.ground.lab.device.group_routes", str(ready))
        site.daemons.start(_DAEMON, *program, *interfaces, ready=ready, core=site.core, environment={})
