"""Reads and writes the instrument's words over a transport, as in docs/fpga-link.md, without the meaning of registers.

A request without an answer is sent again with the same sequence number, by which the instrument recognises it: nothing
is ever read or written twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum, IntFlag
from types import TracebackType

from keisoku.errors import EngineError
from keisoku.ground.fpga.framing import FCS_OCTETS, Unframer, framed
from keisoku.ground.fpga.registers import REGISTERS
from keisoku.ground.fpga.transport import Transport, open_transport

MOST_WORDS = 256
WORD_BYTES = 4
ADDRESS_BITS = 20
LETTERS = 0x4B45_4953
VERSION = 3
ANSWER_OCTETS = 4


class Opcode(IntFlag):
    """What a request asks for."""

    READ = 0
    WRITE = 1
    FIXED = 2
    """All words at the same address."""
    ANSWER = 0x80


class Status(IntEnum):
    """The status of a request."""

    DONE = 0
    REFUSED = 1
    ERROR = 2
    SILENT = 3


_FAILURES = {
    Status.REFUSED: "refuses a request of this length or address",
    Status.ERROR: "reports an error",
    Status.SILENT: "has a block that does not answer",
}


def request(sequence: int, opcode: int, address: int, words: int, payload: Sequence[int] = ()) -> bytes:
    """The octets of a request, without framing."""
    header = bytes([sequence, opcode, words - 1]) + address.to_bytes(3, "big")
    return header + b"".join(word.to_bytes(WORD_BYTES, "big") for word in payload)


class Link:
    """The words of an instrument, by byte address. One request at a time; close it, or use it in `with`."""

    def __init__(self, transport: Transport, name: str, timeout_s: float = 0.5, tries: int = 5) -> None:
        """`timeout_s` is for one try of one request. Raises EngineError if no instrument answers there."""
        self.name = name
        self.retries = 0
        """Requests that had to be sent again."""
        self._transport, self._timeout_s, self._tries = transport, timeout_s, tries
        self._unframer = Unframer()
        self._sequence = 0  # never a repetition of an earlier host's request, which the instrument may remember
        self._check_instrument()

    @classmethod
    def open(cls, target: str, field: str = "target") -> Link:
        """A link to `/dev/ttyUSB0`, `/dev/ttyUSB0@3000000` or `127.0.0.1:7000`. Raises PlanError, EngineError."""
        transport = open_transport(target, field)
        try:
            return cls(transport, target)
        except BaseException:
            transport.close()
            raise

    def read(self, address: int, words: int = 1, *, fixed: bool = False) -> list[int]:
        """`words` words from `address` on, or all of them at `address` if `fixed`. Raises EngineError."""
        values: list[int] = []
        while len(values) < words:
            count = min(words - len(values), MOST_WORDS)
            at = address if fixed else address + WORD_BYTES * len(values)
            payload = self._carry_out(Opcode.FIXED if fixed else Opcode.READ, at, count)
            values += [int.from_bytes(payload[i : i + WORD_BYTES], "big") for i in range(0, len(payload), WORD_BYTES)]
        return values

    def write(self, address: int, words: int | Iterable[int], *, fixed: bool = False) -> None:
        """Writes one word or several from `address` on, or all of them to `address` if `fixed`. Raises EngineError."""
        values = [words] if isinstance(words, int) else list(words)
        opcode = Opcode.WRITE | Opcode.FIXED if fixed else Opcode.WRITE
        for start in range(0, len(values), MOST_WORDS):
            at = address if fixed else address + WORD_BYTES * start
            part = values[start : start + MOST_WORDS]
            self._carry_out(opcode, at, len(part), part)

    def close(self) -> None:
        """Closes the transport."""
        self._transport.close()

    def __enter__(self) -> Link:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_instrument(self) -> None:
        letters, version = self.read(REGISTERS.id.address, 2)
        if letters != LETTERS:
            raise EngineError(f"what answers at {self.name} is no keisoku instrument")
        if version != VERSION:
            raise EngineError(
                f"the instrument at {self.name} has register map {version}, this keisoku knows {VERSION}; "
                "build and flash the bitstream of this version"
            )

    def _carry_out(self, opcode: Opcode, address: int, words: int, payload: Sequence[int] = ()) -> bytes:
        if address % WORD_BYTES or not 0 <= address < 1 << ADDRESS_BITS:
            raise ValueError(f"{address:#x} is not the address of a word")
        frame = framed(request(self._sequence, opcode, address, words, payload))
        expected = bytes([self._sequence, opcode | Opcode.ANSWER])
        self._sequence = self._sequence % 255 + 1
        for attempt in range(self._tries):
            self.retries += attempt > 0
            self._transport.write(frame)
            answer = self._answer(expected, words, 0 if opcode & Opcode.WRITE else words)
            if answer is None:
                continue
            status = answer[2]
            if status != Status.DONE:
                failure = _FAILURES.get(Status(status)) if status in list(Status) else f"answers with status {status}"
                raise EngineError(f"the instrument at {self.name} {failure} at address {address:#x}")
            return answer[ANSWER_OCTETS:]
        raise EngineError(
            f"the instrument at {self.name} does not answer ({self._tries} tries); check its power, its bitstream "
            "and the rate"
        )

    def _answer(self, expected: bytes, words: int, read_words: int) -> bytes | None:
        """The answer that begins as expected; None if it has not arrived. Other answers belong to earlier tries."""
        whole = ANSWER_OCTETS + WORD_BYTES * read_words
        while True:
            data = self._transport.read(self._missing(whole), self._timeout_s)
            if not data:
                return None
            for answer in self._unframer.feed(data):
                if answer[:2] != expected or len(answer) < ANSWER_OCTETS or answer[3] != words - 1:
                    continue
                if answer[2] != Status.DONE or len(answer) == whole:
                    return answer

    def _missing(self, whole: int) -> int:
        """Bytes that must arrive before the answer can end. Escapes add bytes; asking for too many would block."""
        come = self._unframer.unfinished
        failed = len(come) > 2 and come[2] != Status.DONE
        known = len(come) >= ANSWER_OCTETS and not failed
        return max((whole if known else ANSWER_OCTETS) + FCS_OCTETS - len(come), 0) + 1
