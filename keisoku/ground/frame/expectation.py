"""What a device is expected to change in the headers of frames: 'IP.ttl=-1', 'IP.id=any', 'pop=Dot1Q'.

An expectation changes the bytes of a header; checksums and lengths that were right are right again afterwards. The
same words say what a simulated or a lab device rewrites. Bytes only; sends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address

import numpy as np

from keisoku.errors import PlanError
from keisoku.ground.frame import checksum
from keisoku.ground.frame.difference import Difference, Header, differences
from keisoku.ground.frame.dissection import Field, Layer, dissect
from keisoku.ground.frame.variants import Frames

_WHERE = "expect"
_ANY = "any"
_EXAMPLE = "write for example 'IP.ttl=-1', 'IP.dst=10.0.0.1', 'IP.id=any', 'push=Dot1Q(vlan=5)' or 'pop=Dot1Q'"
_FIELD = re.compile(r"\s*(\w+)(?:\[(\d+)\])?\.(\w+)\s*=\s*(\S+)\s*")
_RAW = re.compile(r"\s*insert\s*=\s*(\d+):([0-9a-fA-F]*)\s*|\s*remove\s*=\s*(\d+):(\d+)\s*")
_WHOLE = re.compile(r"\s*(push|pop)\s*=\s*(Dot1Q|Dot1AD|MPLS)(?:\(([^()]*)\))?\s*")
_TAGS = {"Dot1Q": 0x8100, "Dot1AD": 0x88A8}
_LABEL_TYPE = 0x8847
_TYPES_BY_VERSION = {4: 0x0800, 6: 0x86DD}
_BOTTOM = 1 << 8
"""Of the 32 bits of a label's entry (RFC 3032 §2.1)."""
_MACS_END = 12
_LABEL = "MPLS"
_TAG_BYTES = 4
"""Of a label as well."""
_ALIASES = {("IP", "tos"): ("dscp", "ecn"), ("IPv6", "tc"): ("dscp", "ecn")}
"""Fields of Scapy that are two fields here."""
RELATIVE = {"ttl", "hlim"}
"""Fields that a device lowers rather than sets."""


