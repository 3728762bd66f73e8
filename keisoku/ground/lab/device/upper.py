"""Devices made upon an interface: VLANs (802.1Q, 802.1ad), macvlan, and a router in a VRF.

Acts on the namespace of the calling thread, never on the host's own.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field
from pyroute2 import IPRoute

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.bridge import Bridge, bridge
from keisoku.ground.lab.device.device import LabDevice, Site
from keisoku.ground.lab.device.kernel_part import MACVLAN, VLAN, VRF, KernelPart
from keisoku.ground.lab.device.passage import Passage, inside
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.lab.device.router import Router

TAG_BYTES = 4
_TABLE = 7
_LAYERS = {"802.1q": "Dot1Q", "802.1ad": "Dot1AD"}


class Vlan(LabDevice):
    """Adds a VLAN tag to frames from port 1 to 2, and removes it from frames from port 2 to 1."""

    family: ClassVar[str] = "vlan"
    title: ClassVar[str] = "Linux bridge with a VLAN at port 2"
    parameters: ClassVar[str] = "id=1 to 4094&protocol=802.1q or 802.1ad"
    most_ports: ClassVar[int] = 2
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP,)
    parts: ClassVar[tuple[KernelPart, ...]] = (VLAN,)

    id: int = Field(7, ge=1, le=4094)
    protocol: Literal["802.1q", "802.1ad"] = "802.1q"

    def headroom_bytes(self, port: int) -> int:
        """Port 2 carries the tag."""
        return TAG_BYTES if port == 2 else 0

    def passage(self, tx: LabPort, rx: LabPort) -> Passage:
        """Behind the MAC addresses."""
        plain = inside(tx, rx)
        tagged = {kind: self._tagged(kind, stack) for kind, stack in plain.items()}
        if tx.interface < rx.interface:
            return Passage((rx.mac,), TAG_BYTES, plain, tagged)
        return Passage((rx.mac,), -TAG_BYTES, tagged, plain)

    def build(self, site: Site) -> None:
        """Make the VLAN's device and the bridge."""
        plain, far = site.ports
        iproute.ip(
            f"link add link {far.dut_interface} name tagged mtu {plain.mtu_bytes} "
            f"type vlan protocol {self.protocol} id {self.id}",
            "link set dev tagged up",
        )
        with IPRoute() as ip:
            bridge(ip, [str(plain.dut_interface), "tagged"])

    def _tagged(self, kind: str, stack: str) -> str:
        layer = _LAYERS[self.protocol]
        if kind == "ethernet":
            addresses = stack.replace(", type=0x88b5", "")
            return f"{addresses}/{layer}(vlan={self.id}, type=0x88b5)"
        first, _, rest = stack.partition("/")
        return f"{first}/{layer}(vlan={self.id})/{rest}"


class Macvlan(Bridge):
    """Bridges macvlan devices instead of the ports themselves (mode passthru)."""

    family: ClassVar[str] = "macvlan"
    title: ClassVar[str] = "Linux bridge over macvlan devices"
    resets: ClassVar[bool] = False
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP,)
    parts: ClassVar[tuple[KernelPart, ...]] = (MACVLAN,)

    def build(self, site: Site) -> None:
        """One upon each port, and the bridge over them."""
        names = {str(port.dut_interface): f"upon-{port.dut_interface}" for port in site.ports}
        iproute.ip(
            *(f"link add link {below} name {name} type macvlan mode passthru" for below, name in names.items()),
            *(f"link set dev {name} up" for name in names.values()),
        )
        with IPRoute() as ip:
            bridge(ip, list(names.values()))


class Vrf(Router):
    """Forwards IPv4 and IPv6 between ports that are in a VRF, with a routing table of its own."""

    family: ClassVar[str] = "vrf"
    title: ClassVar[str] = "Linux router in a VRF"
    leads: ClassVar[bool] = False
    programs: ClassVar[tuple[Program, ...]] = (iproute.IP,)
    parts: ClassVar[tuple[KernelPart, ...]] = (VRF,)

    def build(self, site: Site) -> None:
        """Make the VRF and put the ports into it, then make the router."""
        iproute.ip(
            f"link add name red type vrf table {_TABLE}",
            "link set dev red up",
            *(f"link set dev {port.dut_interface} master red" for port in site.ports),
        )
        super().build(site)
