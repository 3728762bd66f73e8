"""Result of tests of capacity: what the path carries with an interval, the maximum of RFC 9097, and what limited it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.ground.report import digits
from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.share import share
from keisoku.language import join_texts, phrase
from keisoku.subjects.path.unfinished import unfinished
from keisoku.subjects.stream.capacity.full import Full, lasting
from keisoku.subjects.stream.capacity.pdu import Activation
from keisoku.subjects.stream.capacity.rows import Reading
from keisoku.subjects.stream.capacity.settings import WAYS, CapacitySettings, Way
from keisoku.subjects.stream.capacity.sub_interval import SubIntervalSeen, sub_intervals

NAME = "stream capacity"
NAMES: dict[Way, str] = {"up": phrase("upload"), "down": phrase("download")}
CAPACITY = phrase("IP capacity")


@dataclass(frozen=True)
class DirectionFindings:
    """What is known of one direction."""

    way: Way
    subs: Sequence[SubIntervalSeen]
    full: Full
    """Of which the capacity is made: the path was full, this end was not the limit, no burst was passing."""
    burst: Sequence[SubIntervalSeen]
    """The first ones, if they were faster than what came later."""
    rtt_ms: int | None

    @classmethod
    def from_readings(cls, way: Way, readings: Sequence[Reading]) -> DirectionFindings:
        """From the rows of a direction."""
        subs = sub_intervals(readings)
        full, burst = lasting(subs)
        least = [one.seen.status.rtt_least_ms for one in readings]
        known = [one for one in least if one < 1 << 31]
        return cls(way, subs, full, burst, min(known, default=None))

    @property
    def maximum(self) -> SubIntervalSeen | None:
        """The fastest sub-interval (RFC 9097 §5.3)."""
        return max(self.subs, key=lambda one: one.bps, default=None)

    @property
    def limited(self) -> bool:
        """This end was the limit in the fastest one."""
        return self.maximum is not None and (self.maximum.receiver_limited or self.maximum.sender_limited)

    @property
    def capacity(self) -> Quantity | None:
        """What the path carries; a bound if it was never full by itself."""
        if self.full.enough:
            return self.full.quantity
        return None if self.maximum is None else Quantity(value=self.maximum.bps, unit="bit/s", bound="at least")


def analyse(
    settings: CapacitySettings, readings: Mapping[Way, Sequence[Reading]], facts: Mapping[str, Any]
) -> tuple[Result, list[DirectionFindings]]:
    """The result, and what it was made of, for its plot. `facts`: of each direction, what the server granted, and
    whether the far end went away."""
    found = [DirectionFindings.from_readings(way, readings[way]) for way in settings.ways if way in readings]
    missing = [NAMES[way] for way in settings.ways if way not in readings]
    flags = [flag for one in found for flag in _flags(one)]
    flags += [
        Flag(
            name="broke-off",
            text=phrase("{way}: nothing came from the far end any more before the test was over", way=NAMES[way]),
        )
        for way in settings.ways
        if facts.get(way, {}).get("broke_off")
    ]
    if missing:
        flags.append(unfinished([NAMES[one.way] for one in found], missing))
    result = Result(
        measurement=NAME,
        title=phrase("the IP capacity to {address}", address=settings.address),
        rows=[_row(one) for one in found],
        flags=flags,
        deviations=_deviations(facts),
        remarks=[
            phrase("rates are of IP packets with their headers"),
            phrase(
                "capacity: mean of the trial intervals of 50 ms in which the path was full; its interval of 95 % is for"
                " how they scatter in this test, and that of --repeat contains how tests differ"
            ),
            phrase("maximum: the fastest sub-interval (RFC 9097), without an interval"),
            phrase("whether the far end could not send or read faster is not known to UDPSTP"),
        ],
        sentence=join_texts(" ", [_sentence(one) for one in found]),
    )
    return result, found


def _row(found: DirectionFindings) -> Row:
    figures = {}
    capacity, maximum = found.capacity, found.maximum
    if capacity is not None:
        figures["capacity"] = capacity
    if maximum is not None:
        figures["maximum"] = Quantity(value=maximum.bps, unit="bit/s")
        figures["added_delay"] = Quantity(
            value=max(one.delay_most_ms for one in found.subs), unit="ms", uncertainty=1.0, covers="resolution"
        )
        offered = sum(one.datagrams + one.lost for one in found.subs)
        if offered:
            figures["lost"] = share(sum(one.lost for one in found.subs), offered)
    if found.rtt_ms is not None:
        figures["least_rtt"] = Quantity(value=found.rtt_ms, unit="ms", uncertainty=1.0, covers="resolution")
    return Row(case=NAMES[found.way], figures=figures, group=CAPACITY, remark=_remark(found))


def _remark(found: DirectionFindings) -> str:
    if found.maximum is None:
        return phrase("no sub-interval came to its end")
    busy = phrase("this end was busy for {share} % of the time", share=round(100 * found.maximum.busy))
    if found.full.enough:
        part = len(found.full.trials) / sum(len(one.trials) for one in found.subs)
        return join_texts("; ", [phrase("the path was full for {share} % of the time", share=round(100 * part)), busy])
    if found.limited:
        return join_texts("; ", [phrase("the tester was the limit"), busy])
    return join_texts("; ", [phrase("the path was not full for long enough"), busy])


def _flags(found: DirectionFindings) -> list[Flag]:
    flags = []
    way = NAMES[found.way]
    if found.burst:
        fastest = max(one.bps for one in found.burst)
        flags.append(
            Flag(
                name="token-bucket",
                text=phrase(
                    "{way}: the first {seconds} s carried up to {fast}, later ones {slow}: a token bucket lets a burst"
                    " pass, or the rate fell during the test",
                    way=way,
                    seconds=round(max(one.at_s for one in found.burst)),
                    fast=digits.value_text(Quantity(value=fastest, unit="bit/s")),
                    slow=digits.value_text(Quantity(value=found.full.bps, unit="bit/s")),
                ),
                figures={"burst": Quantity(value=fastest, unit="bit/s")},
            )
        )
    if found.limited and not found.full.enough:
        reads = found.maximum is not None and found.maximum.receiver_limited
        flags.append(
            Flag(
                name="own-ceiling",
                text=phrase(
                    "{way}: this end did not read as fast as datagrams came: the capacity is a lower bound", way=way
                )
                if reads
                else phrase("{way}: this end did not send all that was due: the capacity is a lower bound", way=way),
            )
        )
    return flags


def _deviations(facts: Mapping[str, Any]) -> list[str]:
    """By what the servers granted, which need not be what was asked for."""
    usual, found = Activation(), []
    granted = [facts[way] for way in WAYS if way in facts]
    for seconds in sorted({one["duration_s"] for one in granted if one["duration_s"] < usual.duration_s}):
        found.append(
            phrase(
                "RFC 9097: a test of {seconds} s, shorter than the usual {usual} s",
                seconds=seconds,
                usual=usual.duration_s,
            )
        )
    for length_ms in sorted({one["sub_interval_ms"] for one in granted} - {usual.sub_interval_ms}):
        found.append(phrase("RFC 9097: sub-intervals of {seconds} s, instead of 1 s", seconds=f"{length_ms / 1000:g}"))
    return found


def _sentence(found: DirectionFindings) -> str:
    way, capacity = NAMES[found.way], found.capacity
    if capacity is None:
        return phrase("The capacity of the {way} was not measured.", way=way)
    rate = digits.text(capacity)
    if found.burst:
        return phrase("The {way} carries {rate} once a burst has passed.", way=way, rate=rate)
    return phrase("The {way} carries {rate}.", way=way, rate=rate)
