"""What differs between the headers of a frame that was expected and those of the frame that came, field by field.

Used for each kind of changed frame, never for each frame. Any two headers can be compared; if they differ at all, at
least one difference is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.ground.frame import checksum
from keisoku.ground.frame.dissection import RAW, Field, Layer, dissect
from keisoku.ground.frame.payload import FCS_BYTES

PAYLOAD = "payload"
LENGTH = "frame length"
_IMPLIED = {"type", "proto", "nh"}
"""What a header says of the next one: no change of its own where the next header is another one."""


@dataclass(frozen=True, order=True)
class Difference:
    """One difference; values are texts as a user reads them."""

    field: str
    """'IP.dscp', 'Dot1Q' for a whole header, 'payload', 'frame length' (in bytes, FCS included)."""
    before: str
    """Empty: there was nothing."""
    after: str

    @property
    def text(self) -> str:
        """'IP.dscp 46 to 0', 'Dot1Q(vlan=5) added', 'payload changed'."""
        if not self.before and not self.after:
            return f"{self.field} changed"
        if not self.before:
            return f"{self.after} added"
        return f"{self.field} {self.before} to {self.after}" if self.after else f"{self.before} removed"


@dataclass(frozen=True)
class Header:
    """The front of a frame: its bytes, the frame's length without FCS, and where the payload begins, if it is known."""

    front: bytes
    length: int
    end: int | None

    @property
    def layers(self) -> list[Layer]:
        """Its headers from the outermost."""
        return dissect(self.front, self.end)


def differences(expected: Header, found: Header, corrupt: bool = False) -> tuple[Difference, ...]:
    """All differences, the outermost header first. `corrupt`: the payload is not as it was sent."""
    before, after = expected.layers, found.layers
    pairs = _aligned(before, after)
    changes: list[Difference] = []
    for old, new in pairs:
        if old is None and new is not None:
            changes.append(Difference(new.name, "", new.text(found.front)))
        elif new is None and old is not None:
            changes.append(Difference(old.name, old.text(expected.front), ""))
        elif old is not None and new is not None:
            changes += _fields(expected, found, before, after, old, new, corrupt)
    changes += _length(expected, found, before, after)
    if corrupt:
        changes.append(Difference(PAYLOAD, "", ""))
    return tuple(changes) or _bytes(expected.front, found.front)


def _aligned(before: Sequence[Layer], after: Sequence[Layer]) -> list[tuple[Layer | None, Layer | None]]:
    """Headers that stayed, pair by pair, and between them those that were removed or added.

    The innermost ones are matched first: a tunnel's headers are in front of those that were sent.
    """
    kept = 0
    while kept < min(len(before), len(after)) and before[-1 - kept].name == after[-1 - kept].name:
        kept += 1
    old, new = before[: len(before) - kept], after[: len(after) - kept]
    first = 0
    while first < min(len(old), len(new)) and old[first].name == new[first].name:
        first += 1
    # Of two equal neighbours (two tags, one of them new) the front ones are matched as well, if there are any.
    pairs: list[tuple[Layer | None, Layer | None]] = list(zip(old[:first], new[:first], strict=True))
    pairs += [(layer, None) for layer in old[first:]] + [(None, layer) for layer in new[first:]]
    pairs += list(zip(before[len(before) - kept :], after[len(after) - kept :], strict=True))
    return pairs


def _fields(
    expected: Header,
    found: Header,
    before: Sequence[Layer],
    after: Sequence[Layer],
    old: Layer,
    new: Layer,
    corrupt: bool,
) -> list[Difference]:
    name = _numbered(old, before)
    if old.name == RAW:
        texts = expected.front[old.start : old.end].hex(), found.front[new.start : new.end].hex()
        return [Difference(name, *texts)] if texts[0] != texts[1] else []
    followers = _follower(old, before), _follower(new, after)
    changes = []
    for field in dict.fromkeys(one.name for one in (*old.fields, *new.fields)):
        one, other = old.field(field), new.field(field)
        values = _value(one, expected.front), _value(other, found.front)
        if values[0] == values[1]:
            continue
        if field == "options" and _without_mss(old, expected.front) == _without_mss(new, found.front):
            continue
        if field in _IMPLIED and followers[0] != followers[1]:
            continue
        if field == "chksum":
            states = [
                _state(header, layers, layer, corrupt)
                for header, layers, layer in ((expected, before, old), (found, after, new))
            ]
            if states == ["right", "right"]:
                continue
            if states[0] == "right" and states[1] is not None:
                values = "right", states[1] if states[1] == "zero" else f"wrong ({values[1]})"
        if field == checksum.length_field(old):
            right = [
                checksum.length_is_right(header.front, layer, header.length)
                for header, layer in ((expected, old), (found, new))
            ]
            if right == [True, True]:
                continue
        changes.append(Difference(f"{name}.{field}", *values))
    return changes


def _state(header: Header, layers: Sequence[Layer], layer: Layer, corrupt: bool) -> str | None:
    if corrupt and layer.name != "IP":
        return None
    end = layers[-1].end if header.end is None else header.end
    return checksum.state(header.front, layers, layers.index(layer), end, header.length - end)


def _length(expected: Header, found: Header, before: Sequence[Layer], after: Sequence[Layer]) -> list[Difference]:
    """A length that the headers do not explain."""
    sizes = [sum(layer.end - layer.start for layer in layers) for layers in (before, after)]
    if expected.end is None or found.end is None:
        sizes = [0, 0]
    if found.length - expected.length == sizes[1] - sizes[0]:
        return []
    explained = expected.length + sizes[1] - sizes[0]
    return [Difference(LENGTH, str(explained + FCS_BYTES), str(found.length + FCS_BYTES))]


def _bytes(before: bytes, after: bytes) -> tuple[Difference, ...]:
    """Differences that no field shows."""
    count = min(len(before), len(after))
    places = [place for place in range(count) if before[place] != after[place]]
    return tuple(Difference(f"byte {place}", f"0x{before[place]:02x}", f"0x{after[place]:02x}") for place in places)


def _value(field: Field | None, frame: bytes) -> str:
    return "" if field is None else field.text(field.read(frame))


def _without_mss(layer: Layer, frame: bytes) -> int | None:
    """The options without the one that is a field of its own."""
    options, mss = layer.field("options"), layer.field("mss")
    if options is None:
        return None
    changed = bytearray(frame)
    if mss is not None:
        mss.write(changed, 0)
    return options.read(bytes(changed))


def _follower(layer: Layer, layers: Sequence[Layer]) -> str:
    place = layers.index(layer) + 1
    return layers[place].name if place < len(layers) else ""


def _numbered(layer: Layer, layers: Sequence[Layer]) -> str:
    """'IP', or 'IP[2]' for the second of several."""
    alike = [each for each in layers if each.name == layer.name]
    return layer.name if len(alike) == 1 else f"{layer.name}[{alike.index(layer) + 1}]"
