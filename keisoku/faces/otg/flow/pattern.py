"""OTG's patterns (value, values, increment, decrement, random) as one value or a modifier. Builds no frame."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Self

from keisoku.faces.otg.reading.node import Node
from keisoku.ground.frame.modifier import MOST_VALUES

_BITS = {"mac": 48, "ipv4": 32, "ipv6": 128}


@dataclass(frozen=True)
class Tag:
    """Bits of a field for whose values a script wants separate metrics; positions count from the most significant
    bit."""

    name: str
    offset: int
    length: int
    field_bits: int

    def value(self, number: int) -> str:
        """Those bits of a field's number, in hexadecimal."""
        bits = number >> (self.field_bits - self.offset - self.length) & ((1 << self.length) - 1)
        return f"0x{bits:0{(self.length + 3) // 4}x}"


@dataclass(frozen=True)
class Values:
    """The values of a field, frame by frame, to be repeated; addresses are numbers as well."""

    numbers: tuple[int, ...]
    kind: str
    """'mac', 'ipv4', 'ipv6', or a format of integers."""
    tags: tuple[Tag, ...] = ()

    @classmethod
    def written(cls, texts: Sequence[str], kind: str) -> Self:
        """Of addresses as they are written."""
        return cls(tuple(_number(text, kind) for text in texts), kind)

    @property
    def fixed(self) -> int | str | None:
        """The single value in the form of a header stack; None if it varies."""
        return self._written(self.numbers[0]) if len(self.numbers) == 1 else None

    def modifier(self) -> str:
        """The values in the notation of a modifier, after '='."""
        first, *rest = self.numbers
        step = rest[0] - first if rest else 0
        if all(number == first + step * place for place, number in enumerate(self.numbers)):
            return f"increment({self._written(first)}, count={len(self.numbers)}, step={step})"
        return f"list({', '.join(str(self._written(number)) for number in self.numbers)})"

    def _written(self, number: int) -> int | str:
        match self.kind:
            case "mac":
                return number.to_bytes(6, "big").hex(":")
            case "ipv4":
                return str(IPv4Address(number))
            case "ipv6":
                return str(IPv6Address(number))
        return number


def values(node: Node) -> Values | None:
    """The values of a pattern; None: the implementation chooses ('auto').

    Raises PlanError, with the path, for more values than a port holds, or for values beyond the field.
    """
    try:
        found = _values(node)
        return found if found is None else replace(found, tags=tags(node))
    except ValueError as error:
        node.refuse(f"has a value that cannot be read: {error}", "correct it")


def _values(node: Node) -> Values | None:
    choice = node.choice()
    match choice:
        case "auto":
            if node.kind_of("auto") in ("str", "int"):
                node.scalar("auto")
            else:
                node.child("auto").choice()  # DHCP is the only one
            return None
        case "value":
            found, kind = [node.scalar("value")], _kind(node, "value")
            return _checked(node, tuple(_number(each, kind) for each in found), kind)
        case "values":
            found, kind = node.scalar("values"), _kind(node, "values")
            return _checked(node, tuple(_number(each, kind) for each in found), kind, "values")
        case "increment" | "decrement":
            return _counter(node, choice)
        case "random":
            return _random(node)
    node.refuse(f"the pattern '{choice}' is not supported", "use value, values, increment, decrement or random")


def tags(node: Node) -> tuple[Tag, ...]:
    """The tags of a pattern. Raises PlanError, with the path, for bits that the field does not have."""
    if not node.has("metric_tags"):
        return ()
    bits = _BITS.get(_kind(node, "value")) or (node.maximum("value") or 0xFFFF_FFFF).bit_length()
    found = []
    for each in node.children("metric_tags"):
        offset, length = int(each.scalar("offset")), int(each.scalar("length"))
        if length < 1 or offset + length > bits:
            each.refuse(f"exceeds the field, which has {bits} bits", "tag bits within it", "length")
        found.append(Tag(str(each.scalar("name")), offset, length, bits))
    return tuple(found)


def _counter(node: Node, choice: str) -> Values:
    counter = node.child(choice)
    kind = _kind(counter, "start")
    start, step = (_number(counter.scalar(name), kind) for name in ("start", "step"))
    count = _count(counter)
    sign = 1 if choice == "increment" else -1
    most = (1 << _BITS[kind]) - 1 if kind in _BITS else counter.maximum("start")
    if most is None:
        return _checked(counter, tuple(start + sign * step * place for place in range(count)), kind)
    # Like a counter of that width it wraps: clients ask for more steps than a port number has.
    return _checked(counter, tuple((start + sign * step * place) % (most + 1) for place in range(count)), kind)


def _random(node: Node) -> Values:
    draws = node.child("random")
    kind = _kind(draws, "min")
    least, most = (_number(draws.scalar(name), kind) for name in ("min", "max"))
    if most < least:
        draws.refuse("is below min", "put the smaller value first", "max")
    source = random.Random(draws.scalar("seed"))
    return _checked(draws, tuple(source.randint(least, most) for _ in range(_count(draws))), kind)


def _count(node: Node) -> int:
    count = int(node.scalar("count"))
    if not 1 <= count <= MOST_VALUES:
        node.refuse(f"a field has from one to {MOST_VALUES} values", "use another count", "count")
    return count


def _checked(node: Node, numbers: tuple[int, ...], kind: str, name: str | None = None) -> Values:
    if not numbers:
        node.refuse("is empty", "give at least one value", name)
    if len(numbers) > MOST_VALUES:
        node.refuse(f"has more than {MOST_VALUES} values", "use fewer", name)
    bound = next((node.maximum(each) for each in ("value", "start", "min") if each in node.fields), None)
    most = (1 << _BITS[kind]) - 1 if kind in _BITS else bound
    if min(numbers) < 0 or (most is not None and max(numbers) > most):
        node.refuse("gives values outside the field's range", f"stay between 0 and {most}", name)
    return Values(numbers, kind)


def _kind(node: Node, name: str) -> str:
    return node.format(name)


def _number(value: Any, kind: str) -> int:
    match kind:
        case "mac":
            return int(str(value).replace(":", ""), 16)
        case "ipv4":
            return int(IPv4Address(value))
        case "ipv6":
            return int(IPv6Address(value))
    return int(value)
