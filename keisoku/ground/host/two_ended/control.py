"""Control of a two-ended measurement over TCP: a greeting with the protocol's version, then messages.

A message is a JSON object and a block of bytes, both with their length before them. It does not depend on the
measurement, and checks every length.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import struct
from typing import Any

from keisoku.errors import EngineError

PORT = 8620
GREETING = b"keisoku-path 1\n"
_LENGTHS = struct.Struct("!II")
_MOST_JSON = _MOST_BLOCK = 1 << 26


_ANSWER_S = 10.0


class ControlError(EngineError):
    """The other end is no keisoku, has another version of the protocol, or closed the connection."""


class Control:
    """One connection; `peer` is named in every error. `greeting` is 'keisoku-KIND VERSION', of 'keisoku KIND serve'."""

    def __init__(self, connection: socket.socket, peer: str, greeting: bytes = GREETING) -> None:
        self._socket, self.peer, self._greeting = connection, peer, greeting
        kind = greeting.split()[0].decode().removeprefix("keisoku-")
        self._is_none = f"is no keisoku {kind} server"
        self._remedy = f"start 'keisoku {kind} serve' there"
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def greet(self, timeout_s: float) -> None:
        """Both ends send a greeting first. Raises ControlError if the other is no keisoku of this version."""
        self._socket.settimeout(timeout_s)
        try:
            self._socket.sendall(self._greeting)
            got = self._exactly(len(self._greeting))
        except (OSError, ControlError) as error:
            raise ControlError(f"{self.peer} {self._is_none}: it sends no greeting; {self._remedy}") from error
        if got == self._greeting:
            return
        name, version = self._greeting.split()
        words = got.split()
        if words and words[0] == name:
            theirs = b" ".join(words[1:]).decode("ascii", "replace")
            raise ControlError(
                f"{self.peer} uses version {theirs} of the protocol, not {version.decode()};"
                " use the same keisoku at both ends"
            )
        raise ControlError(f"{self.peer} {self._is_none}: it sends {got[:12]!r} as greeting; {self._remedy}")

    def send(self, message: dict[str, Any], block: bytes = b"") -> None:
        """Raises ControlError if the connection was closed."""
        text = json.dumps(message).encode()
        try:
            self._socket.sendall(_LENGTHS.pack(len(text), len(block)) + text + block)
        except OSError as error:
            raise ControlError(
                f"{self.peer} closed the connection during the measurement: {error}; measure again"
            ) from error

    def receive(self, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """The next message. Raises ControlError if there is none, or if it reports an error of the other end."""
        self._socket.settimeout(timeout_s)
        try:
            json_bytes, block_bytes = _LENGTHS.unpack(self._exactly(_LENGTHS.size))
            if json_bytes > _MOST_JSON or block_bytes > _MOST_BLOCK:
                raise ControlError(
                    f"{self.peer} sent a message of {json_bytes + block_bytes} bytes, which is too long; measure again"
                )
            message = json.loads(self._exactly(json_bytes))
            block = self._exactly(block_bytes)
        except TimeoutError as error:
            raise ControlError(f"{self.peer} did not answer within {timeout_s:g} s; measure again") from error
        except (OSError, ValueError) as error:
            raise ControlError(
                f"{self.peer} closed the connection during the measurement: {error}; measure again"
            ) from error
        if not isinstance(message, dict):
            raise ControlError(f"{self.peer} sent an invalid message; measure again")
        if "error" in message:
            raise ControlError(f"{self.peer}: {message['error']}")
        return message, block

    def poll(self, wait_s: float) -> dict[str, Any] | None:
        """The next message, None if none begins to arrive in that time. Raises ControlError like `receive`."""
        ready, _, _ = select.select([self._socket], [], [], wait_s)
        return self.receive(_ANSWER_S)[0] if ready else None

    def ask(self, message: dict[str, Any], timeout_s: float = _ANSWER_S) -> tuple[dict[str, Any], bytes]:
        """Send and receive."""
        self.send(message)
        return self.receive(timeout_s)

    def abandon(self) -> None:
        """Called from another thread: ends the waiting for a message, which raises ControlError."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends the connection; twice is no error."""
        self._socket.close()

    def _exactly(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count > 0:
            part = self._socket.recv(min(count, 1 << 16))
            if not part:
                raise ControlError(f"{self.peer} closed the connection; measure again")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
