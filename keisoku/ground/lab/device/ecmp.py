"""`Ecmp`: the kernel's router with one group of next hops (nexthop objects) for what is sent to port 2's tester.

Acts on the calling thread's namespace, never on the host's own.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, ValidationInfo, field_validator
from pyroute2 import IPRoute

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.ability import EventfulDevice
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.interface import set_sysctl
from keisoku.ground.lab.device.passage import Passage, routed
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import address, forward, know_tester
from keisoku.ground.lab.device.weights import WeightsText, weights_of

_GROUPS = {"ipv4": 100, "ipv6": 200}
"""Numbers of the groups; those of next hops count from one more."""
_NETWORKS = {"ipv4": "198.19.0.0/16", "ipv6": "2001:2:0:8000::/49"}
"""Behind all members, so that destination addresses can vary (RFC 2544 appendix C.2.2, RFC 5180 §8)."""
_CUSTOM = 3
_NAMES = "src", "dst", "proto", "label", "sport", "dport"
_FIELDS = {name: 1 << bit for bit, name in enumerate((*_NAMES, *(f"inner-{name}" for name in _NAMES)))}
"""fib_multipath_hash_fields (Documentation/networking/ip-sysctl.rst)."""


class Ecmp(EventfulDevice):
    """From port 1 to the hosts at ports 2, 3 … in given shares, by a nexthop group; each flow has one way.

    Frames for port 2, and for the networks in `_NETWORKS`, leave by any of these ports, as the kernel's hash chooses.
    """

    family: ClassVar[str] = "ecmp"
    title: ClassVar[str] = "Linux router with a nexthop group"
    parameters: ClassVar[str] = (
        "policy=0 to 3 (fib_multipath_hash_policy)&fields=src,dport (of policy 3)&weights=1:2:1"
        "&buckets=0 (resilient group with so many if above 0)"
    )
    l3: ClassVar[bool] = True
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP,)
    events: ClassVar[tuple[str, ...]] = ("member-lost",)

    buckets: int = Field(0, ge=0, le=4096)
    """Of a resilient group, which moves the flows of a lost member only (Linux 5.13)."""
    policy: int = Field(1, ge=0, le=_CUSTOM)
    """fib_multipath_hash_policy: addresses and the flow label (0), addresses and ports (1), addresses inside a tunnel
    (2), or the fields that are given (3, Linux 5.13)."""
    fields: str | None = Field(None, validate_default=True)
    """Of policy 3."""
    weights: WeightsText | None = None
    """Of the members (default: equal)."""

    @field_validator("fields")
    @classmethod
    def _fields_of_policy(cls, fields: str | None, given: ValidationInfo) -> str | None:
        if (given.data.get("policy") == _CUSTOM) != (fields is not None):
            raise ValueError
        if fields is not None and not {*fields.split(",")} <= _FIELDS.keys():
            raise ValueError
        return fields

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """MACs and time to live change."""
        return routed(tx, rx)

    def build(self, site: Site) -> None:
        """Give the ports addresses."""
        forward("1")
        for version in _GROUPS:
            if self.fields is not None:
                bits = sum(_FIELDS[name] for name in set(self.fields.split(",")))
                set_sysctl(f"{version}/fib_multipath_hash_fields", str(bits))
            set_sysctl(f"{version}/fib_multipath_hash_policy", str(self.policy))
        with IPRoute() as ip:
            for port in site.ports:
                # Without it IPv6 addresses go with the carrier.
                set_sysctl(f"ipv6/conf/{port.dut_interface}/keep_addr_on_down", "1")
                address(ip, port)

    def begin(self, site: Site) -> None:
        """Make the groups: the kernel wants a carrier at every next hop."""
        members = site.ports[1:]
        for version, group in _GROUPS.items():
            hops = (_hop(group + place, port, version) for place, port in enumerate(members, 1))
            iproute.ip(*hops, self._group(group, len(members)))
            for where in (_address(members[0], version), _NETWORKS[version]):
                iproute.ip(f"route replace {where} nhid {group}", family=_FAMILIES[version])

    def happen(self, event: str, site: Site) -> None:
        """The last port's link is lost, and the kernel takes its next hops out of the groups."""
        iproute.ip(f"link set dev {site.ports[-1].dut_interface} down")

    def mend(self, event: str, site: Site) -> None:
        """It is there again, with next hops in the groups."""
        last = site.ports[-1]
        iproute.ip(f"link set dev {last.dut_interface} up")
        with IPRoute() as ip:
            know_tester(ip, ip.link_lookup(ifname=last.dut_interface)[0], last, last.ipv4, last.ipv6)
        members = len(site.ports) - 1
        for version, group in _GROUPS.items():
            hop = _hop(group + members, last, version).replace("nexthop add", "nexthop replace")
            iproute.ip(hop, self._group(group, members))

    def _group(self, group: int, members: int) -> str:
        shares = weights_of(self.weights, members)
        listed = "/".join(f"{group + place},{share}" for place, share in enumerate(shares, 1))
        kind = f" type resilient buckets {self.buckets}" if self.buckets else ""
        return f"nexthop replace id {group} group {listed}{kind}"


_FAMILIES = {"ipv4": "inet", "ipv6": "inet6"}


def _address(port: LabPort, version: str) -> str:
    return port.ipv4 if version == "ipv4" else port.ipv6


def _hop(number: int, port: LabPort, version: str) -> str:
    return f"nexthop add id {number} via {_address(port, version)} dev {port.dut_interface}"
