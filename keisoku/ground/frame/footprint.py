"""The effect of one varying header field on the bytes of a frame: the field's own bits, and what each of them adds to
each checksum. It needs no knowledge of protocols: it builds frames by Scapy and compares them.

Every checksum of the Internet is a ones' complement sum (RFC 1071), so it changes by the sum of what
the single bits change (RFC 1624), however headers are nested, and whatever a pseudo-header holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keisoku.errors import PlanError
from keisoku.ground.frame import field as fields
from keisoku.ground.frame.headers import Headers

_CHECKSUM_NAMES = ("chksum", "cksum", "checksum")
_CHECKSUM_BITS = 16


@dataclass(frozen=True)
class Target:
    """A field of one layer of a stack."""

    name: str
    """As the user writes it: 'IP[2].dst'."""
    layer: Any
    field: str

    def set(self, number: int) -> None:
        """Puts a number, or the address that it stands for, into the field."""
        field = fields.plain(self.layer.get_field(self.field), self.layer)
        self.layer.setfieldval(self.field, fields.of_number(field, number))

    @contextmanager
    def set_to(self, number: int) -> Iterator[None]:
        """Sets the field for a while."""
        before = dict(self.layer.fields)
        self.set(number)
        try:
            yield
        finally:
            self.layer.fields.clear()
            self.layer.fields.update(before)


@dataclass(frozen=True)
class Checksum:
    """A 16-bit checksum that is not the user's own."""

    at: int
    """Its first byte in the frame."""
    never_zero: bool
    """In UDP zero means no checksum, so 0xFFFF is sent instead (RFC 768)."""


@dataclass(frozen=True)
class Footprint:
    """Position and effect of a field, bit by bit from the least significant."""

    byte: NDArray[np.intp]
    """The byte of the frame that holds each bit."""
    value: NDArray[np.uint8]
    """The value of the bit in that byte."""
    effects: NDArray[np.int64]
    """What the bit adds to each checksum, modulo 65535: bits by checksums."""


def checksums(headers: Headers) -> list[Checksum]:
    """Every checksum of a stack that Scapy computes. It leaves that of a UDP header zero, which means none, where the
    header below is not IP."""
    found = []
    whole = headers.frame(headers.least_frame_bytes)
    for layer in headers.layers:
        for described in layer.fields_desc:
            field = fields.plain(described, layer)
            name = str(described.name)
            if name not in _CHECKSUM_NAMES or layer.getfieldval(name) is not None:
                continue
            if fields.kind(field) != "number" or fields.width_bits(field, layer) != _CHECKSUM_BITS:
                continue
            target = Target(name, layer, name)
            with target.set_to(0):
                zeros = headers.frame(headers.least_frame_bytes)
            with target.set_to(0xFFFF):
                ones = headers.frame(headers.least_frame_bytes)
            changed = np.flatnonzero(np.frombuffer(zeros, np.uint8) != np.frombuffer(ones, np.uint8))
            if changed.size:
                # Checksums of the headers before it change as well; the field's own bytes are the last that change.
                one = Checksum(int(changed[-1]) - 1, type(layer).__name__ == "UDP")
                if not one.never_zero or any(whole[one.at : one.at + 2]):
                    found.append(one)
    return found


def measure(headers: Headers, target: Target, sums: list[Checksum]) -> Footprint:
    """The footprint of one field. Raises PlanError if the field cannot be varied by itself.

    All fields that vary must be zero in `headers`.
    """
    size = headers.least_frame_bytes
    base = headers.frame(size)
    own = np.ones(len(base), np.bool_)
    for checksum in sums:
        own[checksum.at : checksum.at + 2] = False
    before = values_at(base, sums)
    width = fields.width_bits(fields.plain(target.layer.get_field(target.field), target.layer), target.layer)
    at, worth, effects = [], [], []
    for bit in range(width):
        try:
            with target.set_to(1 << bit):
                changed = headers.frame(size)
        except PlanError as error:  # the headers would get longer, or Scapy refuses the value
            raise _inseparable(target, "changes the headers around it") from error
        difference = (np.frombuffer(base, np.uint8) ^ np.frombuffer(changed, np.uint8)) * own
        places = np.flatnonzero(difference)
        if places.size == 0:
            raise _inseparable(target, "does not occur in these headers")
        value = int(difference[places[0]])
        if places.size > 1 or value & (value - 1):
            raise _inseparable(target, "changes other bytes than its own and checksums")
        at.append(places[0])
        worth.append(value)
        effects.append((values_at(changed, sums) - before) % 0xFFFF)
    return Footprint(
        np.array(at, np.intp), np.array(worth, np.uint8), np.array(effects, np.int64).reshape(width, len(sums))
    )


def values_at(frame: bytes, sums: list[Checksum]) -> NDArray[np.int64]:
    """The checksums of a frame, which have no unit."""
    return np.array([int.from_bytes(frame[one.at : one.at + 2], "big") for one in sums], np.int64)


def _inseparable(target: Target, reason: str) -> PlanError:
    return PlanError("modify", f"{target.name} {reason}", "vary another field")
