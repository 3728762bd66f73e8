"""Lines of clocks to play into a receiver: (flags, rxd) pairs. Never judges what it makes."""

from __future__ import annotations

VALID, ERROR, STAMPED = 0x01, 0x02, 0x80
"""Bits of the flags; the third asks for the time of a clock."""
PREAMBLE = bytes([0x55] * 7)


class Line:
    """What a GMII carries, a clock after another; in halves of bytes if `nibbles`."""

    def __init__(self, *, nibbles: bool = False) -> None:
        self.nibbles = nibbles
        self.clocks = bytearray()

    def idle(self, clocks: int, data: int = 0, *, error: bool = False) -> None:
        """No carrier."""
        self.clocks += bytes((ERROR if error else 0, data)) * clocks

    def frame(
        self,
        data: bytes,
        *,
        gap: int = 12,
        preamble: bytes = PREAMBLE,
        errors: frozenset[int] = frozenset(),
        dribble: bool = False,
    ) -> None:
        """A gap in byte times, preamble, SFD and a frame; rx_er at `errors`, counted in bytes from the preamble on."""
        self.idle(gap * (2 if self.nibbles else 1))
        sent = preamble + b"\xd5" + data
        for at, octet in enumerate(sent):
            flags = VALID | (ERROR if at in errors else 0)
            if self.nibbles:
                self.clocks += bytes((flags, octet & 0xF, flags, octet >> 4))
            else:
                self.clocks += bytes((flags, octet))
        if dribble:
            self.clocks += bytes((VALID, 0x9))

    def raw(self, clocks: list[tuple[int, int, int]]) -> None:
        """Any (rx_dv, rx_er, rxd)."""
        for valid, error, data in clocks:
            self.clocks += bytes((valid | error << 1, data))

    def stamp(self, clock: int) -> None:
        """Asks for the time of a clock."""
        self.clocks[2 * clock] |= STAMPED

    def triples(self) -> list[tuple[int, int, int]]:
        """The same as the reference takes it."""
        flags, data = self.clocks[::2], self.clocks[1::2]
        return [(one & 1, one >> 1 & 1, octet) for one, octet in zip(flags, data, strict=True)]
