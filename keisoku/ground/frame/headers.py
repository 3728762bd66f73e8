"""A header stack with every address filled in, to precede a payload. Sends nothing, resolves nothing.

Values that the user gave are kept; others are filled from the ends of the path, never from this host's routes or
neighbours, as Scapy would.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.frame import field as fields
from keisoku.ground.frame.payload import FCS_BYTES, SIGNATURE_BYTES, ones_complement_sum, payload
from keisoku.ground.frame.stack import Stack, layers_of

LOCAL_EXPERIMENTAL = 0x88B5
"""EtherType that IEEE 802 reserves for local experiments."""
EXPERIMENTAL_PROTOCOL = 253
"""IP protocol number for experiments and tests (RFC 3692)."""
SOURCE_IPV4, DESTINATION_IPV4 = "198.18.0.1", "198.19.0.1"
"""From 198.18.0.0/15, which is reserved for benchmarks (RFC 2544 appendix C.2.2)."""
SOURCE_IPV6, DESTINATION_IPV6 = "2001:2:0:1::1", "2001:2:0:2::1"
"""From 2001:2::/48, which is reserved for benchmarks (RFC 5180 §8)."""

_ETHERNET_MIN_BYTES = 64
_MAX_FRAME_BYTES = 65_535
# RFC 2544 appendix C.2.6.4: test frames come from this port and go to echo; time to live 10.
_SOURCE_PORT, _ECHO_PORT, _HOPS = 0xC020, 7, 10
_FIRST_FREE_LABEL = 16
# Two payloads that sum to zero, and so differ as two frames of a stream do.
_PROBES = tuple(
    text + (0xFFFF - ones_complement_sum(text)).to_bytes(2, "big")
    for text in (bytes(range(1, 63)), bytes(range(62, 0, -1)))
)


@dataclass(frozen=True)
class Ends:
    """Where frames come from and go to, for the addresses that a stack leaves open."""

    source_mac: str
    destination_mac: str
    """MAC address of the next hop: the receiving port, or a router's port."""
    source_ip: str | None = None
    """IP address of either version; headers of the other version have the address reserved for benchmarks."""
    destination_ip: str | None = None
    receiver_mac: str | None = None
    """MAC address of the receiving port, for an Ethernet header inside a tunnel; the next hop's if not given."""


class Headers:
    """A stack between two ends; makes whole frames of any size. `layers` are Scapy's, and a caller that
    changes a field of one changes the frames.

    Raises PlanError if an address is wrong, or if Scapy cannot build the stack.
    """

    def __init__(self, stack: Stack, ends: Ends) -> None:
        from scapy.packet import Raw

        self.stack = stack
        self._packet = stack.packet()
        _fill(self._packet, stack, ends)
        _check_single(self._packet)
        self._packet = self._packet / Raw()
        *self.layers, self._raw = layers_of(self._packet)
        frame, other = (self._with(probe) for probe in _PROBES)
        self.room_bytes = FCS_BYTES if frame.endswith(_PROBES[0] + bytes(FCS_BYTES)) else 0
        room = bytes(self.room_bytes)
        self.header_bytes = len(frame) - len(_PROBES[0] + room)
        if not (frame.endswith(_PROBES[0] + room) and other.endswith(_PROBES[1] + room)):
            problem = f"{stack.text} adds bytes after the payload or changes it"
            raise PlanError("headers", problem, "leave that layer out: a frame ends with the tester's signature")
        if frame[: self.header_bytes] != other[: self.header_bytes]:
            problem = f"{stack.text} has a checksum that becomes wrong when sequence number and time change"
            raise PlanError("headers", problem, "give that checksum a fixed value, or leave the layer out")

    @property
    def least_frame_bytes(self) -> int:
        """The smallest frame that holds the headers and a signature, FCS included."""
        return max(_ETHERNET_MIN_BYTES, self.header_bytes + SIGNATURE_BYTES + self.room_bytes + FCS_BYTES)

    def frame(self, frame_bytes: int) -> bytes:
        """A frame of `frame_bytes`, FCS included but left out here, its signature zero until it is signed.

        Raises PlanError for a size that the headers cannot have.
        """
        if frame_bytes < self.least_frame_bytes:
            problem = f"{frame_bytes} byte are too few for the signature and the headers {self.stack.text}"
            raise PlanError("frame size", problem, f"use at least {self.least_frame_bytes}")
        if frame_bytes > _MAX_FRAME_BYTES:
            raise PlanError("frame size", f"{frame_bytes} byte are too many", f"use at most {_MAX_FRAME_BYTES}")
        frame = self._with(payload(frame_bytes - FCS_BYTES - self.header_bytes - self.room_bytes))
        if len(frame) != frame_bytes - FCS_BYTES:
            problem = f"{self.stack.text} has headers whose length depends on the payload's"
            raise PlanError("headers", problem, "leave that layer out")
        return frame

    def _with(self, load: bytes) -> bytes:
        self._raw.load = load
        try:
            return bytes(self._packet)
        except Exception as error:  # Scapy's layers may raise any exception
            problem = f"Scapy cannot build {self.stack.text}: {error}"
            raise PlanError("headers", problem, "correct the stack or its values") from error


def unaddressed(stack: Stack) -> Headers:
    """A stack between no ends in particular, for what does not depend on them."""
    return Headers(stack, Ends("02:00:00:00:00:01", "02:00:00:00:00:02"))


