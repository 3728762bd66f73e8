"""What an engine needs to watch what a device changes, and what it adds to the counts of the core.

The core compares numbers and knows no header: this file makes the frames that are expected, and afterwards puts beside
each kind of changed frame the one that was expected in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keisoku.errors import PlanError
from keisoku.ground.frame.difference import Header
from keisoku.ground.frame.expectation import Expectation, expectations, free_bits, learnt, rewritten
from keisoku.ground.frame.headers import Ends, Headers
from keisoku.ground.frame.stack import parse
from keisoku.ground.frame.variants import Frames
from keisoku.subjects.device.engine.traffic import Route, Traffic
from keisoku.subjects.device.record.changes import StreamChanges
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial

MOST_FREE_WORDS, WORD_BYTES = 6, 8
"""Fields that may become anything are in so many words of a frame at most (core/src/frame/view.rs)."""
Parts = tuple[bytes, bytes, int, bool, int]
"""A table as the core takes it."""


def parts(tables: Sequence[Frames]) -> list[Parts]:
    """Tables as the core takes them."""
    return [(table.bytes_, table.lengths.tobytes(), table.checked_from, True, table.room_bytes) for table in tables]


@dataclass(frozen=True)
class Watched:
    """What the streams of a trial are expected to look like when they arrive."""

    sent: list[Frames]
    expected: list[Frames]
    texts: list[tuple[str, ...]]
    """What each stream's device is expected to change."""
    free_fields: tuple[str, ...] = ()
    """Fields that may become anything."""
    free_bits: tuple[tuple[int, int], ...] = ()
    """Bytes of the expected frames, each with its free bits."""
    arrivals: bool = False
    """No frame can arrive as expected, so that each header that arrives is a kind."""

    def complete(self, facts: Facts) -> Facts:
        """The facts with the frame that was expected beside each kind of changed ones."""
        if self.arrivals:
            moved = [one.model_copy(update={"changes": None, "arrivals": one.changes}) for one in facts.streams]
            return facts.model_copy(update={"streams": moved})

        def described(place: int, changes: StreamChanges) -> StreamChanges:
            table = self.expected[place]
            kinds = []
            for kind in changes.kinds:
                frame = table.frame(kind.variant)
                sent = frame[: table.checked_from].hex()
                own = {"sent": sent, "sent_length": len(frame), "header_bytes": table.checked_from}
                own["free"] = self.free_fields
                kinds.append(kind.model_copy(update=own))
            return changes.model_copy(update={"kinds": kinds, "expected": self.texts[place]})

        streams = [
            stream
            if stream.changes is None
            else stream.model_copy(update={"changes": described(place, stream.changes)})
            for place, stream in enumerate(facts.streams)
        ]
        return facts.model_copy(update={"streams": streams})


def watched(traffic: Traffic, trial: Trial, marks: bool = False) -> Watched | None:
    """Of a trial that watches changes, or with `marks` that watches marks.

    Raises PlanError for what cannot be watched, or for an expectation that fits no frame.
    """
    if trial.changes is None and not trial.arrivals and not (marks and trial.marks):
        return None
    sent = traffic.tables(trial)
    for table in sent:
        if len({int(length) for length in table.lengths}) > 1:
            raise PlanError("mix", "changes are watched in frames of one size", "give one size instead of a mix")
    if trial.arrivals:
        return Watched(sent, [_inverted(table) for table in sent], [()] * len(sent), arrivals=True)
    known = [_known(route, kind) for route, kind in traffic.ways(trial)]
    asked = expectations(trial.expected)
    named = {one.subject for one in asked}
    wanted = [(*(one for one in own if one.subject not in named), *asked) for own in known]
    if trial.learnt:
        wanted = [(*own, *expectations(learnt)) for own, learnt in zip(wanted, trial.learnt, strict=False)]
    expected = [rewritten(table, own) for table, own in zip(sent, wanted, strict=True)]
    for one in asked:
        tables = expected if one.is_free else sent
        if not any(one.fits(table.frame(0)[: table.checked_from]) for table in tables):
            raise PlanError("expect", f"'{one.text}' fits no frame of {sent[0].stack}", "name a header that is sent")
    fields, bits = _free(expected, wanted)
    return Watched(sent, expected, [tuple(one.text for one in own) for own in wanted], fields, bits)


def _inverted(table: Frames) -> Frames:
    """Frames of one size with headers that no device makes of these."""
    made = np.frombuffer(table.bytes_, np.uint8).reshape(table.count, -1).copy()
    made[:, : table.checked_from] ^= 0xFF
    return replace(table, bytes_=made.tobytes())


def _free(
    expected: Sequence[Frames], wanted: Sequence[Sequence[Expectation]]
) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Free fields, and where they are in the frames of all streams. Raises PlanError if they are not in one place."""
    fields: dict[str, None] = {}
    places = []
    for table, own in zip(expected, wanted, strict=True):
        frame = table.frame(0)
        places.append(free_bits(own, frame, table.checked_from))
        fields |= dict.fromkeys(name for one in own for name in one.free_fields(frame[: table.checked_from]))
    if any(other != places[0] for other in places):
        problem = f"{', '.join(fields)} are not at the same place in the frames of all streams"
        raise PlanError("expect", problem, "send streams with the same headers, or leave '=any' out")
    words = {place // WORD_BYTES for place in places[0]}
    if len(words) > MOST_FREE_WORDS:
        problem = f"{', '.join(fields)} and the checksums over them are in {len(words)} words of 8 bytes"
        raise PlanError("expect", problem, f"name fewer fields as 'any': at most {MOST_FREE_WORDS} words")
    return tuple(fields), tuple(sorted(places[0].items()))


def rewritings(
    made: Sequence[Mapping[str, Any]], sent: Sequence[Frames]
) -> list[tuple[dict[str, object], list[Parts]]]:
    """The rewritings of a simulated device (`SimulatedDevice.rewrite`), each with the frames that it makes."""
    found = []
    for rule in made:
        changes = expectations(rule["changes"])
        choice = {key: value for key, value in rule.items() if key != "changes"}
        if choice.get("stream") is not None:
            choice["stream"] -= 1
        found.append((choice, parts([rewritten(table, changes) for table in sent])))
    return found


def _known(route: Route, kind: str) -> tuple[Expectation, ...]:
    """What the device on this route is known to change."""
    if route.forward.stacks and route.arrives and kind in route.arrives:
        return _by_stacks(route, kind)
    if route.forward.next_hop_mac == route.forward.receiver_mac or kind == "ethernet":
        return ()
    hops = "IP.ttl=-1" if kind == "ipv4" else "IPv6.hlim=-1"
    own = route.last_hop_mac or "any"
    return expectations((f"Ether.dst={route.forward.receiver_mac}", f"Ether.src={own}", hops))


def _by_stacks(route: Route, kind: str) -> tuple[Expectation, ...]:
    """From the headers that are sent and those that arrive, as the lab knows both; none for a tunnel, some of whose
    fields are the device's choice."""
    if route.growth_bytes or route.forward.stacks[kind] == route.arrives[kind]:
        return ()
    ends = Ends(route.forward.source_mac, route.forward.next_hop_mac)
    headers = [Headers(parse(stack), ends) for stack in (route.forward.stacks[kind], route.arrives[kind])]
    size = max(one.least_frame_bytes for one in headers)
    frames = [one.frame(size) for one in headers]
    before, after = (Header(frame, len(frame), one.header_bytes) for frame, one in zip(frames, headers, strict=True))
    return learnt(before, after)