@dataclass(frozen=True)
class Expectation:
    """One change of a header. Raises PlanError where it is read if the text is none."""

    text: str

    def __post_init__(self) -> None:
        _ = self._parsed  # wrong texts are refused at once

    @property
    def subject(self) -> str:
        """What it changes, whatever it becomes: 'IP.ttl'."""
        kind, *rest = self._parsed
        return f"{rest[0]}[{rest[1]}].{rest[2]}" if kind in ("field", "free") else self.text

    @property
    def is_free(self) -> bool:
        """Whether the field may become anything."""
        return self._parsed[0] == "free"

    def free_fields(self, header: bytes) -> tuple[str, ...]:
        """The fields of this header that may become anything, as differences name them: 'IP.id', 'IP[2].dscp'."""
        if not self.is_free or not self.fits(header):
            return ()
        _, name, number, field = self._parsed
        alike = [layer for layer in dissect(header, len(header)) if layer.name == name]
        layer = str(name) if len(alike) == 1 else f"{name}[{number}]"
        return tuple(f"{layer}.{each}" for each in _names(str(name), str(field)))

    def free_bits(self, header: bytes, frame_bytes: int) -> dict[int, int]:
        """Bits of bytes of this header that may become anything: those of the field, and of each checksum over it."""
        found: dict[int, int] = {}
        if not self.is_free or not self.fits(header):
            return found
        _, name, number, field_name = self._parsed
        layers, payload_bytes = dissect(header, len(header)), frame_bytes - len(header)
        layer = _layer(layers, str(name), int(number))
        assert layer is not None
        own = [field for each in _names(str(name), str(field_name)) if (field := layer.field(each)) is not None]
        changed = bytearray(header)
        own[-1].write(changed, own[-1].read(header) ^ 1)
        for place, each in enumerate(layers):
            states = [
                checksum.state(one, layers, place, len(header), payload_bytes) for one in (header, bytes(changed))
            ]
            covering = each.field("chksum")
            if states[0] == "right" and states[1] != "right" and covering is not None:
                own.append(covering)
        for field in own:
            flipped = bytearray(header)
            field.write(flipped, field.read(header) ^ ((1 << field.width) - 1))
            for place, (before, after) in enumerate(zip(header, flipped, strict=True)):
                if before != after:
                    found[place] = found.get(place, 0) | (before ^ after)
        return found

    def fits(self, header: bytes) -> bool:
        """Whether a frame with this header has what is to be changed."""
        kind, *rest = self._parsed
        layers = dissect(header, len(header))
        if kind in ("field", "free"):
            found = _layer(layers, str(rest[0]), int(rest[1]))
            names = _names(str(rest[0]), str(rest[2]))
            return found is not None and all(found.field(name) is not None for name in names)
        if kind == "pop":
            return any(layer.name == rest[0] for layer in layers)
        return kind == "push" or int(rest[0]) <= len(header)

    def apply(self, header: bytes, frame_bytes: int) -> bytes:
        """The header after the change; one that lacks the field, or in which it is free, stays as it is.

        The frame has so many bytes without FCS, of which those behind the header sum to zero in ones' complement."""
        if self.is_free or not self.fits(header):
            return header
        kind, *rest = self._parsed
        layers = dissect(header, len(header))
        payload_bytes = frame_bytes - len(header)
        match kind:
            case "push":
                if rest[0] == _LABEL:
                    return _labelled(header, layers, int(rest[1]))
                tag = _TAGS[str(rest[0])].to_bytes(2, "big") + int(rest[1]).to_bytes(2, "big")
                return header[:_MACS_END] + tag + header[_MACS_END:]
            case "pop" if rest[0] == _LABEL:
                return _unlabelled(header, next(layer for layer in layers if layer.name == _LABEL))
            case "pop":
                tagged = next(layer for layer in layers if layer.name == rest[0])
                # The tag begins with the type that the header before it ends with.
                start = tagged.start - 2
                return header[:start] + header[start + _TAG_BYTES :]
            case "insert":
                return header[: int(rest[0])] + bytes.fromhex(str(rest[1])) + header[int(rest[0]) :]
            case "remove":
                return header[: int(rest[0])] + header[int(rest[0]) + int(rest[1]) :]
        name, number, field_name, relative, value = rest
        layer = _layer(layers, str(name), int(number))
        assert layer is not None
        right = [
            place
            for place in range(len(layers))
            if checksum.state(header, layers, place, len(header), payload_bytes) == "right"
        ]
        changed = bytearray(header)
        own = [field for each in _names(str(name), str(field_name)) if (field := layer.field(each)) is not None]
        joined = Field(str(field_name), own[0].at, sum(field.width for field in own), own[0].format_)
        joined.write(changed, joined.read(header) + int(value) if relative else int(value))
        # From the innermost header outwards, because an outer checksum may cover an inner one.
        for place in reversed(right):
            if field_name != "chksum" or layers[place] is not layer:
                checksum.corrected(changed, layers, place, len(header), payload_bytes)
        return bytes(changed)

    @cached_property
    def _parsed(self) -> tuple[str | int | bool, ...]:
        if match := _RAW.fullmatch(self.text):
            at, digits, start, count = match.groups()
            if at is not None and len(digits) % 2 == 0:
                return "insert", int(at), digits
            if start is not None:
                return "remove", int(start), int(count)
        if match := _WHOLE.fullmatch(self.text):
            verb, name, values = match.groups()
            if verb == "pop" and values is None:
                return "pop", name
            if verb == "push":
                return "push", name, _tag(self.text, name, values or "")
        if match := _FIELD.fullmatch(self.text):
            name, number, field, value = match.groups()
            if value == _ANY:
                return "free", name, int(number or 1), field
            return "field", name, int(number or 1), field, value[0] in "+-", _number(self.text, value)
        raise PlanError(_WHERE, f"'{self.text}' is no change of a header", _EXAMPLE)


def expectations(texts: Sequence[str]) -> tuple[Expectation, ...]:
    """Changes as a user writes them. Raises PlanError for the first one that is wrong."""
    return tuple(Expectation(text.strip()) for text in texts)


def applied(wanted: Sequence[Expectation], header: bytes, frame_bytes: int) -> bytes:
    """The header after all changes, in their order."""
    for one in wanted:
        after = one.apply(header, frame_bytes)
        header, frame_bytes = after, frame_bytes + len(after) - len(header)
    return header


def rewritten(sent: Frames, wanted: Sequence[Expectation]) -> Frames:
    """All variants of a stream as they are after the changes."""
    if not wanted:
        return sent
    frames, made = [], dict[bytes, bytes]()
    for number in range(sent.count):
        frame = sent.frame(number)
        header, payload = frame[: sent.checked_from], frame[sent.checked_from :]
        if header not in made:
            made[header] = applied(wanted, header, len(frame))
        frames.append(made[header] + payload)
    lengths = np.array([len(frame) for frame in frames], np.uint16)
    grown = len(frames[0]) - len(sent.frame(0))
    return Frames(b"".join(frames), lengths, sent.checked_from + grown, sent.stack, sent.room_bytes)


def free_bits(wanted: Sequence[Expectation], frame: bytes, header_bytes: int) -> dict[int, int]:
    """Bits of bytes of an expected frame that may become anything."""
    found: dict[int, int] = {}
    for one in wanted:
        for place, bits in one.free_bits(frame[:header_bytes], len(frame)).items():
            found[place] = found.get(place, 0) | bits
    return found


