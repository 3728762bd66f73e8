"""The last 41 byte of a control PDU of UDPSTP (RFC 9946): authentication with a shared key, and the checksum.

Keys of a test are made of the shared key and the time of the client's first request by the counter mode of NIST SP
800-108 with HMAC-SHA-256, one for each end, so that no key serves twice.
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass

from keisoku.subjects.stream.capacity.pdu import TAIL_BYTES, PduError, checksum_of

OPEN, SIGNED = 0, 1
"""Modes: without authentication, and with signed control PDUs."""
WINDOW_S = 5
"""By which the clocks of both ends may differ."""
_TAIL = struct.Struct("!BI32sBBH")
_LABEL, _HASH_BYTES = b"UDPSTP", 32


class SealError(PduError):
    """The digest is wrong."""


class SealTimeError(PduError):
    """It was signed too long ago, or in the future: an old PDU sent again, or clocks that differ."""


@dataclass(frozen=True)
class Keys:
    """Of one test: what the client signs with, and the server."""

    client: bytes
    server: bytes

    @classmethod
    def derive(cls, shared: bytes, unix_s: int) -> Keys:
        """`unix_s`: the time in the client's set-up request."""
        context = str(unix_s).encode()
        bits = (2 * _HASH_BYTES * 8).to_bytes(4, "big")
        parts = [
            hmac.digest(shared, number.to_bytes(4, "big") + _LABEL + b"\0" + context + bits, "sha256")
            for number in (1, 2)
        ]
        return cls(*parts)


@dataclass(frozen=True)
class Tail:
    """What a received PDU says of its authentication."""

    mode: int
    unix_s: int
    digest: bytes
    key_id: int

    @classmethod
    def parse(cls, data: bytes) -> Tail:
        """Raises PduError if the checksum is wrong; 0 means that there is none."""
        if len(data) < TAIL_BYTES:
            raise PduError(f"{len(data)} byte have no tail")
        mode, unix_s, digest, key_id, _, checksum = _TAIL.unpack(data[-TAIL_BYTES:])
        if checksum and checksum_of(data):
            raise PduError("the checksum is wrong")
        return cls(mode, unix_s, digest, key_id)


def sealed(data: bytes, unix_s: int, key: bytes | None = None, key_id: int = 0) -> bytes:
    """The PDU with its tail, signed if there is a key."""
    head = data[:-TAIL_BYTES]
    if key is None:
        tail = _TAIL.pack(OPEN, 0, bytes(_HASH_BYTES), 0, 0, 0)
    else:
        blank = _TAIL.pack(SIGNED, unix_s, bytes(_HASH_BYTES), key_id, 0, 0)
        tail = _TAIL.pack(SIGNED, unix_s, hmac.digest(key, head + blank, "sha256"), key_id, 0, 0)
    return head + tail[:-2] + checksum_of(head + tail).to_bytes(2, "big")


def verify(data: bytes, key: bytes, now_s: int) -> None:
    """Raises SealError or SealTimeError for a PDU that was not signed with the key just now."""
    tail = Tail.parse(data)
    blank = _TAIL.pack(tail.mode, tail.unix_s, bytes(_HASH_BYTES), tail.key_id, data[-3], 0)
    expected = hmac.digest(key, data[:-TAIL_BYTES] + blank, "sha256")
    if tail.mode != SIGNED or not hmac.compare_digest(expected, tail.digest):
        raise SealError("the digest is wrong")
    if abs(tail.unix_s - now_s) > WINDOW_S:
        raise SealTimeError(f"signed {abs(tail.unix_s - now_s)} s away from now")
