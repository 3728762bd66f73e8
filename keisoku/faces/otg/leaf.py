"""Leaves of YANG models for gNMI: their paths and values, and how values are written. Pure; knows no model."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Element = tuple[str, tuple[tuple[str, str], ...]]
"""A name, and keys with their values."""
Path = tuple[Element, ...]


class Short(int):
    """A number of at most 32 bits, which JSON (RFC 7951) writes as a number and not as text."""


class Names(tuple[str, ...]):
    """A leaf-list of strings or enumerations."""


class Entries(tuple[Mapping[str, Any], ...]):
    """A list without keys, whose entries have no paths: JSON of each."""


@dataclass(frozen=True)
class Item:
    """One entry of a list without keys, by itself."""

    members: Mapping[str, Any]


Value = int | float | bool | str | Decimal | Names | Entries | Item
"""A counter64, timeticks64 or `Short`, an ieeefloat32, a boolean, a string or enumeration, a decimal64, a list, or an
entry of one."""
Leaves = Iterator[tuple[Path, Value]]


def plain(*names: str) -> Path:
    """A path without keys."""
    return tuple((name, ()) for name in names)


def entry(*elements: str | tuple[str, str, str]) -> Path:
    """A path of names, and of lists with their key and its value."""
    return tuple((each, ()) if isinstance(each, str) else (each[0], ((each[1], each[2]),)) for each in elements)


def rfc7951(value: Value) -> Any:
    """A value as JSON (RFC 7951 §6): numbers of 64 bits are text, and a float is four octets in base64."""
    match value:
        case bool() | str():
            return value
        case Short():
            return int(value)
        case Names() | Entries():
            return list(value)
        case Item():
            return dict(value.members)
        case float():
            return base64.b64encode(float32(value)).decode()
    return str(value)


def float32(value: float) -> bytes:
    """OTG's ieeefloat32: four octets, most significant first."""
    return struct.pack(">f", value)


def named(at: Path, name: str) -> Leaves:
    """The leaves that say the name of an entry of a list: its key, and the same in its state."""
    yield (*at, ("name", ())), name
    yield at + plain("state", "name"), name