def settled(found: Header, expected: Header, free: Sequence[str]) -> Header:
    """The header that was found with the expected values in its free fields; checksums that were right stay right."""
    if expected.end is None or found.end is None:
        return found
    front = found.front[: found.end]
    for name in free:
        layer, _, field = name.partition(".")
        kind, _, number = layer.rstrip("]").partition("[")
        own = _layer(expected.layers, kind, int(number or 1))
        wanted = own and own.field(field)
        if wanted:
            front = Expectation(f"{name}={wanted.read(expected.front)}").apply(front, found.length)
    return Header(front, found.length, found.end)


def learnt(expected: Header, found: Header) -> tuple[Expectation, ...]:
    """Changes that make the header that was found of the one that was expected; empty if no such changes are known."""
    assert expected.end is not None and found.end is not None
    before = expected.front[: expected.end]
    wanted = found.front[: found.end]
    changes = differences(expected, found)
    texts = [text for change in changes if (text := _text(change)) is not None]
    for candidate in ([*_moved(before, wanted), *texts], _moved(before, wanted)):
        try:
            made = expectations(candidate)
        except PlanError:
            continue
        if applied(made, before, expected.length) == wanted:
            return made
    return ()


def _text(change: Difference) -> str | None:
    """A change of a field as an expectation; that of a hop count is relative, so that it holds for others as well."""
    layer, _, field = change.field.partition(".")
    if not field or not change.before or not change.after or " " in change.after:
        return None
    if field in RELATIVE:
        return f"{change.field}={int(change.after) - int(change.before):+d}"
    return f"{layer}.{field}={change.after}"


def _moved(before: bytes, after: bytes) -> list[str]:
    """The bytes that were inserted or removed where the length differs; none if it does not."""
    grown = len(after) - len(before)
    if grown == 0:
        return []
    longer, shorter = (after, before) if grown > 0 else (before, after)
    end = 0
    while end < len(shorter) and longer[len(longer) - 1 - end] == shorter[len(shorter) - 1 - end]:
        end += 1
    start = len(shorter) - end
    if grown > 0:
        return [f"insert={start}:{after[start : start + grown].hex()}"]
    return [f"remove={start}:{-grown}"]


def _names(layer: str, field: str) -> tuple[str, ...]:
    return _ALIASES.get((layer, field), (field,))


def _layer(layers: Sequence[Layer], name: str, number: int) -> Layer | None:
    alike = [layer for layer in layers if layer.name == name]
    return alike[number - 1] if 1 <= number <= len(alike) else None


def _number(text: str, value: str) -> int:
    try:
        if ":" in value and len(value) == 17:
            return int(value.replace(":", ""), 16)
        if value[0] not in "+-" and ("." in value or ":" in value):
            return int(ip_address(value))
        return int(value, 0)
    except ValueError as error:
        raise PlanError(_WHERE, f"'{text}' has no number and no address behind '='", _EXAMPLE) from error


def _labelled(header: bytes, layers: Sequence[Layer], entry: int) -> bytes:
    """With a label in front of what follows the addresses and tags, where all labels are."""
    follower = next((layer for layer in layers if layer.name not in ("Ether", *_TAGS)), None)
    start = follower.start if follower else len(header)
    if follower is None or follower.name != _LABEL:
        entry |= _BOTTOM
    return header[: start - 2] + _LABEL_TYPE.to_bytes(2, "big") + entry.to_bytes(_TAG_BYTES, "big") + header[start:]


def _unlabelled(header: bytes, label: Layer) -> bytes:
    """Without this label. Behind the last one is what the first bits say, if they are of IP."""
    bottom, before, behind = label.field("s"), header[: label.start], header[label.end :]
    if bottom and bottom.read(header) and behind and (version := behind[0] >> 4) in _TYPES_BY_VERSION:
        before = before[:-2] + _TYPES_BY_VERSION[version].to_bytes(2, "big")
    return before + behind


def _tag(text: str, name: str, values: str) -> int:
    """The 16 bits of a tag: priority, drop eligibility, VLAN; or the 32 of a label, without the one of the last."""
    widths = {"prio": (13, 7), "dei": (12, 1), "vlan": (0, 4095)}
    example = "write push=Dot1Q(vlan=5, prio=0)"
    if name == _LABEL:
        widths, example = (
            {"label": (12, (1 << 20) - 1), "cos": (9, 7), "ttl": (0, 255)},
            "write push=MPLS(label=16, cos=0, ttl=64)",
        )
    bits = 0
    for part in filter(None, (part.strip() for part in values.split(","))):
        field, _, value = (each.strip() for each in part.partition("="))
        number = _number(text, value) if value else -1
        if field not in widths or not 0 <= number <= widths[field][1]:
            raise PlanError(_WHERE, f"'{text}' has no tag that can be sent", example)
        bits |= number << widths[field][0]
    return bits
