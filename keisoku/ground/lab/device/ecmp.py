"""`Ecmp`: the kernel's router with one group of next hops (nexthop objects) for what is sent to port 2's tester.

Acts on the calling thread's namespace, never on the host's own.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field
from pyroute2 import IPRoute

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.ability import EventfulDevice
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.interface import set_sysctl
from keisoku.ground.lab.device.passage import Passage, routed
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import forward, know_tester

_GROUP = 100
_BY_PORTS = "1"
"""fib_multipath_hash_policy: addresses and ports."""


class Ecmp(EventfulDevice):
    """IPv4 from port 1 to the hosts at ports 2, 3 … in equal shares, by a nexthop group; each flow has one way.

    Frames for port 2 leave by any of these ports, chosen by addresses and UDP ports.
    """

    family: ClassVar[str] = "ecmp"
    title: ClassVar[str] = "Linux router with a nexthop group"
    parameters: ClassVar[str] = "buckets=0 (resilient group with so many if above 0)"
    l3: ClassVar[bool] = True
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP,)
    events: ClassVar[tuple[str, ...]] = ("member-lost",)

    buckets: int = Field(0, ge=0, le=4096)
    """Of a resilient group, which moves the flows of a lost member only (Linux 5.13)."""

    def addressed(self, port: int) -> tuple[str, ...]:
        """IPv4."""
        return ("ipv4",)

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """MACs and time to live change."""
        found = routed(tx, rx)
        return Passage(found.next_hop_macs, 0, {"ipv4": found.sent["ipv4"]}, {"ipv4": found.arrives["ipv4"]})

    def build(self, site: Site) -> None:
        """Give the ports addresses."""
        forward("1")
        set_sysctl("ipv4/fib_multipath_hash_policy", _BY_PORTS)
        with IPRoute() as ip:
            for port in site.ports:
                index = ip.link_lookup(ifname=port.dut_interface)[0]
                ip.addr("add", index=index, address=port.dut_ipv4, prefixlen=24)
                know_tester(ip, index, port, port.ipv4)

    def begin(self, site: Site) -> None:
        """Make the group: the kernel wants a carrier at every next hop."""
        members = site.ports[1:]
        iproute.ip(*(_hop(place, port) for place, port in enumerate(members, 1)), self._group(len(members)))
        iproute.ip(f"route replace {members[0].ipv4}/32 nhid {_GROUP}")

    def happen(self, event: str, site: Site) -> None:
        """The last port's link is lost, and the kernel takes its next hop out of the group."""
        iproute.ip(f"link set dev {site.ports[-1].dut_interface} down")

    def mend(self, event: str, site: Site) -> None:
        """It is there again, with a next hop in the group."""
        last = site.ports[-1]
        iproute.ip(f"link set dev {last.dut_interface} up")
        with IPRoute() as ip:
            know_tester(ip, ip.link_lookup(ifname=last.dut_interface)[0], last, last.ipv4)
        members = len(site.ports) - 1
        iproute.ip(_hop(members, last).replace("nexthop add", "nexthop replace"), self._group(members))

    def _group(self, members: int) -> str:
        listed = "/".join(str(place) for place in range(1, members + 1))
        kind = f" type resilient buckets {self.buckets}" if self.buckets else ""
        return f"nexthop replace id {_GROUP} group {listed}{kind}"


def _hop(place: int, port: LabPort) -> str:
    return f"nexthop add id {place} via {port.ipv4} dev {port.dut_interface}"
