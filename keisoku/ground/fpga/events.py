"""The instrument's events in the format of its memory, 18 bytes each, and as Python values.

It does no I/O and never interprets an event: only with all events can one decide what corrupt and late arrivals mean
for losses.
"""

from dataclasses import dataclass
from enum import IntEnum

from keisoku.errors import EngineError

EVENT_BYTES = 18

_NUMBER_BITS = 48
_TIME_BITS = 44
_LATENCY_BITS = 32
"""Of a latency beside a digest."""
_TIME_STEP_NS = 16


class EventKind(IntEnum):
    """Kinds of events; the values are those of `event_kind_t` in fpga/rtl/instrument_pkg.sv."""

    LOST = 0
    """The numbers `first` to `last` left the window without having arrived."""
    DUPLICATED = 1
    """`first` arrived again."""
    REORDERED = 2
    """`first` arrived after a greater number."""
    LATE = 3
    """`first` arrived after it had left the window: it is no longer lost, or it is a duplicate."""
    CORRUPT = 4
    """A frame with wrong bytes has the number `first`."""
    FRAME = 5
    """Frame `first` was sampled or triggered on; see `latency_ns`."""
    DROPPED = 6
    """`last` events were dropped for lack of room."""
    CHANGED = 7
    """`first` arrived whole with another header than expected; see `header` and `latency_ns`."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `time_ns` is the arrival that led to it, on the instrument's clock modulo 2^48, rounded down to 16 ns;
    for LOST the arrival that pushed the first number out of the window."""

    kind: EventKind
    time_ns: int
    first: int
    last: int

    @property
    def frames(self) -> int:
        """How many numbers a LOST event covers; of other kinds, 1."""
        return self.last - self.first + 1 if self.kind is EventKind.LOST else 1

    @property
    def header(self) -> int:
        """The digest of 16 bits of the header of a CHANGED or CORRUPT event."""
        return self.last >> _LATENCY_BITS

    @property
    def latency_ns(self) -> int:
        """The latency of a FRAME, CHANGED or CORRUPT event in ns; below zero where two ports' calibrations disagree."""
        bits = _NUMBER_BITS if self.kind is EventKind.FRAME else _LATENCY_BITS
        value = self.last % (1 << bits)
        return value - (value >> (bits - 1) << bits)


def decode_event(octets: bytes) -> Event:
    """The event in 18 bytes. Raises EngineError for another length or a kind that does not exist."""
    if len(octets) != EVENT_BYTES:
        raise EngineError(f"the instrument's event memory: an event has {EVENT_BYTES} bytes, not {len(octets)}")
    word = int.from_bytes(octets, "big")
    number_mask = (1 << _NUMBER_BITS) - 1
    last = word & number_mask
    first = word >> _NUMBER_BITS & number_mask
    time = word >> 2 * _NUMBER_BITS & ((1 << _TIME_BITS) - 1)
    kind = word >> 2 * _NUMBER_BITS + _TIME_BITS
    if kind > max(EventKind):
        raise EngineError(f"the instrument's event memory: there is no event of kind {kind}")
    return Event(EventKind(kind), time * _TIME_STEP_NS, first, last)
