"""`DhcpCount`: the messages of DHCP that pass an interface (RFC 2131, RFC 8415), which no client counts itself."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator

from keisoku.errors import EngineError
from keisoku.ground.lab.passing import Passing

Kind = tuple[bool, str]
"""Whether it was sent, and which message it is; of DHCPv6 also what it has in it, by the names below."""
ERROR, RAPID_SOLICIT, RAPID_REPLY = "error", "rapid solicit", "rapid reply"
"""Kinds beside their message: a reply or advertisement with an error's status, and messages with Rapid Commit."""
REFUSED = "refused advertise"
"""An advertisement with an error's status, which a client must ignore (RFC 8415, §18.2.9)."""

_FOUR = ("discover", "offer", "request", "decline", "ack", "nak", "release", "inform")
"""Message types of DHCPv4 from 1 on (RFC 2132, §9.6)."""
_SIX = (
    *("solicit", "advertise", "request", "confirm", "renew", "rebind", "reply", "release", "decline"),
    *("reconfigure", "information-request", "relay-forward", "relay-reply"),
)
"""Those of DHCPv6 (RFC 8415, §7.3)."""
_ETHERNET_BYTES, _UDP_BYTES, _IPV6_BYTES = 14, 8, 40
_FIXED_BYTES, _COOKIE = 236, bytes.fromhex("63825363")
_CHADDR_AT = 28
_MESSAGE_TYPE, _PAD, _END = 53, 0, 255
_IAS = {3: 12, 4: 4, 25: 12}
"""Options that contain options, of addresses, temporary ones and prefixes, and the bytes before these."""
_RELAYED, _STATUS, _RAPID = 9, 13, 14
_RELAY_BYTES = 34
_FILTER = (
    (0x28, 0, 0, 12),  # Ethernet type
    (0x15, 0, 6, 0x0800),
    (0x30, 0, 0, 23),  # IP protocol
    (0x15, 0, 11, 17),
    (0xB1, 0, 0, 14),  # length of the IP header
    (0x48, 0, 0, 16),  # port of destination
    (0x15, 7, 0, 67),
    (0x15, 6, 7, 68),
    (0x15, 0, 6, 0x86DD),
    (0x30, 0, 0, 20),  # next header
    (0x15, 0, 4, 17),
    (0x28, 0, 0, 56),  # port of destination
    (0x35, 0, 2, 546),
    (0x25, 1, 0, 547),
    (0x06, 0, 0, 0xFFFF),
    (0x06, 0, 0, 0),
)
"""Classic BPF: packets to the ports of DHCP pass."""


class DhcpCount:
    """Of an interface of the calling thread's namespace, from now on. Raises EngineError if it cannot be watched."""

    def __init__(self, interface: str, client_mac: str | None = None) -> None:
        """With `client_mac` DHCPv4 messages of other clients, which are broadcast, are not counted."""
        self._mac = None if client_mac is None else bytes.fromhex(client_mac.replace(":", ""))
        self._counts: dict[int, Counter[Kind]] = {4: Counter(), 6: Counter()}
        try:
            self._watched = Passing(interface, _FILTER)
        except OSError as error:
            raise EngineError(f"DHCP's messages cannot be counted: {error}") from error

    def counts(self, version: int) -> Counter[Kind]:
        """How many messages of DHCPv4 or DHCPv6 (4, 6) passed until now."""
        for was_sent, frame in self._watched.frames():
            of, kinds = kinds_of(frame, self._mac)
            self._counts[of].update((was_sent, kind) for kind in kinds)
        return self._counts[version]

    def close(self) -> None:
        """Twice is no error."""
        self._watched.close()


def kinds_of(frame: bytes, client_mac: bytes | None = None) -> tuple[int, list[str]]:
    """The version of a frame's message, and its kinds; none if it is damaged, or about another DHCPv4 client."""
    version = 6 if frame[12:14] == b"\x86\xdd" else 4
    found: list[str] = []
    try:
        if version == 6:
            found += _six(frame[_ETHERNET_BYTES + _IPV6_BYTES + _UDP_BYTES :])
        else:
            begin = _ETHERNET_BYTES + 4 * (frame[_ETHERNET_BYTES] & 0xF) + _UDP_BYTES
            found += _four(frame[begin:], client_mac)
    except (struct.error, IndexError):
        return version, []
    return version, found


def _four(message: bytes, client_mac: bytes | None) -> Iterator[str]:
    if message[_FIXED_BYTES : _FIXED_BYTES + 4] != _COOKIE:
        return
    if client_mac is not None and message[_CHADDR_AT : _CHADDR_AT + 6] != client_mac:
        return
    place = _FIXED_BYTES + 4
    while message[place] != _END:
        if message[place] == _PAD:
            place += 1
            continue
        if message[place] == _MESSAGE_TYPE:
            yield _FOUR[message[place + 2] - 1]
            return
        place += 2 + message[place + 1]


def _six(message: bytes) -> Iterator[str]:
    kind = _SIX[message[0] - 1]
    yield kind
    if kind.startswith("relay"):
        for code, inside in _options(message[_RELAY_BYTES:]):
            if code == _RELAYED:
                yield from _six(inside)
        return
    options = list(_options(message[4:]))
    if any(code == _RAPID for code, _ in options):
        yield from {"solicit": [RAPID_SOLICIT], "reply": [RAPID_REPLY]}.get(kind, [])
    if _fails(options):
        yield from {"reply": [ERROR], "advertise": [REFUSED]}.get(kind, [])


def _options(text: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(text):
        code, length = struct.unpack_from(">HH", text, place)
        yield code, text[place + 4 : place + 4 + length]
        place += 4 + length


def _fails(options: list[tuple[int, bytes]]) -> bool:
    """Whether there is an error's status, also within an association."""
    inner = (each for code, text in options if code in _IAS for each in _options(text[_IAS[code] :]))
    return any(code == _STATUS and struct.unpack_from(">H", text)[0] for code, text in (*options, *inner))
