"""Rows, flags and files of a mesh. It computes nothing but sums and extremes."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis.outage import Between
from keisoku.subjects.stream.outage.figures import (
    count_of,
    events,
    for_budget,
    longest_of,
    time_of,
)
from keisoku.subjects.stream.outage.mesh.analysis import MeshOutcome, Way
from keisoku.subjects.stream.outage.mesh.settings import MeshSettings
from keisoku.units import time_text

UNITS = {
    "s": "interruption interruption_from interruption_to budget begin onset convergence longest_stop blind",
    "": "sent received lost interruptions pairs affected affected_from affected_to never unknown not_sent",
}
LISTED = 100
"""Pairs that have a row of their own; a file has all."""
_NS_PER_S = 1e9


def longest(way: Way, found: MeshOutcome) -> Quantity:
    """The longest interruption from one end to another, in s."""
    return longest_of(way.flow.of_path, Between(0.0, 0.0, found.interval_ns + way.blind_ns))


def result_of(found: MeshOutcome, settings: MeshSettings, measurement: str, title: str) -> Result:
    """The result of a run."""
    return Result(
        measurement=measurement,
        title=title,
        rows=[_all(found, settings), *events(found.as_one()), *_ends(found), *_pairs(found)],
        flags=_flags(found),
        remarks=[
            phrase(
                "An interruption lasts from the last packet before it to the first one behind it, as they were sent."
                " Its ends are known to one interval of a pair ({interval}), its length to one on either side.",
                interval=time_text(found.interval_ns / _NS_PER_S),
            ),
            phrase(
                "Lengths are by the sender's clock alone. On the line of time they are placed by the clocks of all"
                " ends, which are known to {time}.",
                time=time_text(found.clocks_ns / _NS_PER_S),
            ),
        ],
    )


def _all(found: MeshOutcome, settings: MeshSettings) -> Row:
    figures = {
        "interruption": _worst(found.ways, found),
        "pairs": count_of(len(found.ways) + len(found.unknown)),
        "affected": count_of(sum(bool(way.flow.of_path) for way in found.ways)),
        "never": count_of(_never(found.ways)),
        "unknown": count_of(len(found.unknown)),
        **{name: count_of(sum(getattr(way.flow, name) for way in found.ways)) for name in ("sent", "received", "lost")},
    }
    if settings.allowed_s is not None:
        figures["budget"] = _for_budget(figures["interruption"], found, settings.allowed_s)
    remark = ""
    if found.unknown:
        remark = plural(
            "of {count} direction nothing is known, because its receiver could not be asked or heard nothing",
            "of {count} directions nothing is known, because their receivers could not be asked or heard nothing",
            count=len(found.unknown),
        )
    return Row(case=phrase("all pairs"), group=phrase("Mesh"), figures=figures, remark=remark)


def _for_budget(worst: Quantity, found: MeshOutcome, budget_s: float) -> Quantity:
    """As that of a single path; where a direction is not known, only what is known decides, which is a lower bound."""
    if found.unknown and worst.interval is not None:
        return Quantity(value=worst.interval.lower, unit="s", bound="at least")
    return for_budget(worst, budget_s)


def _worst(ways: Sequence[Way], found: MeshOutcome) -> Quantity:
    every = [one for way in ways for one in way.flow.of_path]
    blind_ns = max((way.blind_ns for way in ways), default=0.0)
    return longest_of(every, Between(0.0, 0.0, found.interval_ns + blind_ns))


def _never(ways: Sequence[Way]) -> int:
    return sum(way.flow.never for way in ways)


def _ends(found: MeshOutcome) -> list[Row]:
    """Of each end, what it sent and what was sent to it, and what its host did."""
    rows = []
    for place, name in enumerate(found.names):
        sides = {
            "from": [way for way in found.ways if way.sender == place],
            "to": [way for way in found.ways if way.receiver == place],
        }
        figures = {}
        for side, ways in sides.items():
            if ways:
                figures[f"interruption_{side}"] = _worst(ways, found)
                figures[f"affected_{side}"] = count_of(sum(bool(way.flow.of_path) for way in ways))
        host = found.hosts[place]
        if host is not None:
            figures |= {
                "never": count_of(_never([*sides["from"], *sides["to"]])),
                "not_sent": count_of(host.not_sent),
                "blind": Quantity(value=host.longest_blind_ns / _NS_PER_S, unit="s"),
                "longest_stop": Quantity(value=host.longest_ns / _NS_PER_S, unit="s"),
            }
        remark = "" if host is not None else phrase("it could not be asked afterwards")
        rows.append(Row(case=name, group=phrase("End"), figures=figures, remark=remark))
    return rows


def _pairs(found: MeshOutcome) -> list[Row]:
    """Those that were interrupted for longest, in the order of the ends."""
    ranked = sorted(found.ways, key=lambda way: (not way.flow.never, -way.flow.total.likely))
    shown = set(map(id, ranked[:LISTED]))
    rows = []
    for way in found.ways:
        if id(way) not in shown or (len(found.ways) > LISTED and not way.flow.of_path):
            continue
        flow = way.flow
        figures = {
            "interruption": longest(way, found),
            "interruptions": count_of(len(flow.of_path)),
            **{name: count_of(getattr(flow, name)) for name in ("sent", "received", "lost")},
        }
        if flow.of_path:
            figures["begin"] = time_of(max(flow.of_path, key=lambda one: one.length.likely).begin)
        remark = phrase("never came back") if flow.never else ""
        rows.append(Row(case=found.label(way), group=phrase("Pair"), figures=figures, remark=remark))
    return rows


def _flags(found: MeshOutcome) -> list[Flag]:
    flags = []
    whole = [name for place, name in enumerate(found.names) if _is_whole(place, found)]
    if whole and len(found.names) > 2:
        text = plural(
            "{names} was interrupted with every other end: look for the cause at it",
            "{names} were interrupted with every other end: look for the cause at them",
            count=len(whole),
            names=join_texts(", ", whole[:5] + ["…"] * (len(whole) > 5)),
        )
        flags.append(Flag(name="end-interrupted", text=text, figures={"ends": count_of(len(whole))}))
    away = [name for name, host in zip(found.names, found.hosts, strict=True) if host is not None and host.not_sent]
    if away:
        blind_ns = max(host.longest_blind_ns for host in found.hosts if host is not None)
        text = plural(
            "the host of {count} end was away at times and then sent nothing: nothing is known of its paths then",
            "the hosts of {count} ends were away at times and then sent nothing: nothing is known of their paths then",
            count=len(away),
        )
        figures = {"longest": Quantity(value=blind_ns / _NS_PER_S, unit="s")}
        flags.append(Flag(name="end-not-sent", text=text, figures=figures))
    of_host = sum(one.cause != "path" for way in found.ways for one in way.flow.interruptions)
    if of_host:
        text = plural(
            "the host of a receiver was stopped or had no room in {count} interruption, which is not the path's",
            "the hosts of receivers were stopped or had no room in {count} interruptions, which are not the path's",
            count=of_host,
        )
        flags.append(Flag(name="end-host", text=text))
    return flags


def _is_whole(place: int, found: MeshOutcome) -> bool:
    own = [way for way in found.ways if place in (way.sender, way.receiver)]
    others = [way for way in found.ways if place not in (way.sender, way.receiver)]
    whole = bool(own) and all(way.flow.of_path for way in own)
    return whole and not all(way.flow.of_path for way in others)


def matrix_lines(found: MeshOutcome) -> list[list[object]]:
    """Every direction of every pair for a CSV file; times in s, without an end where it never came back."""
    lines: list[list[object]] = [
        ["from", "to", "interruption", "least", "most", "interruptions", "sent", "received", "lost", "verdict"]
    ]
    for way in found.ways:
        worst, flow = longest(way, found), way.flow
        least, most = worst.bounds or (worst.value, worst.value)
        verdict = "never came back" if flow.never else "interrupted" if flow.of_path else "not interrupted"
        times = (f"{worst.value:.9f}", f"{least:.9f}", "" if flow.never else f"{most:.9f}")
        counts = (len(flow.of_path), flow.sent, flow.received, flow.lost)
        lines.append([found.names[way.sender], found.names[way.receiver], *times, *counts, verdict])
    for sender, receiver in found.unknown:
        lines.append([found.names[sender], found.names[receiver], *[""] * 7, "not known"])
    return lines
