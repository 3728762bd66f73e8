"""Frames to send, as words for the memories of a generator. Talks to no hardware and knows no protocol.

A header slot serves frames of several sizes: only 16-bit words depend on the size, and linearly: lengths, and checksums
in ones' complement (RFC 1071). They are found by comparing headers, and a slot is used only if it reproduces every
header, byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from keisoku.errors import PlanError
from keisoku.ground.frame.payload import FCS_BYTES, SIGNATURE_BYTES

ENTRIES = 1024
SLOTS = 32
SLOT_BYTES = 128
PATCHES = 8
"""Of a slot."""
MOST_FRAME_BYTES = 16_383 + FCS_BYTES
MAILBOX_BYTES = 2048
"""Before the FCS."""
LEAST_GAP_BYTES = 8
PROGRAM_AT, HEADERS_AT, MAILBOX_AT, PATCHES_AT = 0x0000, 0x2000, 0x3000, 0x3800
"""Byte addresses within the generator's memory."""

_WEIGHTS = (1, 2, 3, 4, 5, 6, 7, -1, -2, -3, -4, -5, -6, -7, -8)
_STAMPED_BYTES = 14
"""The signature cannot begin earlier: its time is not known yet."""
_MOST_INTERVAL = 2**64
_FRACTIONS = 2**32

Defect = Literal["undersize", "crc", "dribble", "alignment"]
Write = tuple[int, list[int]]
"""Byte address within the generator's memory, and words of 32 bit from there on."""


@dataclass(frozen=True)
class PlannedFrame:
    """A frame that the program must send."""

    header: bytes
    """All bytes before the payload, with lengths and checksums for this size."""
    frame_bytes: int
    """With FCS."""
    gap_bytes: int = 12
    """Byte times from the end of its FCS to the next preamble; with scheduled starts, at least."""
    defect: Defect | None = None
    marked: bool = True
    """True: it ends with a signature; false: with 18 zero bytes, and it has no sequence number."""


@dataclass(frozen=True)
class Patch:
    """A word of the header that depends on the size."""

    offset: int
    constant: int
    weight: int
    """Factor of the frame's bytes before the FCS; -8 to 7, not 0. That of a checksum is negative."""
    zero: bool
    """Zero is written as 0x0000, as in IPv4; else as its other form, as in UDP (RFC 768)."""

    def value(self, length: int) -> int:
        """What the hardware writes into a frame of `length` bytes before the FCS."""
        return (self.constant + self.weight * length) % 0xFFFF or (0 if self.zero else 0xFFFF)

    @property
    def word(self) -> int:
        """As `patch_t` of transmit_pkg.sv."""
        return 1 << 28 | self.zero << 27 | self.offset << 20 | (self.weight & 0xF) << 16 | self.constant


@dataclass(frozen=True)
class Slot:
    """A header of any size."""

    header: bytes
    patches: tuple[Patch, ...] = ()

    def patched_header(self, length: int) -> bytes:
        """The header of a frame of `length` bytes before the FCS."""
        found = bytearray(self.header)
        for patch in self.patches:
            found[patch.offset : patch.offset + 2] = patch.value(length).to_bytes(2, "big")
        return bytes(found)

    @property
    def header_words(self) -> list[int]:
        """The first byte is the lowest of the first word."""
        return _words(self.header.ljust(SLOT_BYTES, b"\0"))

    @property
    def patch_words(self) -> list[int]:
        """In the order of their offsets; zero where there is none."""
        words = [patch.word for patch in self.patches]
        return words + [0] * (PATCHES - len(words))


@dataclass(frozen=True)
class Program:
    """The frames that a generator sends in turn, repeatedly."""

    frames: tuple[PlannedFrame, ...]
    slots: tuple[Slot, ...]
    slot_of: tuple[int, ...]
    """For each frame."""

    @property
    def last_entry(self) -> int:
        """For the register of this name."""
        return len(self.frames) - 1

    @property
    def writes(self) -> list[Write]:
        """All that the memory must hold."""
        entries = [
            word
            for frame, slot in zip(self.frames, self.slot_of, strict=True)
            for word in (_entry(frame, slot, len(self.slots[slot].header)), frame.gap_bytes)
        ]
        headers = [word for slot in self.slots for word in slot.header_words]
        patches = [word for slot in self.slots for word in slot.patch_words]
        return [(PROGRAM_AT, entries), (HEADERS_AT, headers), (PATCHES_AT, patches)]


def encode(frames: Sequence[PlannedFrame]) -> Program:
    """The program that sends these frames in turn. Raises PlanError if they do not fit into the generator's memory."""
    if not 1 <= len(frames) <= ENTRIES:
        problem = f"sizes, headers and gaps repeat after {len(frames)} frames, and a program has {ENTRIES} entries"
        raise PlanError("frame size", problem, "use fewer sizes, values or gaps, or counts that divide each other")
    for frame in frames:
        _check(frame)
    wanted = [_Wanted(frame.frame_bytes - FCS_BYTES, _header(frame)) for frame in frames]
    groups: list[_Group] = []
    place: dict[_Wanted, int] = {}
    for one in dict.fromkeys(wanted):
        taken_by = next((number for number, group in enumerate(groups) if group.takes(one)), len(groups))
        if taken_by == len(groups):
            groups.append(_Group(one))
        place[one] = taken_by
    if len(groups) > SLOTS:
        problem = f"the instrument holds {SLOTS} different headers, and this stream has {len(groups)}"
        raise PlanError("modify", problem, "use fewer values, or a software engine")
    return Program(tuple(frames), tuple(group.slot for group in groups), tuple(place[one] for one in wanted))


