"""The frames of a stream, made in advance: frame n of the stream is variant n modulo their number.

Scapy builds one frame a size; the fields that vary, and the checksums over them, are then written
into all copies at once. The result is compared with Scapy's own frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import lcm

import numpy as np
from numpy.typing import NDArray

from keisoku.errors import PlanError
from keisoku.ground.frame.footprint import Checksum, Footprint, Target, checksums, measure, values_at
from keisoku.ground.frame.headers import Ends, Headers
from keisoku.ground.frame.modifier import MOST_VALUES, Modifier, modifiers, target_of
from keisoku.ground.frame.payload import FCS_BYTES
from keisoku.ground.frame.stack import parse
from keisoku.ground.statistics.seed import DEFAULT

MOST_VARIANTS = MOST_VALUES
"""Largest number of variants of all streams of a port."""
MOST_BYTES = 16 * 2**20
"""Largest number of bytes of all variants of all streams of a port."""
_SLOT_BYTES = 8
"""A sender keeps each frame in multiples of so many bytes."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Whole frames without FCS, one after the other, each with a zero signature until it is signed."""

    bytes_: bytes
    lengths: NDArray[np.uint16]
    """Length of each frame in bytes, without FCS."""
    checked_from: int
    """Where every frame's payload starts: from here to its end a sent frame sums to zero."""
    stack: str
    """The headers in canonical form."""
    room_bytes: int = 0
    """Zero bytes after the signature, for the FCS of a frame inside a tunnel."""

    @property
    def count(self) -> int:
        """How many variants there are."""
        return len(self.lengths)

    @property
    def kept_bytes(self) -> int:
        """The room that a sender needs for them."""
        return int((-(-self.lengths.astype(np.int64) // _SLOT_BYTES) * _SLOT_BYTES).sum())

    @property
    def least_frame_bytes(self) -> int:
        """The smallest size with FCS."""
        return int(self.lengths.min()) + FCS_BYTES

    def frame(self, number: int) -> bytes:
        """Frame `number` of the stream, without FCS."""
        variant = number % self.count
        return self.bytes_[int(self._starts[variant]) : int(self._starts[variant + 1])]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.concatenate(([0], np.cumsum(self.lengths, dtype=np.int64)))


def variants(stack: str, sizes: tuple[int, ...], ends: Ends, modifiers_: tuple[str, ...] = (), streams: int = 1) -> int:
    """How many frames `frames` makes of the same arguments. Raises PlanError as it does, but for fields that cannot be
    varied together, which only their frames show."""
    return _varied(Headers(parse(stack), ends), sizes, modifiers_, streams)[1]


def frames(
    stack: str,
    sizes: tuple[int, ...],
    ends: Ends,
    modifiers_: tuple[str, ...] = (),
    seed: int = DEFAULT,
    streams: int = 1,
    most_bytes: int = MOST_BYTES,
) -> Frames:
    """The variants of a stream. Frames take `sizes` (with FCS) in turn, and all modifiers step with each frame.

    `streams` of a port share the room that the port has for variants, of so many bytes. The same arguments give the
    same frames.
    Raises PlanError if the stack, a size, an address or a modifier is wrong, or if the variants do not fit.
    """
    headers = Headers(parse(stack), ends)
    found, count = _varied(headers, sizes, modifiers_, streams, most_bytes)
    # Bits are added to zeros, so every field that varies is zero in the frames below.
    for modifier in found:
        modifier.target.set(0)
    sums, footprints = _footprints(stack, ends, modifiers_)
    base = {size: headers.frame(size) for size in set(sizes)}
    columns = [
        _Column(footprint, modifier.draw(seed, count), modifier.target)
        for modifier, footprint in zip(found, footprints, strict=True)
    ]
    table = _table(sizes, count, base, columns, sums)
    lengths = np.tile(np.array(sizes, np.int64) - FCS_BYTES, count // len(sizes)).astype(np.uint16)
    made = Frames(table.tobytes(), lengths, headers.header_bytes, headers.stack.text, headers.room_bytes)
    _compare(made, sizes, headers, columns)
    return made


@lru_cache(maxsize=256)  # all sizes of a run have the same, and each takes some fifty frames to find
def _footprints(stack: str, ends: Ends, modifiers_: tuple[str, ...]) -> tuple[list[Checksum], list[Footprint]]:
    """The checksums of the headers, and the footprint of each field that varies."""
    headers = Headers(parse(stack), ends)
    targets = [modifier.target for modifier in modifiers(modifiers_, headers)]
    for target in targets:
        target.set(0)
    sums = checksums(headers) if targets else []
    return sums, [measure(headers, target, sums) for target in targets]


def _varied(
    headers: Headers, sizes: tuple[int, ...], modifiers_: tuple[str, ...], streams: int, most_bytes: int = MOST_BYTES
) -> tuple[list[Modifier], int]:
    """The fields that vary, and the number of variants."""
    found = modifiers(modifiers_, headers)
    for size in sizes:
        headers.frame(size)  # raises for an invalid size
    return found, _count(sizes, found, MOST_VARIANTS * most_bytes // MOST_BYTES // streams, most_bytes // streams)


def numbered(stack: str, size: int, ends: Ends, numbers: Mapping[str, NDArray[np.int64]]) -> Frames:
    """A frame for each of the numbers that fields such as 'UDP.sport' take together; there is no limit of their count.

    Numbers are values of fields and have no unit; addresses are numbers as well.
    Raises PlanError if the stack, the size or a field is wrong.
    """
    headers = Headers(parse(stack), ends)
    targets = {name: target_of(*_layer_and_field(name), headers) for name in numbers}
    headers.frame(size)  # raises for an invalid size
    for target in targets.values():
        target.set(0)
    sums = checksums(headers)
    columns = [
        _Column(measure(headers, targets[name], sums), tuple(own.tolist()), targets[name])
        for name, own in numbers.items()
    ]
    count = len(columns[0])
    table = _table((size,), count, {size: headers.frame(size)}, columns, sums)
    lengths = np.full(count, size - FCS_BYTES, np.uint16)
    made = Frames(table.tobytes(), lengths, headers.header_bytes, headers.stack.text, headers.room_bytes)
    _compare(made, (size,), headers, columns)
    return made


def _layer_and_field(name: str) -> tuple[str, int, str]:
    layer, _, field = name.partition(".")
    return layer, 1, field


class _Column:
    """The effect of one field's numbers on bytes and checksums."""

    def __init__(self, footprint: Footprint, numbers: tuple[int, ...], target: Target) -> None:
        self.target, self.numbers = target, numbers
        width = len(footprint.byte)
        stored = (width + 7) // 8
        packed = np.frombuffer(b"".join(number.to_bytes(stored, "big") for number in numbers), np.uint8)
        bits = np.unpackbits(packed.reshape(len(numbers), stored), axis=1)[:, ::-1][:, :width]
        self.at = np.unique(footprint.byte)
        of_byte = [footprint.byte == at for at in self.at]
        self.bytes_ = np.stack([bits[:, own] @ footprint.value[own] for own in of_byte], axis=1).astype(np.uint8)
        self.effects = bits.astype(np.int64) @ footprint.effects

    def __len__(self) -> int:
        return len(self.numbers)


def _table(
    sizes: tuple[int, ...], count: int, base: dict[int, bytes], columns: list[_Column], sums: list[Checksum]
) -> NDArray[np.uint8]:
    """A row holds one frame of each size in turn, so that a column of it is the same byte of like frames."""
    rounds = count // len(sizes)
    table = np.tile(np.frombuffer(b"".join(base[size] for size in sizes), np.uint8), (rounds, 1))
    if not columns:
        return table
    start = 0
    for place, size in enumerate(sizes):
        frame = table[:, start : start + size - FCS_BYTES]
        start += size - FCS_BYTES
        number = np.arange(rounds) * len(sizes) + place
        total = np.tile(values_at(base[size], sums), (rounds, 1))
        for column in columns:
            row = number % len(column)
            frame[:, column.at] |= column.bytes_[row]
            total += column.effects[row]
        total %= 0xFFFF
        for index, checksum in enumerate(sums):
            value = total[:, index]
            if checksum.never_zero:
                value[value == 0] = 0xFFFF
            frame[:, checksum.at] = value >> 8
            frame[:, checksum.at + 1] = value & 0xFF
    return table


def _count(sizes: tuple[int, ...], found: list[Modifier], most_variants: int, most_bytes: int) -> int:
    """The smallest number of variants after which all values repeat; with random draws, as many as there is room
    for in a stream."""
    if not sizes:
        raise PlanError("frame size", "no frame size is given", "give at least one, such as 64")
    counts = {modifier.target.name: len(modifier.numbers) for modifier in found if modifier.range_ is None}
    period = lcm(len(sizes), *counts.values())
    period_bytes = period // len(sizes) * sum(size - FCS_BYTES for size in sizes)
    repeats = min(most_variants // period, most_bytes // period_bytes)
    if repeats == 0:
        largest = max(counts, key=lambda name: counts[name]) if counts else None
        what = f"{largest} with {counts[largest]} values" if largest else f"{len(sizes)} sizes"
        room = f"{most_variants} frames and {most_bytes >> 10} KiB" + (" a stream" if most_bytes < MOST_BYTES else "")
        raise PlanError(
            "frame size" if largest is None else "modify",
            f"{what} makes the frames repeat after {period} frames of {period_bytes >> 10} KiB, more than {room}",
            "use fewer values, or counts that divide each other, or smaller frames",
        )
    return period * repeats if any(modifier.range_ for modifier in found) else period


def _compare(made: Frames, sizes: tuple[int, ...], headers: Headers, columns: list[_Column]) -> None:
    """Raises PlanError if a frame is not as Scapy builds it: then a field changes more than its bits."""
    for number in {0, made.count // 3, made.count // 2, made.count - 1} if columns else ():
        for column in columns:
            column.target.set(column.numbers[number % len(column)])
        if made.frame(number) != headers.frame(sizes[number % len(sizes)]):
            names = ", ".join(column.target.name for column in columns)
            raise PlanError("modify", f"{names} cannot be varied together in {made.stack}", "vary another field")
