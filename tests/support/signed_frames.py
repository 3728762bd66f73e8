"""Signatures and checksums in plain Python, as an independent judge of frames that keisoku builds."""

from __future__ import annotations

from typing import Any

SIGNATURE_BYTES = 18
_COMPUTED = ("len", "plen", "ihl", "dataofs", "chksum", "cksum")


def ones_complement_sum(region: bytes) -> int:
    """RFC 1071 in the plainest words."""
    total = 0
    for at in range(0, len(region), 2):
        total += int.from_bytes(region[at : at + 2].ljust(2, b"\0"), "big")
        total = (total & 0xFFFF) + (total >> 16)
    return total


def signature(stream: int, sequence: int, sent_ns: int) -> bytes:
    """As docs/signature says."""
    fields = (0x6B73).to_bytes(2, "big") + stream.to_bytes(2, "big")
    fields += sequence.to_bytes(6, "big") + sent_ns.to_bytes(6, "big")
    return fields + (0xFFFF - ones_complement_sum(fields)).to_bytes(2, "big")


def signed(frame: bytes, stream: int = 7, sequence: int = 1, sent_ns: int = 123_456_789) -> bytes:
    """A frame as it is sent; its last 18 bytes have to be zero."""
    assert frame[-SIGNATURE_BYTES:] == bytes(SIGNATURE_BYTES)
    return frame[:-SIGNATURE_BYTES] + signature(stream, sequence, sent_ns)


def layers(frame: bytes) -> list[Any]:
    """What Scapy finds in a frame, payload included."""
    from scapy.layers.l2 import Ether
    from scapy.packet import NoPayload, Packet

    found: list[Packet] = []
    packet: Packet = Ether(frame)
    while not isinstance(packet, NoPayload):
        found.append(packet)
        packet = packet.payload
    return found


def names(frame: bytes) -> list[str]:
    """Layers of a frame by name."""
    return [type(layer).__name__ for layer in layers(frame)]


def recomputed(frame: bytes) -> bytes:
    """The frame as Scapy builds it when every length and checksum that is not zero is left to Scapy."""
    found = layers(frame)
    for layer in found:
        for name in _COMPUTED:
            # A UDP checksum of zero is none.
            if layer.fields.get(name):
                layer.delfieldval(name)
    return bytes(found[0])
