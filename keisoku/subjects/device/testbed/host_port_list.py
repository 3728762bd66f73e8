"""The ports of this host with their properties, which a plan's choice and `keisoku ports` are made from.

It only reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from keisoku.ground.host import ethtool
from keisoku.ground.host.link import default_routes, links, speed_mbps
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.host.xdp_features import xdp_features
from keisoku.subjects.device.engine.stamps import StampOffer, offered

_MAC_BYTES = 6
_WITHOUT_AN_END = ("dummy", "ifb")
"""Drivers of interfaces that send to nobody, or only carry what the host's own queues give them."""


@dataclass(frozen=True)
class HostPort:
    """Properties of an interface from the kernel. `speed_mbps` and `xdp` are None where the kernel has no value."""

    name: str
    driver: str | None
    mac: str
    mtu: int
    speed_mbps: int | None
    up: bool
    carrier: bool
    default_route: bool
    xdp: tuple[str, ...] | None
    offloads: dict[str, bool]
    stamps: StampOffer = field(default_factory=StampOffer)
    removes_tags: bool = False
    """It takes VLAN tags out of received frames, an offload."""
    half_duplex: bool = False

    @property
    def takes_a_device(self) -> bool:
        """Whether there can be something at its other end."""
        return self.driver not in _WITHOUT_AN_END


def list_ports(namespace: Path | None = None) -> list[HostPort]:
    """All interfaces with an Ethernet address except loopback, by name."""
    return run_in_namespace(namespace, _read_ports)


def _read_ports() -> list[HostPort]:
    routed, ports = default_routes(), []
    for link in links():
        if link.loopback or len(link.address) != _MAC_BYTES:
            continue
        features = xdp_features(link.index)
        ports.append(
            HostPort(
                name=link.name,
                driver=ethtool.driver(link.name),
                mac=link.address.hex(":"),
                mtu=link.mtu,
                speed_mbps=speed_mbps(link.name),
                up=link.up,
                carrier=link.carrier,
                default_route=link.index in routed,
                xdp=None if features is None else features.xdp,
                offloads=ethtool.offloads(link.name),
                stamps=offered(ethtool.timestamping(link.name), features),
                removes_tags=ethtool.removes_tags(link.name),
                half_duplex=ethtool.half_duplex(link.name),
            )
        )
    return sorted(ports, key=lambda port: port.name)
