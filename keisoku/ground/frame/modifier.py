"""Field modifiers as a user writes them: 'IP.dst=increment(198.19.0.1, count=256)'. Only numbers; builds no frame."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Literal

from keisoku.errors import PlanError
from keisoku.ground.frame import field as fields
from keisoku.ground.frame.footprint import Target
from keisoku.ground.frame.headers import Headers

RFC4814 = "rfc4814"
"""Short name for pseudorandom ports as in RFC 4814 §4.5."""
_RFC4814_PORTS = {"sport": "1024-65535", "dport": "1-49151"}
_TRANSPORTS = ("UDP", "TCP")

MOST_VALUES = 65_536
"""Variants that a port holds; no field needs more values."""

_WHERE = "modify"
_EXAMPLE = (
    "write for example 'UDP.sport=random(1024-65535)', 'IP.dst=increment(198.19.0.1, count=256)' "
    "or 'Dot1Q.vlan=list(5, 7, 9)'"
)
_MODIFIER = re.compile(r"\s*(\w+)(?:\[(\d+)\])?\.(\w+)\s*=\s*(random|increment|list)\s*\(([^()]*)\)\s*")
Function = Literal["random", "increment", "list"]


@dataclass(frozen=True)
class Modifier:
    """A field and its numbers, one for each frame."""

    target: Target
    numbers: tuple[int, ...]
    """Numbers in order, to be repeated; empty for random draws."""
    range_: tuple[int, int] | None
    """First and last number of random draws."""

    def draw(self, seed: int, count: int) -> tuple[int, ...]:
        """`count` independent, evenly distributed numbers of the range; the same for the same seed."""
        if self.range_ is None:
            return self.numbers
        # The name makes fields of one stream independent of each other.
        source = random.Random(f"{seed} {self.target.name}")
        first, last = self.range_
        return tuple(source.randrange(first, last + 1) for _ in range(count))


def modifiers(texts: tuple[str, ...], headers: Headers) -> list[Modifier]:
    """The modifiers of a stack. Raises PlanError for invalid modifiers, or for a field that is named twice."""
    found: list[Modifier] = []
    for text in texts:
        for one in _expanded(text.strip(), headers):
            modifier = _parse(one, headers)
            if any(_same(modifier.target, other.target) for other in found):
                raise PlanError(_WHERE, f"{modifier.target.name} is varied twice", "leave one out")
            found.append(modifier)
    return found


def check_form(texts: tuple[str, ...]) -> None:
    """Raises PlanError for a text that is no modifier of any headers."""
    for text in texts:
        if text.strip() != RFC4814:
            _parts(text.strip())


def _same(one: Target, other: Target) -> bool:
    return one.layer is other.layer and one.field == other.field


def _expanded(text: str, headers: Headers) -> list[str]:
    if text != RFC4814:
        return [text]
    names = [type(layer).__name__ for layer in headers.layers]
    last = next((name for name in reversed(names) if name in _TRANSPORTS), None)
    if last is None:
        raise PlanError(_WHERE, f"{RFC4814} varies ports, and {headers.stack.text} has none", "add UDP() or TCP()")
    # Those of the innermost header: a tunnel's destination port identifies the tunnel.
    return [f"{last}[{names.count(last)}].{field}=random({ports})" for field, ports in _RFC4814_PORTS.items()]


def _parse(text: str, headers: Headers) -> Modifier:
    layer_name, number, field_name, function, inside = _parts(text)
    target = target_of(layer_name, int(number or 1), field_name, headers)
    arguments = [argument.strip() for argument in inside.split(",")]
    field = fields.plain(target.layer.get_field(field_name), target.layer)
    meaning = fields.kind(field)
    if meaning is None:
        raise PlanError(_WHERE, f"{target.name} is neither a number nor an address", "vary another field")
    most = (1 << fields.width_bits(field, target.layer)) - 1
    numbers: tuple[int, ...] = ()
    range_ = None
    match function:
        case "list":
            numbers = tuple(fields.number(_WHERE, meaning, argument) for argument in arguments)
        case "increment":
            numbers = _increment(text, meaning, arguments)
        case _:
            range_ = _range(text, meaning, arguments)
    least_and_most = range_ or (min(numbers), max(numbers))
    if least_and_most[0] < 0 or least_and_most[1] > most:
        limit = fields.of_number(field, most)
        raise PlanError(_WHERE, f"'{text}' exceeds the range of {target.name}", f"stay below or at {limit}")
    return Modifier(target, numbers, range_)


def _parts(text: str) -> tuple[str, str | None, str, str, str]:
    """Layer, its number, field, function, and what is in parentheses."""
    match = _MODIFIER.fullmatch(text)
    if match is None:
        raise PlanError(_WHERE, f"'{text}' is no modifier", _EXAMPLE)
    layer, number, field, function, inside = match.groups()
    return layer, number, field, function, inside


def target_of(layer_name: str, number: int, field_name: str, headers: Headers) -> Target:
    """A field of a stack's layers of one name, counted from 1. Raises PlanError if there is none."""
    same = [layer for layer in headers.layers if type(layer).__name__ == layer_name]
    name = layer_name if number == 1 else f"{layer_name}[{number}]"
    if not 1 <= number <= len(same):
        raise PlanError(_WHERE, f"there is no {name} in {headers.stack.text}", "name one of its layers")
    fields.named(_WHERE, same[number - 1], field_name)
    return Target(f"{name}.{field_name}", same[number - 1], field_name)


def _increment(text: str, meaning: fields.Kind, arguments: list[str]) -> tuple[int, ...]:
    first, *rest = arguments
    named: dict[str, int] = {"step": 1}
    for argument in rest:
        match = re.fullmatch(r"(count|step)\s*=\s*(-?\d+)", argument)
        if match is None:
            raise PlanError(_WHERE, f"'{argument}' in '{text}' is not understood", "give count=… and step=…")
        named[match[1]] = int(match[2])
    if named.get("count", 0) < 1:
        raise PlanError(_WHERE, f"'{text}' has no count of values", "give count=… of at least 1")
    start, step, count = fields.number(_WHERE, meaning, first), named["step"], named["count"]
    if count > MOST_VALUES:
        raise PlanError(_WHERE, f"'{text}' has too many values", f"use a count of at most {MOST_VALUES}")
    return tuple(start + step * index for index in range(count))


def _range(text: str, meaning: fields.Kind, arguments: list[str]) -> tuple[int, int]:
    ends = arguments[0].split("-")
    if len(arguments) != 1 or len(ends) != 2:
        raise PlanError(_WHERE, f"'{text}' has no range", "write for example random(1024-65535)")
    first, last = (fields.number(_WHERE, meaning, end.strip()) for end in ends)
    if last < first:
        raise PlanError(_WHERE, f"the range of '{text}' is empty", "put the smaller value first")
    return first, last
