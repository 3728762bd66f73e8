"""A test double of the instrument's end of the link: carries requests out on words in memory. Models no instrument.

It is written from docs/fpga-link.md, not from the RTL, and is what link.sv is compared with.
"""

from collections.abc import Callable
from zlib import crc32


def stuffed(octets: bytes) -> bytes:
    whole = octets + crc32(octets).to_bytes(4, "little")
    return b"\x7e" + whole.replace(b"\x7d", b"\x7d\x5d").replace(b"\x7e", b"\x7d\x5e") + b"\x7e"


class WordBus:
    """Words by byte address; every access is noted. `reads` gives the value of addresses that are not mere memory."""

    def __init__(self) -> None:
        self.words: dict[int, int] = {0x0: 0x4B45_4953, 0x4: 3}
        self.accesses: list[tuple[str, int, int]] = []
        self.reads: dict[int, Callable[[], int]] = {}
        self.writes: dict[int, Callable[[int], None]] = {}

    def read(self, address: int) -> int:
        value = self.reads[address]() if address in self.reads else self.words.get(address, 0)
        self.accesses.append(("read", address, value))
        return value

    def write(self, address: int, value: int) -> None:
        self.accesses.append(("write", address, value))
        if address in self.writes:
            self.writes[address](value)
        else:
            self.words[address] = value


class InstrumentLink:
    """Bytes in, bytes out."""

    MOST_OCTETS = 6 + 4 * 256

    def __init__(self, bus: WordBus) -> None:
        self.bus = bus
        self.executed = 0
        self._piece = bytearray()
        self._last: tuple[int, bytes] | None = None

    def feed(self, data: bytes) -> bytes:
        """The bytes that the instrument answers."""
        answers = b""
        for byte in data:
            if byte != 0x7E:
                self._piece.append(byte)
                continue
            piece, self._piece = bytes(self._piece), bytearray()
            answers += self._frame(piece)
        return answers

    def _frame(self, piece: bytes) -> bytes:
        if piece.endswith(b"\x7d"):
            return b""
        octets = bytearray()
        escaped = False
        for byte in piece:
            if byte == 0x7D:
                escaped = True
            else:
                octets.append(byte ^ 0x20 if escaped else byte)
                escaped = False
        body, fcs = bytes(octets[:-4]), bytes(octets[-4:])
        if len(octets) < 4 or crc32(body).to_bytes(4, "little") != fcs:
            return b""
        return stuffed(self._request(body))

    def _request(self, body: bytes) -> bytes:
        sequence, opcode, last = (body + bytes(6))[:3]
        address = int.from_bytes((body + bytes(6))[3:6], "big")
        whole = 6 + (4 * (last + 1) if opcode & 1 else 0)
        if sequence and self._last and self._last[0] == sequence and len(body) == whole:
            return self._last[1]
        status, payload = 0, b""
        if len(body) != whole or opcode > 3 or address % 4 or address >= 1 << 20:
            status = 1
        else:
            self.executed += 1
            for i in range(last + 1):
                at = (address if opcode & 2 else address + 4 * i) % (1 << 20)
                if opcode & 1:
                    self.bus.write(at, int.from_bytes(body[6 + 4 * i : 10 + 4 * i], "big"))
                else:
                    payload += self.bus.read(at).to_bytes(4, "big")
        answer = bytes([sequence, opcode | 0x80, status, last]) + payload
        self._last = (sequence, answer)
        return answer


class DirectTransport:
    """A transport to an InstrumentLink, with a function that may damage the bytes of either direction."""

    def __init__(
        self,
        instrument: InstrumentLink,
        damage_request: Callable[[bytes], bytes] = lambda data: data,
        damage_answer: Callable[[bytes], bytes] = lambda data: data,
    ) -> None:
        self._instrument, self._damage_request, self._damage_answer = instrument, damage_request, damage_answer
        self._coming = bytearray()
        self.is_closed = False

    def write(self, data: bytes) -> None:
        self._coming += self._damage_answer(self._instrument.feed(self._damage_request(data)))

    def read(self, count: int, timeout_s: float) -> bytes:
        data = bytes(self._coming[:count])
        del self._coming[:count]
        return data

    def close(self) -> None:
        self.is_closed = True
