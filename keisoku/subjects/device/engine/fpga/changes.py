"""What a device changed in headers, from an instrument's events and from the changed frames in its mailbox.

The instrument compares each header with one that is expected, by the remainder of the FCS after it, and reports the
frames that differ. It keeps some of these frames whole: they say what a digest stands for.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keisoku.errors import EngineError, PlanError
from keisoku.ground.fpga.events import Event, EventKind
from keisoku.ground.fpga.expectation import Header
from keisoku.ground.fpga.reading import Counted
from keisoku.ground.frame.payload import FCS_BYTES, SIGNATURE_BYTES, ones_complement_sum
from keisoku.subjects.device.engine.watched import Watched
from keisoku.subjects.device.record.changes import Kind, StreamChanges

MOST_BYTES = 1518
"""With FCS: longer frames do not fit into the mailbox."""
_WORD_BYTES = 8
"""As in `core/src/account/changes.rs`: the front of a frame is its header in whole words."""
_DIGEST_BITS = 16
_ZERO = (0, 0xFFFF)


@dataclass
class Comparison:
    """What one stream is expected to look like, and the changed frames that were seen whole, by their digest."""

    header: bytes
    frame_bytes: int
    """Without FCS."""
    variants: int
    fronts: dict[int, bytes] = field(default_factory=dict)

    @property
    def expected(self) -> Header:
        """As the receiver is told."""
        return Header(len(self.header), _remainder(self.header))

    def see(self, frames: Iterable[bytes]) -> None:
        """Keeps the first frame of each digest."""
        for frame in frames:
            digest = _remainder(frame[: len(self.header)]) % (1 << _DIGEST_BITS)
            self.fronts.setdefault(digest, frame)

    def is_intact(self, frame: bytes) -> bool:
        """Whether a frame of another length has the payload that was sent, behind a header that grew or shrank."""
        start = len(self.header) + len(frame) - self.frame_bytes
        return start >= 0 and ones_complement_sum(frame[start:]) in _ZERO

    def front(self, frame: bytes) -> bytes:
        """Its header in whole words."""
        whole = -(-len(self.header) // _WORD_BYTES) * _WORD_BYTES
        return frame[: min(whole + max(0, len(frame) - self.frame_bytes), len(frame) - SIGNATURE_BYTES)]


def comparisons(watched: Watched) -> list[Comparison]:
    """One for each stream. Raises PlanError for what the instrument cannot compare."""
    if watched.free_bits:
        problem = "the FPGA instrument compares whole headers, in which no field may become anything"
        remedy = "leave '=any' out, give the --gateway of each port, or use xdp, afxdp or packet ports"
        raise PlanError("expect", problem, remedy)
    found = []
    for table in watched.expected:
        frames = [table.frame(place) for place in range(table.count)]
        headers = {frame[: table.checked_from] for frame in frames}
        if len(headers) > 1:
            problem = (
                f"the FPGA instrument compares the headers of a stream with one header, and these are {len(headers)}"
            )
            raise PlanError("modifiers", problem, "leave them out, or use xdp, afxdp or packet ports")
        if len(frames[0]) + FCS_BYTES > MOST_BYTES:
            problem = f"the FPGA instrument shows the headers of changed frames up to {MOST_BYTES} byte"
            raise PlanError("frame size", problem, f"use at most {MOST_BYTES} byte")
        found.append(Comparison(headers.pop(), len(frames[0]), table.count))
    return found


@dataclass(frozen=True)
class Changed:
    """The changed frames of one stream."""

    facts: StreamChanges
    kinds: Mapping[tuple[int, int], int]
    """The kind of each of them, by its number and the time of its event."""
    intact: frozenset[int]
    """Kinds whose payload is as it was sent."""


def changed(
    own: Comparison, events: Sequence[Event], counted: Counted, dropped: int, relative: Callable[[int], int]
) -> Changed:
    """The account of a stream. `relative` converts a time of the instrument to one of the trial.

    Raises EngineError if changed frames were not told.
    """
    dropped += sum(event.last for event in events if event.kind is EventKind.DROPPED)
    if dropped:
        raise EngineError(
            f"changes: the instrument had no room for {dropped} events of changed or lost frames; "
            "declare what is expected with --expect, or use a shorter trial"
        )
    same = own.expected.digest % (1 << _DIGEST_BITS)
    alike: dict[tuple[int, bool], list[Event]] = {}
    for event in events:
        if event.kind in (EventKind.CHANGED, EventKind.CORRUPT):
            alike.setdefault((event.header, event.kind is EventKind.CORRUPT), []).append(event)
    kinds, numbers, intact = [], dict[tuple[int, int], int](), set[int]()
    for number, ((digest, is_corrupt), arrivals) in enumerate(alike.items(), start=1):
        frame = own.fronts.get(digest)
        if frame is not None and is_corrupt and len(frame) != own.frame_bytes and own.is_intact(frame):
            is_corrupt = False
        if not is_corrupt:
            intact.add(number)
        times = [relative(event.time_ns) for event in arrivals]
        numbers |= {(event.first, event.time_ns): number for event in arrivals}
        kinds.append(
            Kind(
                kind=number,
                sequence=arrivals[0].first,
                variant=arrivals[0].first % own.variants,
                corrupt=is_corrupt,
                same_front=is_corrupt and digest == same,
                frames=len(arrivals),
                first_received_ns=max(0, min(times)),
                last_received_ns=max(0, max(times)),
                length=None if frame is None else len(frame),
                front=None if frame is None else own.front(frame).hex(),
            )
        )
    compared = counted.forwarded_frames + counted.duplicated_frames + counted.late_frames + counted.corrupt_frames
    facts = StreamChanges(compared_frames=compared, changed_frames=len(numbers), further_frames=0, kinds=kinds)
    return Changed(facts, numbers, frozenset(intact))


def _remainder(header: bytes) -> int:
    """The register of the FCS behind these bytes, before its last inversion (IEEE 802.3 §3.2.9)."""
    return zlib.crc32(header) ^ 0xFFFF_FFFF
