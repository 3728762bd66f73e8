"""The bits of chosen header fields in frames, as a device reads them to tell flows apart. It changes no frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from keisoku.errors import PlanError
from keisoku.ground.frame.footprint import checksums, measure
from keisoku.ground.frame.headers import unaddressed
from keisoku.ground.frame.modifier import target_of
from keisoku.ground.frame.stack import parse

_NAME = re.compile(r"(\w+)(?:\[(\d+)\])?\.(\w+)")


def check_name(where: str, name: str) -> None:
    """Raises PlanError, naming `where`, for a text that is no name of a field such as 'IP.src' or 'UDP[2].sport'."""
    if not _NAME.fullmatch(name):
        raise PlanError(where, f"'{name}' is no field", "write for example IP.src or UDP[2].sport")


def name_parts(name: str) -> tuple[str, int, str]:
    """Layer, which of the layers of this kind from the outermost, counted from 1, and field of a name that
    `check_name` passes."""
    match = _NAME.fullmatch(name)
    assert match is not None
    return match[1], int(match[2] or 1), match[3]


def field_bits(frame: bytes, stack: str, names: Sequence[str]) -> bytes:
    """The bits of the named fields of a frame with these headers, and zeros beside them in their bytes; nothing of a
    field of a layer that the headers do not have.

    Raises PlanError for a layer that has no such field.
    """
    at, mask = _places(stack, tuple(names))
    return (np.frombuffer(frame, np.uint8)[at] & mask).tobytes()


@lru_cache(maxsize=64)
def _places(stack: str, names: tuple[str, ...]) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """Bytes of a frame, and which of their bits belong to the fields."""
    masks: dict[int, int] = {}
    for name in names:
        headers = unaddressed(parse(stack))
        layer, number, field = name_parts(name)
        if sum(type(one).__name__ == layer for one in headers.layers) < number:
            continue
        target = target_of(layer, number, field, headers)
        target.set(0)
        found = measure(headers, target, checksums(headers))
        for byte, value in zip(found.byte.tolist(), found.value.tolist(), strict=True):
            masks[byte] = masks.get(byte, 0) | value
    at = sorted(masks)
    return np.array(at, np.intp), np.array([masks[byte] for byte in at], np.uint8)
