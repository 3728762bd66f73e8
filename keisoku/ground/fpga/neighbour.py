"""ARP (RFC 826) and IPv6 neighbour discovery (RFC 4861) for hosts at a port whose frames go through a mailbox.

Frames come from any sender: reading one must never raise, and frames that a host must ignore are ignored. It opens
nothing and reads no clock. The software engines do the same in core/src/interface/neighbour.rs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any, Protocol

from keisoku.errors import EngineError
from keisoku.ground.frame.host_range import Address, HostRange

if TYPE_CHECKING:
    from scapy.packet import Packet

_BROADCAST = "ff:ff:ff:ff:ff:ff"
_ALL_NODES, _ALL_NODES_MAC = "ff02::1", "33:33:00:00:00:01"
_SOLICITED_NODE = int(IPv6Address("ff02::1:ff00:0"))
_SHORTEST_FRAME = 60
"""Without FCS (IEEE 802.3 §3.2.7)."""
_HOP_LIMIT = 255
"""RFC 4861 §7.1.1: a lower value means that a router forwarded it, so it is not from a neighbour."""
_ASK_AGAIN_NS = 250_000_000
"""RFC 4861 §10 has 1 s, but for shared links."""
_PAUSE_NS = 1_000_000
_MOST_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Party:
    """A host with a MAC and an IP address."""

    mac: str
    ip: Address


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for `target`. The asker's address is unspecified when it asks whether it may use the target."""

    asker: Party
    target: Address


@dataclass(frozen=True, slots=True)
class Tell:
    """An answer with a host's addresses."""

    party: Party


class Mailbox(Protocol):
    """A port's frames that are no test frames, without FCS."""

    def receive(self) -> bytes | None:
        """The oldest that has not been received yet; None if there is none."""

    def send(self, frame: bytes) -> None:
        """Sends a frame once, as soon as it fits."""


def read(frame: bytes) -> Ask | Tell | None:
    """The content of a frame without FCS and VLAN tags; None for everything that a host ignores."""
    from scapy.layers.l2 import ARP, Ether

    try:
        packet = Ether(frame)
        if packet.type == 0x0806 and isinstance(packet.payload, ARP):
            return _read_arp(packet.payload)
        return _read_discovery(packet, frame[54:]) if packet.type == 0x86DD else None
    except Exception:  # any exception of Scapy for wrong bytes
        return None


def ask(asker: Party, target: Address) -> bytes:
    """The frame by which a host asks for `target`. Raises ValueError if the two have different IP versions."""
    from scapy.layers.inet6 import ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr
    from scapy.layers.l2 import ARP, Ether

    if asker.ip.version != target.version:
        raise ValueError(f"{asker.ip} cannot ask for {target}")
    if target.version == 4:
        question = ARP(op="who-has", hwsrc=asker.mac, psrc=str(asker.ip), hwdst="00:00:00:00:00:00", pdst=str(target))
        return _padded(Ether(dst=_BROADCAST, src=asker.mac) / question)
    group = _solicited_node(target)
    to = "33:33:" + int(group).to_bytes(16, "big")[-4:].hex(":")
    body = ICMPv6ND_NS(tgt=str(target)) / ICMPv6NDOptSrcLLAddr(lladdr=asker.mac)
    return _discovery(asker, to, str(group), body)


def answer(frame: bytes, hosts: Iterable[HostRange]) -> bytes | None:
    """The answer of one of `hosts` to a frame; None if the frame is no request for one of them."""
    said = read(frame)
    if not isinstance(said, Ask):
        return None
    mac = next((one.mac for one in hosts if said.target in one), None)
    return None if mac is None else _answer(Party(mac, said.target), said.asker)


def step(mailbox: Mailbox, hosts: Sequence[HostRange]) -> list[Party]:
    """Answers all received requests and returns the hosts whose answers arrived, in that order.

    Reads at most 64 frames, so that a flood of other frames does not block the caller.
    """
    told = []
    for _ in range(_MOST_AT_ONCE):
        frame = mailbox.receive()
        if frame is None:
            break
        reply = answer(frame, hosts)
        if reply is not None:
            mailbox.send(reply)
            continue
        said = read(frame)
        if isinstance(said, Tell):
            told.append(said.party)
    return told


