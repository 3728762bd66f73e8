"""The LISP data header (RFC 9300 §5.3), which Scapy lacks. Only the format, without mapping."""

from __future__ import annotations

from typing import Any

from scapy.fields import BitField, X3BytesField, XIntField
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, bind_bottom_up, bind_top_down

DATA_PORT = 4341


_FIELDS: list[Any] = [
    BitField("n", 0, 1),
    BitField("l", 0, 1),
    BitField("e", 0, 1),
    BitField("v", 0, 1),
    BitField("i", 0, 1),
    BitField("r", 0, 1),
    BitField("kk", 0, 2),
    X3BytesField("nonce", 0),
    # Locator status bits; with i=1 the upper 24 bits are the instance ID.
    XIntField("lsb", 0),
]


class LISP(Packet):
    """Eight bytes between UDP to port 4341 and the packet that a LISP tunnel carries."""

    name = "LISP"
    fields_desc = _FIELDS

    def guess_payload_class(self, payload: bytes) -> Any:
        """Chosen by the version nibble of the payload; the header has no field for it."""
        versions = {4: IP, 6: IPv6}
        return versions.get(payload[0] >> 4 if payload else 0, super().guess_payload_class(payload))


bind_top_down(UDP, LISP, dport=DATA_PORT)
bind_bottom_up(UDP, LISP, dport=DATA_PORT)
