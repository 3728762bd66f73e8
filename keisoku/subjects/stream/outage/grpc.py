"""A unary call of gRPC without TLS: the bytes of the question, and what a service's bytes say about it.

The call has an empty message, in which every field has its default, on a connection of its own: HTTP/2 with prior
knowledge (RFC 9113 §3.3). This end lets the service compress no headers by reference (RFC 7541 §4.2), so that of those
only the spelling of 'grpc-status' has to be known.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

HEALTH = "/grpc.health.v1.Health/Check"
"""The standard method by which a service says whether it serves; its answer is 1 in field 1 if so."""
OK, UNIMPLEMENTED = 0, 12
OF_SERVICE = frozenset((2, 4, 12, 13, 14, 15))
"""Codes of google.rpc.Code that are a status of 500 or above in HTTP: the service did not do what it should."""
NOT_SERVING = -1
"""A service that answers, but says that it does not serve."""
_SERVING = b"\x08\x01"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _GO_AWAY, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 7, 8, 9
_ENDS_STREAM, _ENDS_HEADERS, _PADDED, _HAS_PRIORITY = 0x01, 0x04, 0x08, 0x20
_STREAM = 1
_MOST_FRAME = 1 << 14
_MOST_BLOCK = 1 << 16
_MOST_WINDOW = (1 << 31) - 1
_KEPT = 64
"""Bytes of an answer that are looked at."""


class GrpcFormatError(ValueError):
    """The other end does not speak HTTP/2, or breaks its rules."""


def call(authority: str, path: str) -> bytes:
    """All that is sent on a connection: settings, and the one call."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": authority,
        "te": "trailers",
        "content-type": "application/grpc",
        "user-agent": "keisoku",
    }
    block = b"".join(b"\0" + _string(name) + _string(value) for name, value in fields.items())
    # Of its headers' table nothing, nothing that nobody asked for, and answers of any length without a pause.
    settings = struct.pack("!HIHIHI", 1, 0, 2, 0, 4, _MOST_WINDOW)
    window = struct.pack("!I", _MOST_WINDOW - (1 << 16) + 1)
    return b"".join(
        (
            _PREFACE,
            _frame(_SETTINGS, 0, 0, settings),
            _frame(_WINDOW, 0, 0, window),
            _frame(_HEADERS, _ENDS_HEADERS, _STREAM, block),
            _frame(_DATA, _ENDS_STREAM, _STREAM, bytes(5)),
        )
    )


class GrpcAnswer:
    """Takes what comes on the connection of a call."""

    def __init__(self, path: str) -> None:
        self._path, self._rest, self._block, self._message = path, b"", b"", b""
        self._ends = False

    def receive(self, data: bytes) -> int | None:
        """The status of the call, or NOT_SERVING; None while it is not there. Raises GrpcFormatError."""
        self._rest += data
        while len(self._rest) >= 9:
            length = int.from_bytes(self._rest[:3], "big")
            kind, flags, stream = struct.unpack_from("!BBI", self._rest, 3)
            if length > _MOST_FRAME:
                raise GrpcFormatError("a frame is longer than was allowed")
            if len(self._rest) < 9 + length:
                return None
            content, self._rest = self._rest[9 : 9 + length], self._rest[9 + length :]
            status = self._frame(kind, flags, stream & _MOST_WINDOW, content)
            if status is not None:
                return NOT_SERVING if status == OK and not self._serves() else status
        return None

    def _serves(self) -> bool:
        return self._path != HEALTH or self._message[5 : 5 + len(_SERVING)] == _SERVING

    def _frame(self, kind: int, flags: int, stream: int, content: bytes) -> int | None:
        if kind == _GO_AWAY and int.from_bytes(content[:4], "big") & _MOST_WINDOW < _STREAM:
            raise GrpcFormatError("the service ends the connection")
        if stream != _STREAM:
            return None
        if kind == _RESET:
            raise GrpcFormatError("the service ends the call")
        if kind in (_HEADERS, _DATA) and flags & _PADDED:
            content = content[1 : max(1, len(content) - content[0])] if content else b""
        if kind == _DATA:
            self._message = (self._message + content)[:_KEPT]
            if flags & _ENDS_STREAM:
                raise GrpcFormatError("the answer has no status")
            return None
        if kind not in (_HEADERS, _CONTINUATION):
            return None
        if kind == _HEADERS:
            self._block, self._ends = content[5 if flags & _HAS_PRIORITY else 0 :], bool(flags & _ENDS_STREAM)
        else:
            self._block += content
        if len(self._block) > _MOST_BLOCK:
            raise GrpcFormatError("the headers are too long")
        if not flags & _ENDS_HEADERS:
            return None
        status = next((_STATUSES[value] for name, value in _fields(self._block) if name in _NAMES), None)
        if status is None and self._ends:
            raise GrpcFormatError("the answer has no status")
        return status


def _fields(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Names and values of literal fields as they are spelled, each behind the bit of Huffman's code (RFC 7541 §6)."""
    place = 0
    try:
        while place < len(block):
            first = block[place]
            bits = 7 if first & 0x80 else 6 if first & 0x40 else 5 if first & 0x20 else 4
            index, place = _integer(block, place, bits)
            if bits in (7, 5):  # a field of the static table, or a size of the other one
                continue
            name = b""
            if not index:
                name, place = _spelled(block, place)
            value, place = _spelled(block, place)
            if name in _NAMES and value not in _STATUSES:
                raise GrpcFormatError("the status is no number")
            yield name, value
    except IndexError as error:
        raise GrpcFormatError("the headers end too early") from error


def _spelled(block: bytes, place: int) -> tuple[bytes, int]:
    coded = block[place] & 0x80
    length, place = _integer(block, place, 7)
    if place + length > len(block):
        raise IndexError
    return bytes((coded,)) + block[place : place + length], place + length


def _integer(block: bytes, place: int, bits: int) -> tuple[int, int]:
    """RFC 7541 §5.1."""
    most = (1 << bits) - 1
    value, place = block[place] & most, place + 1
    if value < most:
        return value, place
    for shift in range(0, 28, 7):
        byte = block[place]
        value, place = value + ((byte & 0x7F) << shift), place + 1
        if not byte & 0x80:
            return value, place
    raise GrpcFormatError("a number in the headers is too large")


def _string(text: str) -> bytes:
    data = text.encode()
    length, head = len(data), b""
    if length < 127:
        return bytes((length,)) + data
    length -= 127
    while length >= 128:
        head += bytes((length & 0x7F | 0x80,))
        length >>= 7
    return b"\x7f" + head + bytes((length,)) + data


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return len(content).to_bytes(3, "big") + struct.pack("!BBI", kind, flags, stream) + content


_CODES = {
    **{"0": "00000", "1": "00001", "2": "00010", "3": "011001", "4": "011010", "5": "011011", "6": "011100"},
    **{"7": "011101", "8": "011110", "9": "011111", "-": "010110", "a": "00011", "c": "00101", "g": "100110"},
    **{"p": "101011", "r": "101100", "s": "01000", "t": "01001", "u": "101101"},
}
"""Of RFC 7541 Appendix B, what a status needs."""


def _both_ways(text: str) -> tuple[bytes, bytes]:
    """A text as it may be spelled, with the bit that says so."""
    bits = "".join(_CODES[one] for one in text)
    bits += "1" * (-len(bits) % 8)
    return b"\0" + text.encode(), b"\x80" + int(bits, 2).to_bytes(len(bits) // 8, "big")


_NAMES = frozenset(_both_ways("grpc-status"))
_STATUSES = {spelled: status for status in range(17) for spelled in _both_ways(str(status))}
