"""Interfaces of the tester in VLANs of its ports. The core tags and untags, so that no kernel needs 8021q."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pyroute2 import IPRoute

from keisoku._core import VlanTags
from keisoku.errors import EngineError
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.device import iproute
from keisoku.ground.lab.device.interface import set_sysctl, whole_frames

CUSTOMER, SERVICE = 0x8100, 0x88A8
"""Ethertypes of IEEE 802.1Q and 802.1ad."""
MOST_TAGS = 2
TAGGED = "-tagged"
"""Ends the name of the interface whose frames have the tags."""
_INSIDE = "-inside"
_TAG_BYTES = 4
_PRIORITY_BIT = 13
_SOL_PACKET, _ADD_MEMBERSHIP, _PROMISCUOUS = 263, 1, 1


@dataclass(frozen=True)
class Tag:
    """One tag of a frame."""

    number: int
    """Of the VLAN."""
    ethertype: int = CUSTOMER
    priority: int = 0


def in_vlan(namespace: Namespace, name: str, mac: str, tags: Sequence[Tag]) -> VlanTags:
    """Makes an interface in a VLAN of the one that has its name and `TAGGED`, which is down, both of a namespace. The
    tags are given from the outermost on. It is in the VLAN until the returned object is closed.

    Raises EngineError if the kernel refuses.
    """
    outside, inside = f"{name}{TAGGED}", f"{name}{_INSIDE}"
    namespace.run(partial(_make, name, mac, outside, inside, len(tags)))
    words = [(tag.ethertype, tag.priority << _PRIORITY_BIT | tag.number) for tag in tags]
    try:
        found = VlanTags(str(namespace.path), outside, inside, words)
    except RuntimeError as error:
        raise EngineError(f"{name} cannot be in a VLAN: {error}") from error
    # Groups are joined at the other interface.
    namespace.run(partial(iproute.ip, f"link set {outside} up allmulticast on", f"link set {inside} up"))
    return found


def _make(name: str, mac: str, outside: str, inside: str, tags: int) -> None:
    iproute.ip(f"link add {name} address {mac} type veth peer name {inside}")
    for end in (name, inside):
        whole_frames(end)
    for end in (outside, inside):
        set_sysctl(f"ipv6/conf/{end}/disable_ipv6", "1")  # the kernel's own frames would have no tag
    with IPRoute() as ip:
        (link,) = ip.get_links(ip.link_lookup(ifname=outside)[0])
        # An interface takes frames that are longer by one tag.
        mtu = int(link.get("mtu")) - _TAG_BYTES * (tags - 1)
    iproute.ip(f"link set {name} mtu {mtu}", f"link set {inside} mtu {mtu}")


def every_frame(interface: str) -> socket.socket:
    """Has an interface of the calling thread's namespace receive what is for others, too, until the socket is closed:
    a card may filter by VLANs that its driver was told of. Nothing is read."""
    own = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    try:
        wanted = struct.pack("iHH8s", socket.if_nametoindex(interface), _PROMISCUOUS, 0, b"")
        own.setsockopt(_SOL_PACKET, _ADD_MEMBERSHIP, wanted)
    except OSError:
        own.close()
        raise
    return own
