"""`CrossPath`: where the hosts of one cross traffic are: networks, devices and routes beside a hop.

The networks are 198.19.2j.0/24 on the sender's side and 198.19.(2j+1).0/24 on the receiver's (RFC 2544 C.2.2).
"""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.ground.lab.path.cross_traffic import CrossTraffic
from keisoku.ground.lab.path.node import Foot, PathNode

TCP_PORT = 5001


@dataclass(frozen=True)
class CrossPath:
    """Cross traffic number `index` (from 0) of a path, between its nodes by number (0 is the tester)."""

    index: int
    traffic: CrossTraffic
    mtu: int

    @property
    def nodes(self) -> tuple[int, int]:
        """The node that the sender is at, and the receiver's."""
        near, far = self.traffic.hop - 1, self.traffic.hop
        return (near, far) if self.traffic.way == "forward" else (far, near)

    @property
    def devices(self) -> tuple[str, str]:
        """The nodes' devices towards the sender and towards the receiver."""
        return f"xs{self.index}", f"xr{self.index}"

    @property
    def addresses(self) -> tuple[str, str]:
        """Addresses of sender and receiver."""
        return f"198.19.{2 * self.index}.2", f"198.19.{2 * self.index + 1}.2"

    def join(self, nodes: list[PathNode], near_address: str, far_address: str) -> None:
        """Give both nodes an interface to their host, and a route to the other host over this hop only."""
        ends = (near_address, far_address) if self.traffic.way == "forward" else (far_address, near_address)
        for side in (0, 1):
            node = nodes[self.nodes[side]]
            gateway = self.addresses[side].removesuffix("2") + "1"
            node.feet.append(Foot(self.devices[side], gateway, self.addresses[side], self.mtu))
            node.routes[self.addresses[1 - side].removesuffix("2") + "0/24"] = ends[1 - side]

    def hosts(self, prefix: str) -> tuple[PathNode, PathNode]:
        """The namespaces of the two hosts of TCP, which has a kernel at either end."""
        made = []
        for side, letter in enumerate("ab"):
            address = self.addresses[side]
            gateway = address.removesuffix("2") + "1"
            foot = Foot("host", address, gateway, self.mtu)
            routes = {"198.19.0.0/16": gateway}
            made.append(PathNode(f"{prefix}-cross{self.index}{letter}", "default", feet=[foot], routes=routes))
        return made[0], made[1]
