"""The frames of RFC 2544 §11 that are sent beside the test frames: broadcast, management queries, routing updates.

Header stacks in Scapy's notation, made from addresses; after them comes a test frame's payload with its signature,
which each of these protocols reads as a value. Sends nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Modifying = Literal["broadcast", "management", "routing"]

BROADCAST_SHARE = 0.01
"""§11.1: "1% frames addressed to the hardware broadcast address"."""
MANAGEMENT_BYTES = 192
ROUTING_BYTES = 14 + 20 + 8 + 4 + 6 * 20 + 2 * 20 + 4
"""Six networks as in C.2.6.2, two entries of no address family that hold the signature, and the FCS."""
ROUTING_S = 30
"""Appendix C.2.3, IP-RIP."""
_BROADCAST_MAC = "ff:ff:ff:ff:ff:ff"
# sysUpTime.0, ifInOctets.1, ifOutOctets.1, ifInUcastPkts.1, ifOutUcastPkts.1 (C.2.4.3), as their last numbers.
_ASKED = ("1.3.0", "2.2.1.10.1", "2.2.1.16.1", "2.2.1.11.1", "2.2.1.17.1")
_MIB_2 = bytes((0x2B, 6, 1, 2, 1))
_ETHERNET_IP_UDP_FCS_BYTES = 14 + 20 + 8 + 4


@dataclass(frozen=True)
class ModifyingFrames:
    """Frames of one kind."""

    headers: str
    frame_bytes: int | None = None
    """Frame size (default: that of the test frames)."""
    modify: tuple[str, ...] = ()
    share: float | None = None
    """Share of all frames of the port; otherwise one every `period_s`."""
    period_s: float = 1.0


def kind(name: Modifying, source_ip: str, device_ip: str) -> ModifyingFrames:
    """The frames called `name`, from a host to the device; IPv4 addresses."""
    match name:
        case "broadcast":
            # "of a type that the router will not need to process": that of local experiments.
            return ModifyingFrames(f"Ether(dst='{_BROADCAST_MAC}')", share=BROADCAST_SHARE)
        case "management":
            load = _snmp(MANAGEMENT_BYTES - _ETHERNET_IP_UDP_FCS_BYTES)
            udp = "UDP(sport=49161, dport=161)"
            return ModifyingFrames(
                f"Ether()/IP(src='{source_ip}', dst='{device_ip}')/{udp}/Raw(load={load!r})", MANAGEMENT_BYTES
            )
        case "routing":
            # C.2.6.2. The networks are in the test's range, but no test frame is sent to them.
            nets = "/".join(f"RIPEntry(addr='198.18.{net}.0', metric=7)" for net in range(65, 71))
            subnet = source_ip.rpartition(".")[0]
            ip = f"IP(src='{source_ip}', dst='{subnet}.255')/UDP(sport=520, dport=520)"
            # §11.3: state "A" and state "B" in turn.
            metrics = tuple(f"RIPEntry[{number}].metric=list(7, 8)" for number in range(1, 7))
            headers = f"Ether(dst='{_BROADCAST_MAC}')/{ip}/RIP(cmd=2, version=1)/{nets}"
            return ModifyingFrames(headers, ROUTING_BYTES, metrics, period_s=ROUTING_S)


def _snmp(message_bytes: int) -> bytes:
    """The beginning of an SNMPv1 GetRequest of so many bytes. Its last value, which the agent ignores, is a text of all
    remaining bytes (RFC 1157 §4.1.2)."""
    names = [_tlv(0x06, _MIB_2 + bytes(map(int, text.split(".")))) for text in _ASKED]
    plain = b"".join(_tlv(0x30, name + b"\x05\x00") for name in names[:-1])
    version_and_community = b"\x02\x01\x00" + _tlv(0x04, b"public")
    request = b"\x02\x02\x25\x44" + b"\x02\x01\x00" * 2
    room = message_bytes
    # Each length has one byte as long as the message is below 128 bytes, and else two.
    heads = []
    for tag, content in ((0x30, version_and_community), (0xA0, request), (0x30, plain), (0x30, names[-1])):
        head = bytes((tag, 0x81, room - 3)) + content
        heads.append(head)
        room -= len(head)
    return b"".join(heads) + bytes((0x04, 0x81, room - 3))


def _tlv(tag: int, content: bytes) -> bytes:
    return bytes((tag, len(content))) + content
