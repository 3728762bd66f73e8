"""`BgpRouter`: a router that speaks with hosts at its ports. Acts on the lab's namespace, never on the host's own."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device.device import Site
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import Router
from keisoku.ground.lab.frr import BGPD, VTYSH, ZEBRA, FrrRouter

_MOST_PEERS = 5000


class BgpRouter(Router):
    """IPv4 and IPv6 forwarding with FRR's BGP, which takes every peer of another AS in the ports' networks."""

    family: ClassVar[str] = "bgp"
    title: ClassVar[str] = "FRR router with BGP"
    parameters: ClassVar[str] = "as=65000"
    resets: ClassVar[bool] = False
    programs: ClassVar[tuple[Program, ...]] = (ZEBRA, BGPD, VTYSH)

    as_: Annotated[int, Field(alias="as", ge=1, le=2**32 - 1)] = 65000

    def build(self, site: Site) -> None:
        """The router, then its daemons."""
        super().build(site)
        site.daemons.make_directory(passable=True)
        FrrRouter(site.daemons, "router").start({ZEBRA: "", BGPD: self._text(site.ports)}, site.core)

    def _text(self, ports: list[LabPort]) -> str:
        ranges = [
            f" bgp listen range {network} peer-group testers\n"
            for port in ports
            for network in (f"{port.dut_ipv4}/24", f"{port.dut_ipv6}/64")
        ]
        families = [
            f" address-family {name} unicast\n  neighbor testers activate\n  redistribute connected\n"
            " exit-address-family\n"
            for name in ("ipv4", "ipv6")
        ]
        return (
            f"router bgp {self.as_}\n bgp router-id {ports[0].dut_ipv4}\n no bgp ebgp-requires-policy\n"
            " neighbor testers peer-group\n neighbor testers remote-as external\n"
            f" neighbor testers advertisement-interval 0\n bgp listen limit {_MOST_PEERS}\n"
            f"{''.join(ranges)}{''.join(families)}"
        )
