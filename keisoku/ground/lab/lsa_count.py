"""`LsaCount`: the LSAs in OSPFv2's packets that pass interfaces (RFC 2328, appendix A), which FRR does not count."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence

from keisoku.errors import EngineError
from keisoku.ground.lab.passing import Passing

ACKNOWLEDGEMENT = 0
"""The kind of a header in an acknowledgement; that of an LSA is its LS type."""
Kind = tuple[bool, int]
"""Whether it was sent, and of which LS type it is."""

_ETHERNET_BYTES, _HEADER_BYTES, _LSA_HEADER_BYTES = 14, 24, 20
_UPDATE, _ACKNOWLEDGE = 4, 5
_FILTER = (
    (0x28, 0, 0, 12),  # Ethernet type
    (0x15, 0, 7, 0x0800),
    (0x30, 0, 0, 23),  # IP protocol
    (0x15, 0, 5, 89),
    (0xB1, 0, 0, 14),  # length of the IP header
    (0x50, 0, 0, 15),  # type of the OSPF packet
    (0x35, 0, 2, _UPDATE),
    (0x25, 1, 0, _ACKNOWLEDGE),
    (0x06, 0, 0, 0xFFFF),
    (0x06, 0, 0, 0),
)
"""Classic BPF: updates and acknowledgements pass."""


class LsaCount:
    """Of interfaces of the calling thread's namespace, from now on. Raises EngineError if they cannot be watched."""

    def __init__(self, interfaces: Sequence[str]) -> None:
        self._counts: Counter[Kind] = Counter()
        self._is_whole = True
        self._watched: list[Passing] = []
        try:
            for name in interfaces:
                self._watched.append(Passing(name, _FILTER))
        except OSError as error:
            self.close()
            raise EngineError(f"OSPF's packets cannot be counted: {error}") from error

    def counts(self) -> Counter[Kind] | None:
        """How many passed until now; None if some cannot be known, because they came too fast or in pieces."""
        for one in self._watched:
            for was_sent, frame in one.frames():
                kinds = kinds_of(frame)
                self._is_whole = self._is_whole and kinds is not None
                self._counts.update((was_sent, kind) for kind in kinds or ())
            self._is_whole = not one.missed() and self._is_whole
        return self._counts if self._is_whole else None

    def close(self) -> None:
        """Twice is no error."""
        while self._watched:
            self._watched.pop().close()


def kinds_of(frame: bytes) -> list[int] | None:
    """The kinds of what a frame carries; None if it is a piece of a packet, or cut."""
    try:
        return list(_kinds(frame))
    except (struct.error, ValueError, IndexError):
        return None


def _kinds(frame: bytes) -> Iterator[int]:
    (pieces,) = struct.unpack_from(">H", frame, _ETHERNET_BYTES + 6)
    if pieces & 0x3FFF:
        raise ValueError("a piece")
    begin = _ETHERNET_BYTES + 4 * (frame[_ETHERNET_BYTES] & 0xF)
    _, kind, length = struct.unpack_from(">BBH", frame, begin)
    end = begin + length
    if end > len(frame):
        raise ValueError("cut")
    place = begin + _HEADER_BYTES
    if kind == _ACKNOWLEDGE:
        yield from [ACKNOWLEDGEMENT] * ((end - place) // _LSA_HEADER_BYTES)
    elif kind == _UPDATE:
        (count,) = struct.unpack_from(">I", frame, place)
        place += 4
        for _ in range(count):
            ls_type, own = frame[place + 3], int.from_bytes(frame[place + 18 : place + 20])
            if own < _LSA_HEADER_BYTES or place + own > end:
                raise ValueError("cut")
            yield ls_type
            place += own
