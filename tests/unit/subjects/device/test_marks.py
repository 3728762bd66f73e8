"""Which changed frames are marked ones: those that came with CE, and those of another class."""

from __future__ import annotations

from typing import Any

from keisoku.subjects.device.analysis.marks import marked
from keisoku.subjects.device.record.changes import Kind, StreamChanges
from keisoku.subjects.device.record.counts import Buckets, Marked
from keisoku.subjects.device.record.facts import StreamFacts

ECT0, CE = 2, 3


def frame(traffic_class: int, pcp: int | None = None) -> str:
    """Its first bytes, with a VLAN tag where it has a priority."""
    tag = b"" if pcp is None else b"\x81\x00" + (pcp << 13).to_bytes(2)
    return (bytes(12) + tag + b"\x08\x00\x45" + bytes([traffic_class]) + bytes(18)).hex()


def kind(sent: str, front: str | None, lower_ns: int, **other: Any) -> Kind:
    latency = Buckets(lower_ns=[lower_ns], upper_ns=[lower_ns + 1], counts=[1])
    fixed: dict[str, Any] = {"kind": 1, "sequence": 0, "variant": 0, "frames": 1, "length": 60}
    fixed |= {"first_received_ns": 0, "last_received_ns": 0, "corrupt": False, "latency": latency}
    return Kind(sent=sent, front=front, **(fixed | other))


def stream(**known: Any) -> StreamFacts:
    return StreamFacts.model_construct(**({"marked": None, "changes": None} | known))


def found(*kinds: Kind) -> tuple[list[int], list[int]]:
    """Latencies of the frames with CE, and of those of another class."""
    listed: dict[str, Any] = {"kinds": list(kinds)}
    known = marked(stream(changes=StreamChanges.model_construct(**listed)))
    assert known is not None
    return list(known.ce.lower_ns), list(known.remarked.lower_ns)


def test_a_frame_that_came_with_ce_is_marked_and_keeps_its_class() -> None:
    sent = frame(46 << 2 | ECT0)
    assert found(kind(sent, frame(46 << 2 | CE), 100)) == ([100], [])
    assert found(kind(sent, frame(46 << 2), 100)) == ([], []), "ECN that was taken away is no mark"
    assert found(kind(frame(46 << 2 | CE), frame(46 << 2 | CE), 100)) == ([], []), "it was sent so"


def test_a_frame_of_another_dscp_or_priority_is_remarked() -> None:
    assert found(kind(frame(46 << 2), frame(10 << 2), 100), kind(frame(0), frame(8 << 2 | CE), 200)) == (
        [200],
        [100, 200],
    )
    assert found(kind(frame(0, pcp=5), frame(0, pcp=1), 300)) == ([], [300])
    assert found(kind(frame(0, pcp=5), frame(0, pcp=5), 300)) == ([], [])


def test_what_cannot_be_read_is_no_mark() -> None:
    sent, came = frame(ECT0), frame(8 << 2 | CE)
    assert found(kind(sent, None, 1), kind(sent, came, 2, corrupt=True)) == ([], [])


def test_marks_that_a_device_reports_itself_are_taken_as_they_are() -> None:
    own = Marked(ce=Buckets(lower_ns=[7], upper_ns=[8], counts=[1]), remarked=Buckets())
    assert marked(stream(marked=own)) is own
    assert marked(stream()) is None