def least_frame_bytes(stack: Stack) -> int:
    """The smallest frame of a stack that holds a signature, FCS included."""
    return unaddressed(stack).least_frame_bytes


def _fill(packet: Any, stack: Stack, ends: Ends) -> None:
    from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting

    macs = _macs(ends)
    ips = _ips(stack, ends)
    layers, given = layers_of(packet), stack.user_fields
    for depth, layer in enumerate(layers):
        # Neither the user nor the next layer's binding has set these.
        taken = given[depth] | set(layer.overloaded_fields)
        values: dict[str, Any] = _defaults(layer)
        for name in values.keys() - taken:
            layer.setfieldval(name, values[name])
        by_kind = macs if depth == 0 else macs | _tunnelled(ends)
        for described in layer.fields_desc:
            kind = type(fields.plain(described, layer)).__name__
            address = ips.get(kind) or by_kind.get(kind)
            if address is not None and described.name not in taken:
                layer.setfieldval(described.name, address)
        if isinstance(layer, IPv6ExtHdrSegmentRouting):
            if "addresses" not in taken:
                layer.setfieldval("addresses", [ips["DestIP6Field"]])
            if isinstance(layers[depth - 1], IPv6) and "dst" not in given[depth - 1]:
                layers[depth - 1].setfieldval("dst", _active_segment(layer))


def _defaults(layer: Any) -> dict[str, int]:
    """Values of a test frame where Scapy's default would not be forwarded, or would have another meaning."""
    from scapy.contrib.mpls import MPLS
    from scapy.layers.inet import IP, TCP, UDP
    from scapy.layers.inet6 import IPv6, _IPv6ExtHdr
    from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether

    if isinstance(layer, Ether | Dot1Q):
        return {"type": LOCAL_EXPERIMENTAL}
    if isinstance(layer, GRE):
        return {"proto": LOCAL_EXPERIMENTAL}
    if isinstance(layer, IP):
        return {"id": 0, "ttl": _HOPS, "proto": EXPERIMENTAL_PROTOCOL}
    if isinstance(layer, IPv6):
        return {"hlim": _HOPS, "nh": EXPERIMENTAL_PROTOCOL}
    if isinstance(layer, _IPv6ExtHdr):
        return {"nh": EXPERIMENTAL_PROTOCOL}
    if isinstance(layer, UDP | TCP):
        return {"sport": _SOURCE_PORT, "dport": _ECHO_PORT}
    if isinstance(layer, MPLS):
        return {"label": _FIRST_FREE_LABEL, "ttl": _HOPS}
    if isinstance(layer, ARP):
        return {"hwlen": 6, "plen": 4}
    return {}


def _macs(ends: Ends) -> dict[str, str]:
    """MAC address by the class of Scapy's field, of the outermost header."""
    source = _mac("source MAC", ends.source_mac)
    return {
        "SourceMACField": source,
        "ARPSourceMACField": source,
        "DestMACField": _mac("destination MAC", ends.destination_mac),
    }


def _tunnelled(ends: Ends) -> dict[str, str]:
    return {} if ends.receiver_mac is None else {"DestMACField": _mac("receiver MAC", ends.receiver_mac)}


def _ips(stack: Stack, ends: Ends) -> dict[str, str]:
    """IP address by the class of Scapy's field."""
    headers = {type(layer).__name__ for layer in layers_of(stack.packet())}
    versions = {version for name, version in (("IP", 4), ("ARP", 4), ("IPv6", 6)) if name in headers}
    source = _address("source IP", ends.source_ip, versions)
    destination = _address("destination IP", ends.destination_ip, versions)
    return {
        "SourceIPField": str(source) if isinstance(source, IPv4Address) else SOURCE_IPV4,
        "DestIPField": str(destination) if isinstance(destination, IPv4Address) else DESTINATION_IPV4,
        "SourceIP6Field": str(source) if isinstance(source, IPv6Address) else SOURCE_IPV6,
        "DestIP6Field": str(destination) if isinstance(destination, IPv6Address) else DESTINATION_IPV6,
    }


def _mac(where: str, text: str) -> str:
    try:
        return fields.mac(text)
    except ValueError as error:
        raise PlanError(where, str(error), "write it as 02:00:00:00:00:01") from error


def _address(where: str, text: str | None, versions: set[int]) -> IPv4Address | IPv6Address | None:
    if text is None or not versions:
        return None
    wanted = " or ".join(f"IPv{version}" for version in sorted(versions))
    try:
        address = ip_address(text)
        if address.version in versions:
            return address
    except ValueError:
        pass
    example = SOURCE_IPV4 if 4 in versions else SOURCE_IPV6
    raise PlanError(where, f"'{text}' is not an {wanted} address", f"write it as {example}")


def _active_segment(routing: Any) -> str:
    """The segment that is the packet's next destination: Segment List[Segments Left] (RFC 8754 §2)."""
    segments = list(routing.addresses)
    left = len(segments) - 1 if routing.segleft is None else int(routing.segleft)
    if not 0 <= left < len(segments):
        problem = f"segleft={left} points to none of {len(segments)} addresses"
        raise PlanError("headers", problem, f"use 0 to {len(segments) - 1}" if segments else "give addresses")
    return str(segments[left])


def _check_single(packet: Any) -> None:
    """Refuses values that Scapy takes for a set of packets, of which it would build only the first."""
    packets = iter(packet)
    next(packets, None)
    if next(packets, None) is not None:
        problem = "the stack stands for more than one packet"
        raise PlanError("headers", problem, "give one value for each field, and --modify to vary it")
