"""Where a measurement of a device can take place, as lists to choose from: ports of this host, simulated devices, and
devices of labs. It opens nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import getdoc

from keisoku.ground.lab.device.catalogue import KINDS
from keisoku.ground.simulated_device.device import list_devices
from keisoku.language import join_texts, phrase, recorded
from keisoku.subjects.device.plan.rate import BitRate
from keisoku.subjects.device.testbed.host_port_list import HostPort, list_ports


@dataclass(frozen=True)
class Port:
    """A port of this host, in words."""

    name: str
    link: str
    speed: str
    driver: str
    engines: str
    remark: str
    offered: bool
    """Whether it can be chosen: the server does not send where the host's own traffic leaves."""


@dataclass(frozen=True)
class Device:
    """One device."""

    name: str
    """As it is given: 'sim:gs908e', 'lab:bridge'."""
    title: str
    parameters: str = ""
    """How its parameters are written; empty if it has none."""


def ports() -> list[Port]:
    """Those of this host, as they are now; the ones that can be chosen first."""
    found = [_port(each) for each in list_ports()]
    return sorted(found, key=lambda each: not each.offered)


@cache
def devices() -> Mapping[str, Sequence[Device]]:
    """All devices that need no hardware, by the title of their group."""
    simulated = [
        Device(
            f"sim:{each.name}",
            join_texts(", ", [part for part in (each.title, each.class_, str(each.year or "")) if part]),
        )
        for each in list_devices()
    ]
    found = {phrase("Simulated devices, in virtual time"): simulated}
    for group, kinds in KINDS.items():
        title = phrase("Devices in this host's kernel: {group}", group=recorded(group))
        found[title] = [
            Device(
                f"lab:{kind.family}",
                recorded((getdoc(kind) or kind.title).splitlines()[0].rstrip(".")),
                kind.parameters,
            )
            for kind in kinds
        ]
    return found


def _port(port: HostPort) -> Port:
    remark = ""
    if port.default_route:
        remark = phrase("carries this host's own traffic")
    elif not port.takes_a_device:
        remark = phrase("nothing can be behind it")
    elif not port.up:
        remark = phrase("is switched off")
    return Port(
        name=port.name,
        link=phrase("yes") if port.carrier else phrase("no"),
        speed=phrase("unknown") if not port.speed_mbps else str(BitRate(port.speed_mbps * 1e6)),
        driver=port.driver or phrase("unknown"),
        engines="xdp, afxdp, packet" if port.xdp else phrase("packet, xdp (generic, slower)"),
        remark=remark,
        offered=not port.default_route and port.takes_a_device,
    )
