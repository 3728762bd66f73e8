"""Long lists of integers as they are stored in a run: their differences, compressed, as one text in base64.

A trial at an overload has a gap for every few frames, and each latency histogram has thousands of buckets. As JSON they
made nine tenths of a run's size. The short ones stay lists, which people can read. It never changes a number.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, PlainSerializer, SerializationInfo, WithJsonSchema

STORED = {"packed": True}
"""The context with which pydantic is to write a record for a run; without it lists are lists, as for the server."""
SHORT = 32
"""Lists of so many rows stay lists."""
_MOST_BYTES = 1 << 26
"""Of one list: more than the core's limits let any become."""


def is_stored(info: SerializationInfo) -> bool:
    """Whether pydantic writes for a run."""
    return info.context is STORED


def pack(rows: NDArray[np.int64]) -> str:
    """The text for rows of one or more columns: the differences of numbers of any unit down each column, one column
    after the other."""
    steps = np.diff(rows, axis=0, prepend=np.zeros_like(rows[:1]))  # wraps around, as the sum in `unpack` does
    return b64encode(zlib.compress(steps.astype("<i8").tobytes(order="F"), level=1)).decode()


def unpack(text: str, columns: int) -> NDArray[np.int64]:
    """The rows that `pack` was given, in their units, with so many columns. Raises ValueError for a text that it did
    not make."""
    try:
        engine = zlib.decompressobj()
        octets = engine.decompress(b64decode(text, validate=True), _MOST_BYTES)
        steps = np.frombuffer(octets, dtype="<i8").reshape(columns, -1).T
    except (zlib.error, Base64Error, ValueError) as error:
        raise ValueError("it is no packed list") from error
    if not engine.eof:
        raise ValueError("it is no packed list")
    return np.cumsum(steps, axis=0, dtype=np.int64)


def _packed(numbers: list[int], info: SerializationInfo) -> Any:
    if not is_stored(info) or len(numbers) <= SHORT:
        return numbers
    return pack(np.array(numbers, dtype=np.int64))


def _numbers(given: Any) -> Any:
    return unpack(given, 1)[:, 0].tolist() if isinstance(given, str) else given


def _pairs(given: Any) -> Any:
    return [tuple(pair) for pair in unpack(given, 2).tolist()] if isinstance(given, str) else given


_NUMBER = {"type": "integer"}
_PAIR = {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [_NUMBER, _NUMBER]}
Numbers = Annotated[
    list[int],
    BeforeValidator(_numbers),
    PlainSerializer(_packed),
    WithJsonSchema({"type": "array", "items": _NUMBER}),
]
"""Integers, packed in a run."""
Pairs = Annotated[
    list[tuple[int, int]],
    BeforeValidator(_pairs),
    PlainSerializer(_packed),
    WithJsonSchema({"type": "array", "items": _PAIR}),
]
"""Pairs of integers, packed in a run."""
