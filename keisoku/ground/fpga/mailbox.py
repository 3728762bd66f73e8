"""A port's mailbox of received frames, read over the link, and single frames to send. It never waits for a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from keisoku.ground.fpga.registers import REGISTERS

_WORD_BYTES = 4


class Words(Protocol):
    """The part of a link that a mailbox needs."""

    def read(self, address: int, words: int = 1) -> list[int]:
        """Words of 32 bit from a byte address on. Raises EngineError."""

    def write(self, address: int, words: int) -> None:
        """Writes one word. Raises EngineError."""


class PortMailbox:
    """Of one port, from 0; a neighbour.Mailbox. `send` sends a frame without FCS from this port."""

    def __init__(self, link: Words, port: int, send: Callable[[bytes], None]) -> None:
        self._link, self._send = link, send
        self._registers, self._memory = REGISTERS.port[port].receive, REGISTERS.mailbox[port]

    def receive(self) -> bytes | None:
        """The oldest unmarked frame that arrived whole and has not been received yet, without FCS; else None."""
        field = self._registers.mailbox.bytes
        frame_bytes = field.extract(self._link.read(field.address)[0])
        if frame_bytes == 0:
            return None
        words = self._link.read(self._memory.address, -(-frame_bytes // _WORD_BYTES))
        taken = self._registers.control.taken
        self._link.write(taken.address, taken.insert(1))
        return b"".join(word.to_bytes(_WORD_BYTES, "little") for word in words)[:frame_bytes]

    def send(self, frame: bytes) -> None:
        """Sends a frame without FCS once."""
        self._send(frame)
