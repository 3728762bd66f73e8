"""What an instrument's events and mailbox say of changed headers."""

from __future__ import annotations

import zlib

import pytest
from support.fpga_events import encode_event

from keisoku.errors import EngineError
from keisoku.ground.fpga.events import Event, EventKind, decode_event
from keisoku.ground.fpga.reading import Counted
from keisoku.ground.frame.expectation import applied, expectations
from keisoku.ground.frame.headers import Ends, Headers
from keisoku.ground.frame.stack import parse
from keisoku.subjects.device.engine.fpga.changes import Changed, Comparison, changed
from keisoku.subjects.device.engine.fpga.frames import changed_rows
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, ENTRY
from keisoku.subjects.device.record.changed_headers import changes_of

HEADERS = Headers(parse("Ether()/IP(tos=184)/UDP()"), Ends("02:00:00:00:00:01", "02:00:00:00:00:02"))
FRAME = HEADERS.frame(64)
HEADER, REST = FRAME[: HEADERS.header_bytes], FRAME[HEADERS.header_bytes :]


def rewritten(text: str) -> bytes:
    return applied(expectations([text]), HEADER, len(FRAME)) + REST


def event(kind: EventKind, number: int, frame: bytes, latency_ns: int = 800) -> Event:
    digest = (zlib.crc32(frame[: len(HEADER)]) ^ 0xFFFF_FFFF) & 0xFFFF
    return Event(kind, 16_000 * (number + 1), number, digest << 32 | latency_ns % 2**32)


def account(events: list[Event], seen: list[bytes], dropped: int = 0) -> tuple[Comparison, Changed]:
    own = Comparison(HEADER, len(FRAME), 1)
    own.see(seen)
    counted = Counted(10, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0)
    return own, changed(own, events, counted, dropped, lambda at_ns: at_ns)


def texts(found: Changed) -> list[list[str]]:
    kinds = (kind.model_copy(update=SENT) for kind in found.facts.kinds)
    return [[change.text for change in changes_of(kind)] for kind in kinds]


SENT = {"sent": HEADER.hex(), "sent_length": len(FRAME), "header_bytes": len(HEADER)}


def test_an_event_keeps_digest_and_latency() -> None:
    for latency_ns in (800, -8):
        kept = decode_event(encode_event(event(EventKind.CHANGED, 5, FRAME, latency_ns)))
        assert (kept.first, kept.latency_ns) == (5, latency_ns)
        assert kept.header == (zlib.crc32(HEADER) ^ 0xFFFF_FFFF) & 0xFFFF


def test_each_digest_is_a_kind_and_its_frame_says_what_was_changed() -> None:
    marked, tagged, unseen = (rewritten(text) for text in ("IP.dscp=0", "push=Dot1Q(vlan=5)", "IP.ttl=3"))
    events = [
        event(EventKind.CHANGED, 3, marked),
        event(EventKind.CHANGED, 5, unseen),
        event(EventKind.CORRUPT, 6, tagged),
        event(EventKind.CORRUPT, 7, FRAME),
        event(EventKind.DUPLICATED, 8, marked),
        event(EventKind.CHANGED, 8, marked),
    ]
    _, found = account(events, [marked, tagged])
    assert texts(found) == [
        ["IP.dscp 46 to 0"],
        ["a header that was not kept changed"],
        ["Dot1Q(prio=0, dei=0, vlan=5) added"],
        ["payload changed"],
    ]
    assert [kind.frames for kind in found.facts.kinds] == [2, 1, 1, 1]
    assert found.facts.compared_frames == 10 and found.facts.changed_frames == 5
    rows = np_rows(changed_rows(events, 1, 0, lambda at_ns: at_ns, found.kinds, found.intact))
    assert [(row["sequence"], row["flags"] & 0xFF, row["flags"] >> 8) for row in rows] == [
        (3, 0, 1),
        (5, 0, 2),
        (6, 0, 3),
        (7, CORRUPT, 4),
        (8, DUPLICATE, 1),
    ]
    assert all(row["receive_ns"] - row["transmit_ns"] == 800 for row in rows if row["sequence"] != 7)


def test_events_without_room_are_an_error() -> None:
    with pytest.raises(EngineError, match="no room for 2 events"):
        account([], [], dropped=2)
    with pytest.raises(EngineError, match="no room for 7 events"):
        account([Event(EventKind.DROPPED, 0, 0, 7)], [])


def np_rows(data: bytes) -> list[dict[str, int]]:
    import numpy as np

    return [dict(zip(ENTRY.names or (), map(int, row), strict=True)) for row in np.frombuffer(data, ENTRY)]