def interval(byte_times: Fraction) -> tuple[int, int]:
    """From one scheduled start to the next, as whole byte times and 2^-32 of one. Raises PlanError if too long."""
    number = round(byte_times * _FRACTIONS)
    if not 0 < number < _MOST_INTERVAL:
        problem = f"{float(byte_times):g} byte times between frames or bursts are too many"
        raise PlanError("rate", problem, "use a rate of at least one frame in 34 s at 1 Gb/s")
    return divmod(number, _FRACTIONS)


def mailbox(frame: bytes) -> Write:
    """A single frame of any content, without its FCS. Raises PlanError if it is too long."""
    if not 1 <= len(frame) <= MAILBOX_BYTES:
        raise PlanError(
            "frame size", f"a single frame of {len(frame)} byte cannot be sent", f"use 1 to {MAILBOX_BYTES}"
        )
    return MAILBOX_AT, _words(frame)


@dataclass(frozen=True)
class _Wanted:
    """A header that a slot must make for a length."""

    length: int
    header: bytes


class _Group:
    """Headers that one slot makes."""

    def __init__(self, first: _Wanted) -> None:
        self.members = [first]
        self.slot = Slot(first.header)

    def takes(self, one: _Wanted) -> bool:
        """Whether a slot can make this header and those in the group; if so, it is added to the group."""
        if len(one.header) != len(self.slot.header):
            return False
        if self.slot.patched_header(one.length) != one.header:
            slot = _fit([*self.members, one])
            if slot is None:
                return False
            self.slot = slot
        self.members.append(one)
        return True


def _fit(members: Sequence[_Wanted]) -> Slot | None:
    headers = {one.length: one.header for one in members}
    if any(headers[one.length] != one.header for one in members):
        return None
    base = members[0].header
    differ = sorted({at for one in members for at in range(len(base)) if one.header[at] != base[at]})
    for patches in _covers(members, differ, 0):
        slot = Slot(base, patches)
        if all(slot.patched_header(one.length) == one.header for one in members):
            return slot
    return None


def _covers(members: Sequence[_Wanted], differ: Sequence[int], free_from: int) -> Iterator[tuple[Patch, ...]]:
    """Ways to make every byte that differs part of a patch, from `free_from` on."""
    if not differ:
        yield ()
        return
    # In a length perhaps only the lower byte differs.
    starts = (differ[0], differ[0] - 1) if differ[0] + 1 in differ else (differ[0] - 1, differ[0])
    for start in starts:
        patch = _patch(members, start) if free_from <= start <= len(members[0].header) - 2 else None
        if patch is not None:
            rest = [at for at in differ if at > start + 1]
            for others in _covers(members, rest, start + 2):
                if len(others) < PATCHES:
                    yield (patch, *others)


def _patch(members: Sequence[_Wanted], offset: int) -> Patch | None:
    values = [(one.length, int.from_bytes(one.header[offset : offset + 2], "big")) for one in members]
    length, value = values[0]
    for weight in _WEIGHTS:
        for zero in (False, True):
            patch = Patch(offset, (value - weight * length) % 0xFFFF, weight, zero)
            if all(patch.value(at) == word for at, word in values):
                return patch
    return None


def _check(frame: PlannedFrame) -> None:
    if not FCS_BYTES < frame.frame_bytes <= MOST_FRAME_BYTES:
        raise PlanError("frame size", f"{frame.frame_bytes} byte cannot be sent", f"use 64 to {MOST_FRAME_BYTES}")
    if not LEAST_GAP_BYTES <= frame.gap_bytes < 2**32:
        problem = f"a gap of {frame.gap_bytes} byte times cannot be sent"
        raise PlanError("gap", problem, f"use {LEAST_GAP_BYTES} to {2**32 - 1}")
    if not 1 <= len(frame.header) <= SLOT_BYTES:
        problem = f"headers of {len(frame.header)} byte do not fit into {SLOT_BYTES}"
        raise PlanError("headers", problem, "use a shorter stack")
    before = _STAMPED_BYTES if frame.defect == "undersize" else max(_STAMPED_BYTES, len(frame.header))
    least = before + SIGNATURE_BYTES + FCS_BYTES
    if frame.marked and frame.frame_bytes < least:
        problem = f"{frame.frame_bytes} byte are too few for the signature and headers of {len(frame.header)} byte"
        raise PlanError("frame size", problem, f"use at least {least}")


def _header(frame: PlannedFrame) -> bytes:
    """In an undersize frame the signature replaces the bytes that do not fit."""
    room = frame.frame_bytes - FCS_BYTES - (SIGNATURE_BYTES if frame.marked else 0)
    return frame.header[: max(1, room)]


def _entry(frame: PlannedFrame, slot: int, header_bytes: int) -> int:
    """The lower half of `entry_t` of transmit_pkg.sv."""
    flags = (
        frame.marked << 27
        | (frame.defect in ("crc", "alignment")) << 28
        | (frame.defect in ("dribble", "alignment")) << 29
    )
    return flags | header_bytes << 19 | slot << 14 | (frame.frame_bytes - FCS_BYTES)


def _words(bytes_: bytes) -> list[int]:
    padded = bytes_ + bytes(-len(bytes_) % 4)
    return [int.from_bytes(padded[at : at + 4], "little") for at in range(0, len(padded), 4)]
