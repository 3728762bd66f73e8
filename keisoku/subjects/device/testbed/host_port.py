"""Ports of this host: their URIs, and whether a plan may use them.

It only reads, except for `set_interface`. No frame is sent except the kernel's own ARP request or neighbour
solicitation in `resolve_mac`.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Self, cast

from pyroute2 import IPRoute, NetlinkError

from keisoku.errors import EngineError, PlanError
from keisoku.ground.frame.rates import HEADER_AND_FCS_BYTES
from keisoku.ground.host.capability import missing
from keisoku.ground.host.container import namespace_of
from keisoku.ground.host.namespace import FOLDER, named, run_in_namespace
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.testbed.host_port_list import HostPort, list_ports

_WITH_BPF = ("CAP_NET_RAW", "CAP_NET_ADMIN", "CAP_BPF")
_NEEDS = {"packet": ("CAP_NET_RAW", "CAP_NET_ADMIN"), "xdp": _WITH_BPF, "afxdp": _WITH_BPF, None: _WITH_BPF}
_URI = re.compile(r"(?:(?P<engine>auto|xdp|afxdp|packet):)?(?P<interface>[^\s/:@]{1,15})(?:@(?P<namespace>\S+))?")
_RESOLVE_S = 3.0
_RESET_S = 5.0
"""Detaching an XDP program resets the link of some ports (igb): it negotiates for up to so long."""
_LOOK_S = 0.1
_NEIGHBOUR_VALID = 0x02 | 0x04 | 0x08 | 0x10 | 0x80  # reachable, stale, delay, probe, permanent
_NEIGHBOUR_FAILED = 0x20
_USE = 0x01


@dataclass(frozen=True)
class PortAddress:
    """`eth1`, `xdp:eth1`, `afxdp:eth1`, `packet:eth2`, or with the name or path of a namespace `xdp:eth1@NAMESPACE`."""

    engine: PortEngine | None
    """None: it is to be chosen."""
    interface: str
    namespace: str | None = None

    @classmethod
    def parse(cls, text: str, field: str = "port") -> Self:
        """Raises PlanError naming `field` if `text` is no such URI."""
        match = _URI.fullmatch(text)
        if not match:
            remedy = "write xdp:INTERFACE, afxdp:INTERFACE or packet:INTERFACE, with @NAMESPACE if it is in one"
            raise PlanError(field, f"{text!r} is not the name of a port", remedy)
        engine = None if match["engine"] in (None, "auto") else cast(PortEngine, match["engine"])
        return cls(engine, match["interface"], match["namespace"])

    @property
    def namespace_path(self) -> Path | None:
        """None: the namespace of this process. Raises PlanError for a container that is not there."""
        return None if self.namespace is None else named(namespace_of(self.namespace, "port"))

    def __str__(self) -> str:
        return (
            (f"{self.engine}:" if self.engine else "")
            + self.interface
            + (f"@{self.namespace}" if self.namespace else "")
        )


def check(
    address: PortAddress, frame_sizes: Iterable[int], force: bool = False, field: str = "port", tag_bytes: int = 0
) -> HostPort:
    """Return the port if frames of these sizes (bytes with FCS) may be sent and received there.

    Raises PlanError naming `field` if it does not exist, carries the default route or is half duplex (unless
    `force`), is down, has no carrier, is too small for a frame, or if this process lacks the privilege.
    """
    path = address.namespace_path
    if path is not None and not path.exists():
        raise PlanError(field, f"there is no namespace {address.namespace}", f"see the names in {FOLDER}")
    missing = _missing(address)
    if missing:
        raise PlanError(field, f"{address} needs {' and '.join(missing)}", "run as root or grant them by setcap")
    ports = {port.name: port for port in list_ports(path)}
    port = ports.get(address.interface)
    if port is None:
        exist = ", ".join(ports) or "none"
        raise PlanError(field, f"there is no port {address.interface}", f"choose one that exists: {exist}")
    if port.default_route and not force:
        problem = f"{port.name} carries the default route, and test traffic would cut this host off"
        raise PlanError(field, problem, "choose another port, or give --force")
    if not port.up:
        remedy = f"set it up with `ip link set {port.name} up`"
        raise PlanError(field, f"{port.name} is down", remedy)
    if not port.carrier and not _comes_back(port.name, path):
        raise PlanError(field, f"{port.name} has no carrier", "connect the cable and set the other side up")
    if port.half_duplex and not force:
        problem = f"{port.name} is half duplex, so that frames of both directions collide"
        raise PlanError(field, problem, f"use `ethtool -s {port.name} duplex full`, or give --force")
    largest = max(frame_sizes, default=0)
    fits = port.mtu + HEADER_AND_FCS_BYTES + tag_bytes
    if largest > fits:
        problem = f"frames of {largest} bytes are too large for {port.name}, whose MTU of {port.mtu} allows {fits}"
        needed = port.mtu + largest - fits
        raise PlanError(field, problem, f"use smaller frames, or `ip link set {port.name} mtu {needed}`")
    return port


def resolve_mac(interface: str, namespace: Path | None, ip: str) -> str:
    """The MAC address that answers for `ip` at `interface`; the kernel resolves it if it does not know it.

    Raises EngineError if nobody answers within 3 s, and if the interface goes meanwhile.
    """
    try:
        return run_in_namespace(namespace, lambda: _resolve(interface, ip))
    except NetlinkError as error:
        raise EngineError(f"{ip} cannot be asked for at {interface}: {error}") from error


def has_carrier(interface: str, namespace: Path | None) -> bool:
    """Whether a link is up now; false if there is no such interface."""

    def read() -> bool:
        with IPRoute() as ip:
            indices = ip.link_lookup(ifname=interface)
            return bool(indices) and bool(ip.get_links(indices[0])[0].get("carrier"))

    return run_in_namespace(namespace, read)


def _comes_back(interface: str, namespace: Path | None) -> bool:
    """Whether a real port, one with a device of its own, gets a carrier soon: the end of a run may have reset it."""
    real = run_in_namespace(namespace, lambda: (Path("/sys/class/net") / interface / "device").exists())
    deadline = time.monotonic() + _RESET_S
    while real and time.monotonic() < deadline:
        if has_carrier(interface, namespace):
            return True
        time.sleep(_LOOK_S)
    return False


def set_interface(interface: str, namespace: Path | None, up: bool) -> None:
    """Sets an interface of a lab up or down; one of this host would lose its addresses and routes permanently."""

    def change() -> None:
        with IPRoute() as ip:
            indices = ip.link_lookup(ifname=interface)
            if not indices:
                raise EngineError(f"{interface} is gone")
            ip.link("set", index=indices[0], state="up" if up else "down")

    run_in_namespace(namespace, change)


def interface_ip(interface: str, namespace: Path | None, version: int) -> str | None:
    """The first address of a version (4, 6) of an interface to which a router could deliver."""

    def read() -> str | None:
        with IPRoute() as ip:
            index = ip.link_lookup(ifname=interface)[0]
            found = [ip_address(str(entry.get("address"))) for entry in ip.get_addr(index=index)]
        return next((str(one) for one in found if one.version == version and not one.is_link_local), None)

    return run_in_namespace(namespace, read)


def _missing(address: PortAddress) -> list[str]:
    return missing([*_NEEDS[address.engine], *(["CAP_SYS_ADMIN"] if address.namespace else [])])


def _resolve(interface: str, address: str) -> str:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with IPRoute() as ip:
        indices = ip.link_lookup(ifname=interface)
        if not indices:
            raise EngineError(f"there is no interface {interface} to resolve {address} at")
        deadline = time.monotonic() + _RESOLVE_S
        # NTF_USE makes the kernel resolve the address as for a packet, without one.
        ip.neigh("replace", family=family, dst=address, ifindex=indices[0], flags=_USE, state=0)
        while time.monotonic() < deadline:
            for entry in ip.get_neighbours(family=family, dst=address, ifindex=indices[0]):
                if entry["state"] & _NEIGHBOUR_VALID and entry.get("lladdr"):
                    return str(entry.get("lladdr"))
                if entry["state"] & _NEIGHBOUR_FAILED:
                    deadline = 0
            time.sleep(0.01)
    raise EngineError(
        f"no answer for {address} at {interface}; check that the device's port is up and has this address"
    )
