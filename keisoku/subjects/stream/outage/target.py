"""A service that answers by itself, as the user names it, and the bytes with which it is asked."""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from keisoku.errors import PlanError
from keisoku.subjects.path.stamp.packet import PORT as STAMP_PORT
from keisoku.subjects.path.stamp.packet import ReflectedPacket, SenderPacket, StampFormatError
from keisoku.subjects.stream.outage.grpc import HEALTH, call

Kind = Literal["icmp", "stamp", "dns", "tcp", "http", "grpc"]
FORMS = "icmp:HOST, stamp:HOST, dns:HOST, tcp:HOST:PORT, http://HOST/PATH or grpc://HOST:PORT/SERVICE/METHOD"
_PORTS = {"stamp": STAMP_PORT, "dns": 53, "http": 80, "icmp": 0}
_ECHO, _ECHO6 = (8, 0), (128, 129)
"""Types of a request and of its answer, by RFC 792 and RFC 4443."""
_ICMP = struct.Struct("!BBHHH")
_NUMBER = struct.Struct("!8sQ")
_MARK = b"keisoku\n"


@dataclass(frozen=True)
class Target:
    """What is asked, and where."""

    kind: Kind
    host: str
    port: int
    path: str = "/"

    @classmethod
    def parse(cls, text: str) -> Target:
        """Raises PlanError for a text of no known form."""
        if text.startswith(("http://", "grpc://")):
            return cls._of_url(text)
        kind, colon, rest = text.partition(":")
        if not colon or kind not in _PORTS.keys() | {"tcp"} or not rest:
            raise PlanError("target", f"'{text}' is no target", f"write {FORMS}")
        host, port = _host_and_port(rest)
        if port is None and kind == "tcp":
            raise PlanError("target", f"'{text}' has no port", "write tcp:HOST:PORT")
        return cls(kind, host, _PORTS[kind] if port is None else port)  # type: ignore[arg-type]

    @classmethod
    def _of_url(cls, text: str) -> Target:
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise PlanError("target", f"'{text}' is no address of a page: {error}", f"write {FORMS}") from error
        if not host:
            raise PlanError("target", f"'{text}' names no host", f"write {FORMS}")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if parts.scheme == "http":
            return cls("http", host, port or _PORTS["http"], path)
        if port is None:
            raise PlanError("target", f"'{text}' has no port", "write grpc://HOST:PORT/SERVICE/METHOD")
        if path.count("/") != 2 and path != "/":
            raise PlanError("target", f"'{path}' is no method", "write /SERVICE/METHOD, or nothing: Health/Check")
        return cls("grpc", host, port, HEALTH if path == "/" else path)

    @property
    def has_connections(self) -> bool:
        """Whether each question has a connection of its own."""
        return self.kind in ("tcp", "http", "grpc")

    def request(self) -> bytes:
        """What is sent on a connection; empty: it is enough that there is one."""
        if self.kind == "tcp":
            return b""
        named = f"[{self.host}]" if ":" in self.host else self.host
        if self.kind == "grpc":
            return call(f"{named}:{self.port}", self.path)
        lines = (f"GET {self.path} HTTP/1.1", f"Host: {named}:{self.port}", "User-Agent: keisoku", "Connection: close")
        return "\r\n".join((*lines, "", "")).encode()

    def datagram(self, number: int, identifier: int, ipv6: bool) -> bytes:
        """The question of this number."""
        match self.kind:
            case "stamp":
                return SenderPacket(number & 0xFFFF_FFFF, time.time_ns()).pack()
            case "dns":
                # The name servers of the root (RFC 1035 §4.1): what any server can say, or refuse.
                return struct.pack("!6H", number & 0xFFFF, 0x0100, 1, 0, 0, 0) + b"\0" + struct.pack("!2H", 2, 1)
        kind = (_ECHO6 if ipv6 else _ECHO)[0]
        content = _NUMBER.pack(_MARK, number)
        whole = _ICMP.pack(kind, 0, 0, identifier, number & 0xFFFF) + content
        checksum = 0 if ipv6 else _checksum(whole)
        return _ICMP.pack(kind, 0, checksum, identifier, number & 0xFFFF) + content

    def answered(self, data: bytes, newest: int, identifier: int, ipv6: bool) -> int | None:
        """The number of the question that these bytes answer; None: they answer none of ours."""
        match self.kind:
            case "stamp":
                try:
                    return _whole(ReflectedPacket.parse(data).sender_sequence, newest, 32)
                except StampFormatError:
                    return None
            case "dns":
                if len(data) < 12 or not data[2] & 0x80:
                    return None
                return _whole(int.from_bytes(data[:2], "big"), newest, 16)
        if not ipv6 and data[:1] and data[0] >> 4 == 4:  # a raw socket of IPv4 gives the header as well
            data = data[4 * (data[0] & 15) :]
        if len(data) < _ICMP.size + _NUMBER.size:
            return None
        kind, _, _, found, _ = _ICMP.unpack_from(data)
        mark, number = _NUMBER.unpack_from(data, _ICMP.size)
        ours = kind == (_ECHO6 if ipv6 else _ECHO)[1] and found == identifier and mark == _MARK
        return int(number) if ours and number <= newest else None


def _whole(low: int, newest: int, bits: int) -> int | None:
    """The newest number with these lowest bits."""
    number = newest - ((newest - low) % (1 << bits))
    return number if number >= 0 else None


def _host_and_port(text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") > 1:
        host, port = text, ""
    else:
        host, _, port = text.partition(":")
    if not port:
        return host, None
    if not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise PlanError("target", f"'{port}' is no port", "write a number from 1 to 65535")
    return host, int(port)


def _checksum(data: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
