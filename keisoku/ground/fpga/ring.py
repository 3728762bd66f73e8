"""Reads the events that the instrument keeps in its memory: records of the ring, and bitmaps of lost numbers.

It interprets no event. Each record is checked to have been read consistently; docs/fpga-link.md has the layout.
"""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.errors import EngineError
from keisoku.ground.fpga.events import Event, EventKind, decode_event
from keisoku.ground.fpga.link import Link
from keisoku.ground.fpga.registers import REGISTERS

_RECORD_WORDS = 5
_PAGE_WORDS = 1024
_ROUND = 1 << 32
_SERIALS = 4096
_BITMAP_EIGHTHS = (6, 7)
"""Where the bitmaps of both ports begin, in eighths of the memory; the ring is before them."""


class Ring:
    """The events of both ports since `clear`."""

    def __init__(self, link: Link) -> None:
        self._link = link
        memory = REGISTERS.memory
        self._words = link.read(memory.words.address)[0]
        self._records = link.read(memory.capacity.address)[0]
        self._taken = 0
        self._page: int | None = None

    def clear(self) -> None:
        """Forgets all events and begins to keep new ones."""
        memory = REGISTERS.memory
        self._link.write(memory.control.address, [0])
        self._link.write(memory.control.address, [memory.control.clear.insert(1)])
        self._link.write(memory.taken.address, [0])
        self._taken = 0
        self._link.write(memory.control.address, [memory.control.enable.insert(1)])

    @property
    def capacity(self) -> int:
        """Records that the ring holds."""
        return self._records

    def look(self, records: int) -> None:
        """Reads the words of so many records to measure the time that it takes."""
        self._read(0, records * _RECORD_WORDS)

    @property
    def idle(self) -> bool:
        """True if no event is on its way into the memory."""
        memory = REGISTERS.memory
        return bool(memory.status.idle.extract(self._link.read(memory.status.address)[0]))

    def drain(self) -> list[tuple[int, Event]]:
        """The records since the last call, each with its port. Raises EngineError if one was overwritten."""
        memory = REGISTERS.memory
        written = self._link.read(memory.written.address)[0]
        count = (written - self._taken) % _ROUND
        if count > self._records:
            raise EngineError("the instrument's ring was overwritten before it was read")
        found = []
        while count:
            place = self._taken % self._records
            some = min(count, self._records - place, 200)
            words = self._read(place * _RECORD_WORDS, some * _RECORD_WORDS)
            for number in range(some):
                record = b"".join(
                    word.to_bytes(4, "big") for word in words[number * _RECORD_WORDS : (number + 1) * _RECORD_WORDS]
                )
                mark = int.from_bytes(record[:2], "big")
                if mark % _SERIALS != (self._taken + number) % _SERIALS:
                    raise EngineError(
                        f"the instrument's event {self._taken + number} was overwritten while it was read"
                    )
                found.append((mark >> 12, decode_event(record[2:])))
            self._taken = (self._taken + some) % _ROUND
            count -= some
            self._link.write(memory.taken.address, [self._taken])
        return found

    def lost_in_bitmaps(self) -> list[tuple[int, Event]]:
        """Lost numbers that went to the bitmaps because they were too many, as LOST events without a time."""
        memory = REGISTERS.memory
        status = self._link.read(memory.status.address)[0]
        found: list[tuple[int, Event]] = []
        for port, eighth in enumerate(_BITMAP_EIGHTHS):
            if not memory.status.bitmap.extract(status) >> port & 1:
                continue
            registers = memory.bitmap[port]
            first_high, first_low, end_high, end_low = self._link.read(registers.first_high.address, 4)
            first, end = first_high << 32 | first_low, end_high << 32 | end_low
            aligned = first // 32 * 32
            words = self._read(self._words // 8 * eighth, -(-(end - aligned) // 32)) if end > first else []
            set_words = [(aligned + 32 * place, word) for place, word in enumerate(words) if word]
            numbers = [number + bit for number, word in set_words for bit in range(32) if word >> bit & 1]
            found += [(port, one) for one in _intervals([number for number in numbers if first <= number < end])]
        return found

    def _read(self, word: int, count: int) -> list[int]:
        """Words of the memory, through the window of a page."""
        found: list[int] = []
        while count:
            page, place = divmod(word, _PAGE_WORDS)
            if page != self._page:
                self._link.write(REGISTERS.memory.page.address, [page])
                self._page = page
            some = min(count, _PAGE_WORDS - place)
            found += self._link.read(REGISTERS.window.address + 4 * place, some)
            word, count = word + some, count - some
        return found


def _intervals(numbers: Sequence[int]) -> list[Event]:
    found: list[Event] = []
    for number in numbers:
        if found and found[-1].last + 1 == number:
            found[-1] = Event(EventKind.LOST, 0, found[-1].first, number)
        else:
            found.append(Event(EventKind.LOST, 0, number, number))
    return found
