"""Result of a measurement of responsiveness: latency idle and loaded, round trips per minute, and the queues.

Each figure is that of every round, put together by `statistics/repeated.py`: packets of one round meet the same
queue, so their number says little about how sure a figure is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.repeated import combined
from keisoku.ground.statistics.share import share_of_groups
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.line.responsiveness.condition import LOADED, NAMES, WAYS, Condition, Way, conditions
from keisoku.subjects.line.responsiveness.grade import grades
from keisoku.subjects.line.responsiveness.outcome import Outcome, Times, by_condition
from keisoku.subjects.line.responsiveness.queue import Floor
from keisoku.subjects.line.responsiveness.queue_finding import BEFORE, KINDS, QueueFinding, queue_finding
from keisoku.subjects.line.responsiveness.rpm import responsiveness, trimmed_mean
from keisoku.subjects.line.responsiveness.settings import ResponsivenessSettings
from keisoku.subjects.path.unfinished import UNFINISHED

NAME = "line responsiveness"
WHILE, PARTS, QUEUE, HOP = (
    phrase("While"),
    phrase("Shortest 95 % of round trips"),
    phrase("Queue of"),
    phrase("Added at hop"),
)
Rounds = Mapping[Condition, Sequence[Outcome]]


def analyse(
    settings: ResponsivenessSettings, outcomes: Iterable[Outcome], repliers: Mapping[int, str]
) -> tuple[Result, dict[Condition, Times]]:
    """The result, and the sorted round trips of each condition in ns, for its plot. `repliers` are the hops, by TTL."""
    rounds = by_condition(outcomes)
    idle = rounds.get("idle", [])
    floor = Floor.from_idle(idle)
    rows: list[Row] = []
    queues: dict[Way, QueueFinding] = {}
    if floor is not None:
        rows += [_condition_row(rounds, one) for one in NAMES if rounds.get(one)]
        rows += [row for one in NAMES if (row := _part_row(rounds, one)) is not None]
        queues = {way: found for way in WAYS if (found := queue_finding(rounds, floor, way)) is not None}
        rows += [Row(case=NAMES[way], group=QUEUE, **_queue_row(found, repliers)) for way, found in queues.items()]
        rows += _hop_rows(queues, repliers)
    result = Result(
        measurement=NAME,
        title=phrase("responsiveness of the path to {address}", address=settings.address),
        rows=rows,
        flags=_flags(settings, rounds, queues),
        deviations=_deviations(settings),
        remarks=_remarks(settings, repliers),
        sentence=_sentence(rows, queues, repliers),
    )
    curves = {
        one: np.sort(np.concatenate([of.round_trips_ns for of in rounds[one]])) for one in NAMES if rounds.get(one)
    }
    return result, {one: times for one, times in curves.items() if len(times)}


def _condition_row(rounds: Rounds, condition: Condition) -> Row:
    mine = rounds[condition]
    figures: dict[str, Quantity] = {}

    def put(name: str, unit: str, value: Callable[[Outcome], float | None]) -> None:
        found = [one for one in map(value, mine) if one is not None]
        if len(found) == len(mine):
            figures[name] = combined([Quantity(value=one, unit=unit) for one in found])

    trips = [found for one in mine if (found := _rpm(one)) is not None]
    if trips and len(trips) == len(mine):
        figures["rpm"] = combined(trips)
    put("median", "ns", _quantile(0.5))
    put("p95", "ns", _quantile(0.95))
    added = _added(rounds, condition)
    if added is not None:
        figures["added"] = added
    if any(one.sent for one in mine):
        # An answer can come in the round after that of its packet.
        lost = [max(0, one.sent - one.answered) for one in mine]
        figures["lost"] = share_of_groups(lost, [one.sent for one in mine])
    for way in WAYS:
        if condition in (way, "both"):
            put(f"{way}_rate", "bit/s", lambda one, way=way: one.rates_bps.get(way))  # type: ignore[misc]
    return Row(case=NAMES[condition], figures=figures, group=WHILE, remark="" if added is None else _graded(added))


def _quantile(share: float) -> Callable[[Outcome], float | None]:
    def found(one: Outcome) -> float | None:
        return float(np.quantile(one.round_trips_ns, share)) if len(one.round_trips_ns) else None

    return found


def _added(rounds: Rounds, condition: Condition) -> Quantity | None:
    """By how much the median under load is above the median of the idle times of the same round."""
    if condition == "idle":
        return None
    pairs = zip(rounds["idle"], rounds[condition], strict=False)
    middle = _quantile(0.5)
    values = [(middle(idle), middle(loaded)) for idle, loaded in pairs]
    found = [loaded - idle for idle, loaded in values if idle is not None and loaded is not None]
    return combined([Quantity(value=one, unit="ns") for one in found]) if found else None


def _graded(added: Quantity) -> str:
    found, best, worst = grades(added)
    if best == worst:
        return phrase("grade {grade}", grade=found)
    return phrase("grade {grade} (by the interval {best} to {worst})", grade=found, best=best, worst=worst)


def _rpm(one: Outcome) -> Quantity | None:
    own = [times for times in one.own_ns.values() if len(times)]
    return responsiveness(
        trimmed_mean(one.connect_ns),
        trimmed_mean(one.answer_ns),
        trimmed_mean(np.concatenate(own)) if own else None,
    )


def _part_row(rounds: Rounds, condition: Condition) -> Row | None:
    parts: dict[str, Callable[[Outcome], Times]] = {
        "connection": lambda one: one.connect_ns,
        "request": lambda one: one.answer_ns,
        "loading_flows": lambda one: np.concatenate([np.empty(0), *one.own_ns.values()]),
    }
    figures = {}
    for name, times in parts.items():
        means = [trimmed_mean(times(one)) for one in rounds.get(condition, ())]
        finite = [value for value in means if value is not None and np.isfinite(value)]
        if finite and len(finite) == len(means):
            figures[name] = combined([Quantity(value=value, unit="ns") for value in finite])
    return Row(case=NAMES[condition], figures=figures, group=PARTS) if figures else None


def _queue_row(found: QueueFinding, repliers: Mapping[int, str]) -> dict[str, object]:
    return {"figures": found.figures, "remark": _in_words(found, repliers)}


def _in_words(found: QueueFinding, repliers: Mapping[int, str]) -> str:
    parts = [KINDS[found.kind], BEFORE[found.before]]
    if found.kind == "none":
        return parts[0]
    if found.hop is not None:
        parts.append(phrase("at hop {hop} ({address})", hop=found.hop, address=repliers.get(found.hop, "?")))
    elif repliers:
        parts.append(phrase("packets to hops do not show where"))
    return join_texts("; ", [part for part in parts if part])


def _hop_rows(queues: Mapping[Way, QueueFinding], repliers: Mapping[int, str]) -> list[Row]:
    rows = []
    for ttl in sorted({ttl for one in queues.values() for ttl in one.added}):
        figures = {str(NAMES[way]): one.added[ttl] for way, one in queues.items() if ttl in one.added}
        rows.append(Row(case=f"{ttl} ({repliers.get(ttl, '?')})", figures=figures, group=HOP))
    return rows


def _flags(settings: ResponsivenessSettings, rounds: Rounds, queues: Mapping[Way, QueueFinding]) -> list[Flag]:
    flags = []
    for way, found in queues.items():
        if found.not_offered:
            text = phrase(
                "{way}: this host or the far one did not offer more than the path carried, so the length of the queue "
                "is not known",
                way=NAMES[way],
            )
            flags.append(Flag(name="not-offered", text=text))
        if found.not_full:
            text = phrase(
                "{way}: the queue still grew at the end of the overload: it is longer than shown; give a longer --ramp",
                way=NAMES[way],
            )
            flags.append(Flag(name="still-filling", text=text))
    if sum(one.set_clocks for ones in rounds.values() for one in ones):
        text = phrase("a clock of either host was set meanwhile; what was measured on one side of it is left out")
        flags.append(Flag(name="clock-jumped", text=text))
    wanted = conditions(settings)
    missing = settings.repetitions - min((len(rounds.get(one, ())) for one in wanted if one in NAMES), default=0)
    if missing > 0:
        text = phrase(
            "the measurement was stopped before its end: {count} of {repetitions} rounds",
            count=settings.repetitions - missing,
            repetitions=settings.repetitions,
        )
        flags.append(Flag(name=UNFINISHED, text=text))
    return flags


def _deviations(settings: ResponsivenessSettings) -> list[str]:
    return [
        plural(
            "load: {count} TCP flow a direction from the start; none is added until a rate is stable",
            "load: {count} TCP flows a direction from the start; none are added until a rate is stable",
            count=settings.streams,
        ),
        phrase("foreign probes: requests and responses of 64 byte on new TCP connections, without TLS and HTTP"),
        phrase(
            "probes on the loading flows: the round trip that TCP estimates, which the draft allows as a substitute"
        ),
        phrase("stability: not of moving averages in one run; the intervals say how rounds differ"),
    ]


def _remarks(settings: ResponsivenessSettings, repliers: Mapping[int, str]) -> list[str]:
    remarks = [
        phrase(
            "figures are medians of {rounds} rounds with intervals of 95 %; in each condition {duration_s:g} s count, "
            "after a ramp of {ramp_s:g} s",
            rounds=settings.repetitions,
            duration_s=settings.duration_s,
            ramp_s=settings.ramp_s,
        ),
        phrase(
            "rpm: draft-ietf-ippm-responsiveness, 'For the TCP-Only Case', by means of the shortest 95 %; idle: of the "
            "connections that load nothing"
        ),
        phrase(
            "waits are one-way, above the least of the idle path; a queue in this host's own interface, before its "
            "kernel stamps a packet, is not in them"
        ),
        phrase("grades: A+ below 5 ms added, A 30, B 60, C 200, D 400, F above"),
    ]
    if settings.max_hops and not repliers:
        remarks.append(phrase("no hop of the path answered packets that expire there, so the place is not known"))
    return remarks


def _sentence(rows: Sequence[Row], queues: Mapping[Way, QueueFinding], repliers: Mapping[int, str]) -> str:
    loaded = [row for row in rows if row.group == WHILE and row.case in [NAMES[one] for one in LOADED]]
    parts = [phrase("{case}: {graded}", case=row.case, graded=row.remark) for row in loaded if row.remark]
    parts += [
        phrase("queue of the {case}: {said}", case=NAMES[way], said=_in_words(found, repliers))
        for way, found in queues.items()
        if found.kind != "none"
    ]
    return join_texts("; ", parts)
