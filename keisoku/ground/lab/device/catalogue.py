"""All lab devices, and how one is found by the name that a user writes. Builds none."""

from __future__ import annotations

from urllib.parse import parse_qsl

from pydantic import ValidationError

from keisoku.errors import PlanError, instead
from keisoku.ground.lab.device.bgp_router import BgpRouter
from keisoku.ground.lab.device.bridge import Bridge
from keisoku.ground.lab.device.bridged_link import Bond, Macsec, Team
from keisoku.ground.lab.device.device import LabDevice
from keisoku.ground.lab.device.diamond import Diamond
from keisoku.ground.lab.device.ecmp import Ecmp
from keisoku.ground.lab.device.filtered import Flower, Gate, Police
from keisoku.ground.lab.device.hsr import Hsr
from keisoku.ground.lab.device.ipsec import Ipsec, Xfrm
from keisoku.ground.lab.device.lag import Lag
from keisoku.ground.lab.device.managed_queue import Cake, Codel, Ets, FqCodel, Pie, Red
from keisoku.ground.lab.device.mpls import Mpls
from keisoku.ground.lab.device.multicast_router import MulticastRouter
from keisoku.ground.lab.device.nat64 import Nat64
from keisoku.ground.lab.device.netem import Netem
from keisoku.ground.lab.device.nftables import Firewall, Nat
from keisoku.ground.lab.device.ovs import Ovs, OvsExport, OvsMpls, OvsSelect, OvsVxlan
from keisoku.ground.lab.device.router import Router
from keisoku.ground.lab.device.schedule import Etf, Mqprio, Taprio
from keisoku.ground.lab.device.serial_line import SerialLine
from keisoku.ground.lab.device.shaper import Cbs, Hfsc, Htb, Tbf
from keisoku.ground.lab.device.spanning_tree import SpanningTree
from keisoku.ground.lab.device.srv6 import Srv6
from keisoku.ground.lab.device.upper import Macvlan, Vlan, Vrf
from keisoku.ground.lab.device.vrrp import Vrrp
from keisoku.ground.lab.device.vxlan import Vxlan
from keisoku.ground.lab.device.wire import Cable, FaultyWire
from keisoku.ground.lab.device.wireguard import Wireguard

KINDS: dict[str, tuple[type[LabDevice], ...]] = {
    "wires, switches and routers": (
        *(Cable, FaultyWire, Bridge, Ovs, OvsExport, Router, BgpRouter, MulticastRouter),
        *(Nat, Nat64, Firewall),
    ),
    "links, VLANs and networks of their own": (Bond, Team, Vlan, Macvlan, Vrf, Hsr),
    "tunnels": (Vxlan, OvsVxlan, Srv6, OvsMpls, Mpls, Wireguard, Macsec, Ipsec, Xfrm),
    "delays, rates and queues at the outputs": (
        *(Netem, Tbf, Htb, Hfsc, Cbs),
        *(Codel, FqCodel, Pie, Red, Cake, Ets, Mqprio, Taprio, Etf),
        SerialLine,
    ),
    "ways that take over from each other": (Diamond, Vrrp, SpanningTree, Ecmp, Lag, OvsSelect),
    "filters at the inputs": (Police, Gate, Flower),
}
"""Groups in the order of the help."""
FAMILIES: dict[str, type[LabDevice]] = {device.family: device for group in KINDS.values() for device in group}


def describe_kinds() -> str:
    """Each device with its parameters and one sentence, in groups, for the help of a command."""
    lines = []
    for group, devices in KINDS.items():
        lines.append(f"{group}:")
        for device in devices:
            assert device.__doc__
            lines.append(f"  {device.family:<11} {device.__doc__.strip().splitlines()[0]}")
            if device.parameters:
                lines.append(f"  {'':<11} {device.family}?{device.parameters}")
        lines.append("")
    return "\n".join(lines).rstrip()


def find_device(name: str, field: str = "device") -> LabDevice:
    """The device called `family` or `family?parameter=value&parameter=value`, or that of a file, `NAME.toml`.

    Raises PlanError, naming the option `field`, for a name or parameter that does not exist.
    """
    if name.endswith(".toml"):
        from keisoku.ground.lab.device.own_network import OwnNetwork  # few devices are of a file

        own = OwnNetwork(file=name)
        assert own.description
        return own
    family, _, given = name.partition("?")
    found = FAMILIES.get(family)
    if family == "path":
        raise PlanError(field, "a path has no ports for frames", "give it to keisoku lab or keisoku path")
    if family == "system":
        raise PlanError(field, "a system has no ports for frames", "give it to keisoku lab or keisoku system")
    if found is None:
        raise PlanError(field, f"there is no lab device {family!r}", instead(family, list(FAMILIES)))
    remedy = f"write {found.written()}"
    try:
        pairs = _pairs(given)
        if len(dict(pairs)) != len(pairs):
            raise ValueError
    except ValueError:
        raise PlanError(field, f"'{given}' is not a list of parameters", remedy) from None
    try:
        return found.model_validate(dict(pairs))
    except ValidationError as error:
        first = error.errors()[0]
        raise PlanError(field, f"{family} cannot have {_blame(first['type'], first['loc'], given)}", remedy) from None


def _pairs(given: str) -> list[tuple[str, str]]:
    """Raises ValueError for a text that is no list of parameters. A plus is a sign here, and no space."""
    return parse_qsl(given.replace("+", "%2B"), keep_blank_values=True, strict_parsing=True) if given else []


def _blame(reason: str, place: tuple[int | str, ...], given: str) -> str:
    parameter = ".".join(map(str, place))
    if reason == "missing":
        return f"no {parameter}"
    value = dict(_pairs(given)).get(parameter)
    return f"a parameter {parameter}" if reason == "extra_forbidden" else f"{parameter}={value}"