def resolve(
    mailbox: Mailbox,
    hosts: Sequence[HostRange],
    asker: Party,
    target: Address,
    timeout_ns: int,
    let_pass: Callable[[int], None],
) -> str:
    """The MAC address of `target`, asked for until it answers; answers requests for `hosts` meanwhile.

    `let_pass` returns after so many ns of the instrument's time. Raises EngineError if there is no answer in time.
    """
    question = ask(asker, target)
    for waited_ns in range(0, max(1, timeout_ns), _PAUSE_NS):
        if waited_ns % _ASK_AGAIN_NS == 0:
            mailbox.send(question)
        let_pass(_PAUSE_NS)
        for party in step(mailbox, hosts):
            if party.ip == target:
                return party.mac
    raise EngineError(f"no answer for {target}: check the cable, and that the device has this address")


def _read_arp(packet: Any) -> Ask | Tell | None:
    if (packet.hwtype, packet.ptype, packet.hwlen, packet.plen) != (1, 0x0800, 6, 4):
        return None
    sender = Party(packet.hwsrc, IPv4Address(packet.psrc))
    if not _is_unicast(sender.mac) or sender.ip.is_multicast or int(sender.ip) == 0xFFFFFFFF:
        return None
    target = IPv4Address(packet.pdst)
    # A request for the sender's own address is an announcement (RFC 5227 §3).
    if packet.op == 1 and sender.ip != target:
        return Ask(sender, target)
    return Tell(sender) if packet.op == 2 and not sender.ip.is_unspecified else None


def _read_discovery(frame: Any, after_header: bytes) -> Ask | Tell | None:
    """Validates as RFC 4861 §7.1.1 and §7.1.2 say."""
    from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, IPv6, in6_chksum

    packet = frame.payload
    message = packet.payload
    if not isinstance(packet, IPv6) or not isinstance(message, ICMPv6ND_NS | ICMPv6ND_NA):
        return None
    octets = after_header[: packet.plen]
    source, destination, target = (IPv6Address(one) for one in (packet.src, packet.dst, message.tgt))
    sound = (
        packet.version == 6
        and packet.hlim == _HOP_LIMIT
        and message.code == 0
        and len(octets) == packet.plen >= 24
        and not target.is_multicast
        and not source.is_multicast
        and in6_chksum(58, packet, octets) == 0  # type: ignore[no-untyped-call]
    )
    options = _options(octets[24:])
    if not sound or options is None:
        return None
    if isinstance(message, ICMPv6ND_NA):
        mac = options.get(2, frame.src)
        claims_solicited = message.S == 1 and destination.is_multicast
        return Tell(Party(mac, target)) if _is_unicast(mac) and not claims_solicited else None
    if source.is_unspecified:
        allowed = 1 not in options and destination == _solicited_node(target)
        return Ask(Party(frame.src, source), target) if allowed else None
    mac = options.get(1, frame.src)
    return Ask(Party(mac, source), target) if _is_unicast(mac) else None


def _options(octets: bytes) -> dict[int, str] | None:
    """Link layer addresses by the kind of option (RFC 4861 §4.6); None if a length is wrong."""
    found = {}
    while octets:
        units = octets[1] if len(octets) > 1 else 0
        if units == 0 or 8 * units > len(octets):
            return None
        found[octets[0]] = octets[2:8].hex(":")
        octets = octets[8 * units :]
    return found


def _answer(me: Party, asker: Party) -> bytes:
    from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6NDOptDstLLAddr
    from scapy.layers.l2 import ARP, Ether

    if me.ip.version == 4:
        reply = ARP(op="is-at", hwsrc=me.mac, psrc=str(me.ip), hwdst=asker.mac, pdst=str(asker.ip))
        return _padded(Ether(dst=asker.mac, src=me.mac) / reply)
    # RFC 4861 §7.2.4: the answer to a host without an address goes to all hosts.
    everybody = asker.ip.is_unspecified
    mac, ip = (_ALL_NODES_MAC, _ALL_NODES) if everybody else (asker.mac, str(asker.ip))
    body = ICMPv6ND_NA(R=0, S=0 if everybody else 1, O=1, tgt=str(me.ip)) / ICMPv6NDOptDstLLAddr(lladdr=me.mac)
    return _discovery(me, mac, ip, body)


def _discovery(source: Party, to_mac: str, to_ip: str, body: Packet) -> bytes:
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether

    header = IPv6(src=str(source.ip), dst=to_ip, hlim=_HOP_LIMIT)
    return _padded(Ether(dst=to_mac, src=source.mac) / header / body)


def _padded(packet: Packet) -> bytes:
    return bytes(packet).ljust(_SHORTEST_FRAME, b"\0")


def _solicited_node(target: Address) -> IPv6Address:
    return ip_address(_SOLICITED_NODE | int(target) & 0xFFFFFF)  # type: ignore[return-value]


def _is_unicast(mac: str) -> bool:
    first = int(mac[:2], 16)
    return first % 2 == 0 and int(mac.replace(":", ""), 16) != 0
