"""HdrHistogram V2: histograms as the text in base64 that TRex, CSIT and others write, and logs of them. It does no I/O.

The form is that of HdrHistogram's own implementations: a header of 40 bytes, then counts as ZigZag LEB128, where a
negative one stands for so many zeros; compressed with zlib behind a header of 8 bytes.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, log10

_PLAIN, _COMPRESSED = 0x1C849303 | 0x10, 0x1C849304 | 0x10
_OLD = (0x1C849309, 0x1C849302)
"""What a histogram of version 0 and 1 begins with; that of version 1 has a word size in its fifth to eighth bit."""
_HEADER = struct.Struct(">iiiiqqd")
_DIGITS = range(6)
_MOST_BYTES = 1 << 26
"""Of a histogram without compression; the largest that makes sense has 2 MB."""
LOG = "#[Histogram log format version 1.3]"
"""The first line of a log."""


class NotAHistogram(ValueError):
    """The text is none; the message says why."""


class OldHistogram(NotAHistogram):
    """It is one of version 0 or 1, which is not read."""


@dataclass(frozen=True)
class HdrHistogram:
    """Counts of whole numbers, in buckets whose width is at most 10^-digits of their value."""

    counts: Mapping[int, int]
    """By the lowest value of the bucket, in its order; without empty ones."""
    digits: int = 3
    lowest: int = 1
    """Smallest value that is told from zero."""
    ratio: float = 1.0
    """By which a value is multiplied to be one of what was measured."""

    @property
    def total(self) -> int:
        """All counts together."""
        return sum(self.counts.values())

    def width(self, value: int) -> int:
        """Of the bucket of a value."""
        return _Layout(self.digits, self.lowest).width(value)

    def percentile(self, percent: float) -> float:
        """The largest value of the bucket in which so many percent of all counts are reached, as the others say it."""
        wanted = max(1, ceil(self.total * percent / 100 - 1e-9))
        seen = 0
        for value, count in self.counts.items():
            seen += count
            if seen >= wanted:
                return (value + self.width(value) - 1) * self.ratio
        raise ValueError("the histogram is empty")

    @property
    def mean(self) -> float:
        """The mean of the middles of the buckets, in the unit of the values."""
        return sum((value + self.width(value) // 2) * count for value, count in self.counts.items()) / self.total


class _Layout:
    """Which bucket a value is in. All buckets of a half have one width, which doubles from half to half."""

    def __init__(self, digits: int, lowest: int) -> None:
        self.unit = lowest.bit_length() - 1
        self.half = max(0, ceil(log10(2 * 10**digits) / log10(2)) - 1)
        """Binary digits of the number of buckets in a half."""

    def width(self, value: int) -> int:
        return 1 << self._shift(value)

    def place(self, value: int) -> int:
        """The number of the bucket, from 0."""
        shift = self._shift(value)
        return ((shift - self.unit) << self.half) + (value >> shift)

    def value(self, place: int) -> int:
        """The lowest value of a bucket."""
        halves, inside = place >> self.half, place & ((1 << self.half) - 1)
        return inside << self.unit if halves == 0 else (inside + (1 << self.half)) << (halves - 1 + self.unit)

    def _shift(self, value: int) -> int:
        return max(self.unit, value.bit_length() - self.half - 1)


def gathered(values: Mapping[int, int], digits: int = 3, lowest: int = 1, ratio: float = 1.0) -> HdrHistogram:
    """Counts by any values, put into buckets."""
    layout, counts = _Layout(digits, lowest), dict[int, int]()
    for value, count in sorted(values.items()):
        if count:
            start = layout.value(layout.place(value))
            counts[start] = counts.get(start, 0) + count
    return HdrHistogram(counts, digits, lowest, ratio)


def encode(histogram: HdrHistogram) -> str:
    """The histogram as text: V2, compressed, in base64."""
    layout = _Layout(histogram.digits, histogram.lowest)
    payload, at = bytearray(), 0
    for value, count in histogram.counts.items():
        place = layout.place(value)
        if place > at:
            payload += _zigzag(at - place)
        payload += _zigzag(count)
        at = place + 1
    highest = max(2 * histogram.lowest, *(value + histogram.width(value) - 1 for value in histogram.counts), 0)
    header = _HEADER.pack(_PLAIN, len(payload), 0, histogram.digits, histogram.lowest, highest, histogram.ratio)
    packed = zlib.compress(header + bytes(payload))
    return base64.b64encode(struct.pack(">ii", _COMPRESSED, len(packed)) + packed).decode()


def decode(text: str) -> HdrHistogram:
    """The histogram of a text in V2. Raises NotAHistogram."""
    try:
        raw = base64.b64decode(text, validate=True)
        cookie, length = struct.unpack_from(">ii", raw)
        if cookie == _COMPRESSED:
            unpacker = zlib.decompressobj()
            raw = unpacker.decompress(raw[8 : 8 + length], _MOST_BYTES)
            if not unpacker.eof:
                raise NotAHistogram("it is cut off, or too long")
        elif cookie & ~0xF0 in _OLD:
            raise OldHistogram("it is of version 0 or 1 of HdrHistogram, and version 2 is read")
        plain, size, offset, digits, lowest, _, ratio = _HEADER.unpack_from(raw)
    except NotAHistogram:
        raise
    except (binascii.Error, ValueError, struct.error, zlib.error) as error:
        raise NotAHistogram(str(error) or "it is no HdrHistogram") from error
    payload = raw[_HEADER.size : _HEADER.size + size]
    if plain != _PLAIN or digits not in _DIGITS or lowest < 1 or offset or not 0 <= size == len(payload):
        raise NotAHistogram("it is no HdrHistogram of version 2")
    layout, counts, at = _Layout(digits, lowest), dict[int, int](), 0
    for number in _numbers(payload):
        if number < 0:
            at -= number
        elif number:
            counts[layout.value(at)] = number
            at += 1
        else:
            at += 1
        if at > 1 << 24:
            raise NotAHistogram("its values are beyond 64 bits")
    return HdrHistogram(counts, digits, lowest, ratio)


def _zigzag(number: int) -> bytes:
    """LEB128 of 64 bits, of which the ninth byte holds eight."""
    left, found = (number << 1) ^ (number >> 63), bytearray()
    for _ in range(8):
        if left < 0x80:
            break
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def _numbers(payload: bytes) -> Iterator[int]:
    """Raises NotAHistogram if the last number is cut off."""
    at = 0
    while at < len(payload):
        number = shift = 0
        while True:
            if at >= len(payload):
                raise NotAHistogram("it is cut off")
            byte = payload[at]
            at += 1
            if shift == 56:
                number |= byte << shift
                break
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        yield (number >> 1) ^ -(number & 1)
