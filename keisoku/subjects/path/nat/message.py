"""Datagrams between both ends of a look at a NAT, as bytes. They do no I/O.

Requests and answers have one length, so that the far end never sends more than twice what it was sent.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

MARK = b"kei-nat\n"
_REQUEST = struct.Struct("!8sQIIBBI22x")
_ANSWER = struct.Struct("!8sQIIBBQ16sH")
Address = tuple[str, int]
"""IP address and port."""


class MessageError(ValueError):
    """These bytes are no such datagram."""


class Action(IntEnum):
    """What the far end is asked to do."""

    OPEN = 1
    """Remember where this binding's datagram came from, and answer nothing."""
    ECHO = 2
    """Remember it, and answer from the socket that was sent to."""
    ASK = 3
    """Say to the asking binding what is remembered of `target`."""
    SEND = 4
    """Send from socket `far` to where `target` came from, and then say so to the asking binding."""
    SEND_TO = 5
    """The same to port `target` at the address of the asking binding."""


class DatagramType(IntEnum):
    """What a datagram to the near end is."""

    ECHO = 1
    COPY = 2
    """The one that a NAT may keep out."""
    TWIN = 3
    """Sent directly after the copy, to the binding that asked for it."""
    HAIRPIN = 4
    """From one binding of the near end to another."""


@dataclass(frozen=True)
class Request:
    """From the near end; `number` is that of this datagram."""

    token: int
    binding: int
    number: int
    action: Action
    far: int = 0
    target: int = 0

    def pack(self) -> bytes:
        """On the wire."""
        return _REQUEST.pack(MARK, self.token, self.binding, self.number, self.action, self.far, self.target)

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Raises MessageError."""
        try:
            mark, token, binding, number, action, far, target = _REQUEST.unpack(data)
            if mark == MARK:
                return cls(token, binding, number, Action(action), far, target)
        except (struct.error, ValueError) as error:
            raise MessageError(f"{len(data)} byte are no request") from error
        raise MessageError("the mark of a request is missing")


@dataclass(frozen=True)
class BindingReport:
    """To the near end, about `binding`; `number` is that of the request."""

    token: int
    binding: int
    number: int
    kind: DatagramType
    idle_ns: int = 0
    """How long the far end has heard nothing of that binding."""
    mapped: Address | None = None
    """Where that binding's last datagram came from; None if none came."""

    def pack(self) -> bytes:
        """On the wire."""
        address, port = self.mapped or ("", 0)
        packed = ipaddress.ip_address(address).packed if address else b""
        return _ANSWER.pack(
            MARK, self.token, self.binding, self.number, self.kind, len(packed), self.idle_ns, packed, port
        )

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Raises MessageError."""
        try:
            mark, token, binding, number, kind, length, idle_ns, packed, port = _ANSWER.unpack(data)
            if mark == MARK and length in (0, 4, 16):
                mapped = (str(ipaddress.ip_address(packed[:length])), port) if length else None
                return cls(token, binding, number, DatagramType(kind), idle_ns, mapped)
        except (struct.error, ValueError) as error:
            raise MessageError(f"{len(data)} byte are no answer") from error
        raise MessageError("the mark or the address of an answer is missing")
