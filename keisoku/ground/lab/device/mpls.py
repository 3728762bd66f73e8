"""`Mpls`: two routers at the edge of an MPLS network (RFC 3031). Acts on the namespaces of the device."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.interface import set_sysctl
from keisoku.ground.lab.device.kernel_part import MPLS, KernelPart
from keisoku.ground.lab.device.two_routers import End, TwoRouters

LABELS = (104, 106)
"""Of IPv4 and IPv6."""


class Mpls(TwoRouters):
    """Two routers at the edge of an MPLS network: one adds a label to each packet, the other removes it."""

    family: ClassVar[str] = "mpls"
    title: ClassVar[str] = "Linux MPLS edge routers"
    parts: ClassVar[tuple[KernelPart, ...]] = (MPLS,)

    def commands(self, end: End, mtu: int) -> list[str]:
        """What goes to the other's networks gets the label of its version."""
        ways = zip(LABELS, (f"inet {end.far_ipv4}", f"inet6 {end.far_ipv6}"), strict=True)
        return [
            *end.addresses("line1"),
            *end.routes(*(f"encap mpls {label} via {way} dev line1" for label, way in ways)),
        ]

    def join(self, near: End, far: End) -> None:
        """What comes with a label goes to the tester without it."""
        for end in (near, far):
            end.place.run(partial(_remove_labels, end))


def _remove_labels(end: End) -> None:
    set_sysctl("mpls/platform_labels", str(max(LABELS) + 1))
    set_sysctl("mpls/conf/line1/input", "1")
    hosts = (f"inet {end.own.ipv4}", f"inet6 {end.own.ipv6}")
    ways = zip(LABELS, hosts, strict=True)
    iproute.ip(*(f"route add {label} via {host} dev {end.own.dut_interface}" for label, host in ways), family="mpls")
