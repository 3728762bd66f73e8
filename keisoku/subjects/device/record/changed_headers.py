"""The headers of a kind of changed frames, and what differs between them: from the bytes that a record keeps."""

from __future__ import annotations

from keisoku.ground.frame.difference import Difference, Header, differences
from keisoku.ground.frame.dissection import RAW
from keisoku.language import phrase
from keisoku.subjects.device.record.changes import Kind

NOT_KEPT = Difference(phrase("a header that was not kept"), "", "")
"""In place of the differences of a kind whose front found no room."""
_ETHERNET_BYTES = 14


def headers(kind: Kind) -> tuple[Header, Header] | None:
    """The frame that was expected and the one that came; None if the latter was not kept."""
    expected = Header(bytes.fromhex(kind.sent), kind.sent_length, kind.header_bytes)
    if kind.front is None or kind.length is None:
        return (expected, expected) if kind.same_front else None
    front = bytes.fromhex(kind.front)
    end = kind.header_bytes + kind.length - kind.sent_length
    fits = not kind.corrupt and _ETHERNET_BYTES <= end <= len(front)
    if fits:
        padded = Header(front, kind.length, kind.header_bytes)
        grown = Header(front, kind.length, end)
        alike = [layer.name for layer in padded.layers] == [layer.name for layer in expected.layers]
        # A frame that was padded is longer behind its payload: what follows its headers is none. A tunnel's headers may
        # be like those that were sent, and those follow.
        longer_behind = kind.length > kind.sent_length and grown.layers[-1].name == RAW
        return expected, padded if alike and longer_behind else grown
    same = kind.corrupt and kind.length == kind.sent_length
    return expected, Header(front, kind.length, kind.header_bytes if same else None)


def changes_of(kind: Kind) -> tuple[Difference, ...]:
    """What differs between the two frames of a kind."""
    found = headers(kind)
    if found is None:
        return (NOT_KEPT,)
    changes = differences(*found, corrupt=kind.corrupt)
    return tuple(change for change in changes if change.field not in kind.free) or changes
