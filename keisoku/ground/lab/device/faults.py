"""`Faults`: which frames the `faulty` device changes or drops; `Applied`: what it actually did. Plain values."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, fields
from typing import Self

from pydantic import model_validator

from keisoku.errors import PlanError
from keisoku.frozen import Frozen

SEQUENCES = 1 << 48
"""Sequence numbers are 48 bits wide (docs/signature)."""
MOST_PATCHES = 64
"""What its program can write into one frame (core/bpf/faulty.c)."""


class Faults(Frozen):
    """Frames chosen by sequence number, in every stream or in one.

    `corrupt` holds pairs (sequence, byte from the end): 1 is the last byte of the frame without its
    FCS, 18 the first of the signature. A swap of n exchanges n with the next frame of its stream.
    """

    drop: tuple[int, ...] = ()
    duplicate: tuple[int, ...] = ()
    swap: tuple[int, ...] = ()
    corrupt: tuple[tuple[int, int], ...] = ()
    rewrite: tuple[tuple[int, tuple[int, tuple[tuple[int, int], ...]]], ...] = ()
    """Sequence numbers, each with what `patches` gives."""
    stream: int | None = None
    flip: int = 1
    """The bits that are flipped in the byte to corrupt."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Raises PlanError for faults that the device could not apply as given."""
        harmed = [*self.drop, *self.duplicate, *self.swap, *(sequence for sequence, _ in self.corrupt)]
        harmed += [sequence for sequence, _ in self.rewrite]
        # The frame after a swapped one takes part in the swap, so it can have no other fault.
        taken = [*harmed, *(sequence + 1 for sequence in self.swap)]
        twice = [sequence for sequence, count in Counter(taken).items() if count > 1]
        if twice:
            problem = f"frame {min(twice)} would have two faults"
            raise PlanError("faults", problem, "give each frame, and each frame after a swapped one, only one fault")
        if any(not 0 <= sequence < SEQUENCES for sequence in harmed):
            raise PlanError("faults", "a sequence number is below 0 or above 48 bits", "count from 0")
        if any(place < 1 for _, place in self.corrupt):
            raise PlanError("faults", "a byte to corrupt is not in the frame", "1 means the frame's last byte")
        if not 1 <= self.flip <= 0xFF:
            raise PlanError("faults", f"flip is {self.flip}", "give the bits to flip as 1 to 255")
        if self.stream is not None and not 0 <= self.stream <= 0xFFFF:
            raise PlanError("faults", f"stream {self.stream} does not exist", "give 0 to 65535, or none for all")
        return self

    def to_json(self) -> str:
        """The faults in the form that `keisoku._core.Faulty` takes."""
        plain = [("drop", self.drop), ("duplicate", self.duplicate), ("swap", self.swap)]
        faults: list[dict[str, object]] = [
            {"stream": self.stream, "sequence": sequence, "action": action}
            for action, sequences in plain
            for sequence in sequences
        ]
        faults += [
            {
                "stream": self.stream,
                "sequence": sequence,
                "action": "corrupt",
                "byte_from_end": place,
                "flip": self.flip,
            }
            for sequence, place in self.corrupt
        ]
        faults += [
            {"stream": self.stream, "sequence": sequence, "action": "rewrite", "grow": grow, "patches": written}
            for sequence, (grow, written) in self.rewrite
        ]
        return json.dumps(faults)


def patches(before: bytes, after: bytes) -> tuple[int, tuple[tuple[int, int], ...]]:
    """What makes the headers `after` of `before`, for `Faults.rewrite`: how many bytes are added in front, and those
    that are then written. Raises PlanError for headers that become shorter, or differ in too many bytes."""
    grow = len(after) - len(before)
    if grow < 0:
        raise PlanError("faults", "the faulty device makes no header shorter", "give one that is not")
    moved = bytes(grow) + before
    places = [place for place in range(len(after)) if place < grow or moved[place] != after[place]]
    if len(places) > MOST_PATCHES:
        problem = f"the faulty device writes {MOST_PATCHES} bytes of a frame at most, not {len(places)}"
        raise PlanError("faults", problem, "change less of it")
    return grow, tuple((place, after[place]) for place in places)


ALL_STREAMS = (1 << 64) - 1


@dataclass(frozen=True)
class Outage:
    """The `faulty` device loses every frame of some streams from one time to another (CLOCK_MONOTONIC)."""

    from_ns: int
    to_ns: int
    first_stream: int = 0
    last_stream: int = ALL_STREAMS


@dataclass(frozen=True)
class Rule:
    """Of a stream, the `faulty` device rewrites one frame in `every` from `first` on, by what `patches` gives."""

    stream: int
    first: int
    every: int
    grow: int
    patches: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Applied:
    """What the `faulty` device did to the frames of one stream, or of all: counts of frames."""

    seen: int = 0
    """Frames with a signature that reached the device."""
    dropped: int = 0
    duplicated: int = 0
    swapped: int = 0
    corrupted: int = 0
    rewritten: int = 0
    held: int = 0
    """Held for a swap, but no frame of the stream came after it: lost."""
    failed: int = 0
    """Intended, but refused by the kernel: what happened to these frames is unknown."""

    def __add__(self, other: Applied) -> Applied:
        pairs = ((field.name, getattr(self, field.name) + getattr(other, field.name)) for field in fields(self))
        return Applied(**dict(pairs))
