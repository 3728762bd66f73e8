"""Tagged metrics: which frames of a flow carry which value in the bits that a script tags.

A tag refers to the sent frames: frames of one value are a stream of their own, so their counts, loss and latency are
known even if the device changes the field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

from keisoku.errors import PlanError
from keisoku.faces.otg.flow.header import Layer, Packet
from keisoku.faces.otg.flow.pattern import Values
from keisoku.ground.frame.modifier import MOST_VALUES

MOST_CLASSES = 256
"""Largest number of combinations of tag values in a flow."""

TagKey = tuple[tuple[str, str], ...]
"""Names of a flow's tags, and the value of each, in hexadecimal."""


@dataclass(frozen=True)
class TagClass:
    """The frames of a flow with the same values; frame n of the flow is one of them if n modulo `period` is in
    `places`."""

    key: TagKey
    packet: Packet
    frame_bytes: tuple[int, ...]
    places: tuple[int, ...]
    period: int
    lane: int = 0
    """Which part of the flow's conversations it is, each of which leaves by one member of a LAG."""

    @property
    def share(self) -> float:
        """Share of the flow's frames."""
        return len(self.places) / self.period

    def frames_of(self, count: int) -> int:
        """How many of a flow's first `count` frames are of this class."""
        rounds, rest = divmod(count, self.period)
        return rounds * len(self.places) + sum(place < rest for place in self.places)


def classes(
    packet: Packet, frame_bytes: tuple[int, ...], path: str, by_size: bool, lanes: int = 1
) -> tuple[TagClass, ...]:
    """The classes of a flow; one without a key if nothing is tagged. `by_size`: a class has frames of one size, so that
    several may have the same key. Conversations, which are different headers, take turns with so many `lanes`.
    Raises PlanError, with the path, for too many."""
    varied = [found for layer in packet.layers for found in layer.patterns.values()]
    tags = [(tag, found) for found in varied for tag in found.tags]
    by_size = by_size and len(set(frame_bytes)) > 1
    if not tags and not by_size and (lanes == 1 or not varied):
        return (TagClass((), packet, frame_bytes, (0,), 1),)
    # What tells the classes apart; anything else may repeat later. Conversations are all headers.
    telling = [len(frame_bytes)] if by_size else []
    telling += [len(found.numbers) for found in varied if found.tags or lanes > 1]
    period = lcm(*telling)
    if period > MOST_VALUES:
        what = "the tags of a flow" if tags or by_size else "the headers of a LAG's flow"
        problem = f"{what} must repeat after at most {MOST_VALUES} frames, and these repeat after {period}"
        raise PlanError(f"{path}.packet", problem, "use fewer values, or counts that divide each other")
    places: dict[tuple[TagKey, int | None, int], list[int]] = {}
    conversations: dict[tuple[int, ...], int] = {}
    for place in range(period):
        key = tuple((tag.name, tag.value(found.numbers[place % len(found.numbers)])) for tag, found in tags)
        size = frame_bytes[place % len(frame_bytes)] if by_size else None
        headers = tuple(found.numbers[place % len(found.numbers)] for found in varied) if lanes > 1 else ()
        lane = conversations.setdefault(headers, len(conversations)) % lanes
        places.setdefault((key, size, lane), []).append(place)
    if len(places) > MOST_CLASSES:
        counted = "tags and sizes" if by_size else "tags"
        problem = f"its {counted} have {len(places)} values, and at most {MOST_CLASSES} are possible"
        raise PlanError(f"{path}.packet", problem, "tag fewer bits, or use fewer values")
    return tuple(
        TagClass(
            key,
            Packet(tuple(_only(layer, own, period, path) for layer in packet.layers)),
            tuple(frame_bytes[place % len(frame_bytes)] for place in _frames(own, period, len(frame_bytes))),
            tuple(own),
            period,
            lane,
        )
        for (key, _, lane), own in places.items()
    )


def _frames(places: Sequence[int], period: int, values: int) -> list[int]:
    """The first frames of a class, in the flow, until something that repeats after so many values does so in the
    class."""
    return [begin + place for begin in range(0, lcm(period, values), period) for place in places]


def _only(layer: Layer, places: Sequence[int], period: int, path: str) -> Layer:
    """The layer in those frames of a flow only."""
    given, varied = dict(layer.given), dict(layer.varied)
    for field in layer.varied:
        found = layer.patterns[field]
        numbers = tuple(
            found.numbers[place % len(found.numbers)] for place in _frames(places, period, len(found.numbers))
        )
        if len(numbers) > MOST_VALUES:
            problem = f"{field} repeats in the frames of one tag after {len(numbers)}, and at most {MOST_VALUES} can be"
            raise PlanError(f"{path}.packet", problem, "use fewer values, or counts that divide each other")
        own = Values(numbers if len(set(numbers)) > 1 else numbers[:1], found.kind)
        if own.fixed is None:
            varied[field] = own.modifier()
        else:
            given[field] = own.fixed
            del varied[field]
    return replace(layer, given=given, varied=varied)
