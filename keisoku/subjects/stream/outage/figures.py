"""Rows, flags and files of a measurement of interruptions. It computes nothing but sums and extremes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import strerror

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis.outage import Between
from keisoku.subjects.stream.outage.analysis import Ends, FlowOutcome, Interruption, Outcome
from keisoku.subjects.stream.outage.settings import CourseSettings
from keisoku.units import time_text

UNITS = {
    "s": "interruption total budget begin end onset convergence longest_stop blind",
    "ns": "delay_before delay_after",
    "": "sent received lost held duplicated reordered interruptions affected never flows stops not_sent",
}
_NS_PER_S = 1e9
LISTED = 50
"""Interruptions that have a row of their own; a file has all."""
_WORST = 10
_SHOWN = 60
"""Characters of a command or a marker in the name of its row."""
_STEP_NS = 1e6
FORWARD, REVERSE = "forward", "reverse"


def result_of(found: Outcome, settings: CourseSettings, measurement: str, title: str) -> Result:
    """The result of a run."""
    rows = [_direction(name, flows, found, settings) for name, flows in found.directions.items()]
    if found.forward_unknown:
        missing = phrase(
            "the far end could not be asked afterwards, so that nothing is known of what it has received: start it"
            " again, or measure again when it answers"
        )
        rows.insert(0, Row(case=FORWARD, group=phrase("Direction"), figures={}, remark=missing))
    rows += events(found)
    rows += _listed(found)
    rows += _worst(found)
    rows += [_end(name, end) for name, end in found.ends.items()]
    return Result(
        measurement=measurement,
        title=title,
        rows=rows,
        flags=_flags(found),
        remarks=[
            phrase(
                "An interruption lasts from the last packet before it to the first one behind it, as they were sent."
                " Its ends are known to one interval of a flow ({interval}), its length to one on either side.",
                interval=time_text(found.interval_ns / _NS_PER_S),
            ),
            phrase(
                "What the hosts of both ends did is not the path's: packets that were never sent, that a host had no"
                " room for, or that came while it was stopped. The group of ends has it."
            ),
        ],
    )


def interruptions(found: Outcome) -> list[Interruption]:
    """All of the path, in the order of time."""
    every = (one for flows in found.directions.values() for flow in flows for one in flow.of_path)
    return sorted(every, key=lambda one: one.begin.likely)


def _direction(name: str, flows: Sequence[FlowOutcome], found: Outcome, settings: CourseSettings) -> Row:
    every = [one for flow in flows for one in flow.of_path]
    affected = [flow for flow in flows if flow.of_path]
    nothing = _nothing(found, name)
    figures = {
        "interruption": _longest(every, found, name),
        "total": time_of(max((flow.total for flow in affected), key=lambda time: time.likely, default=nothing)),
        **_counts(flows),
        "interruptions": count_of(len(every)),
        "flows": count_of(len(flows)),
        "affected": count_of(len(affected)),
        "never": count_of(sum(flow.never for flow in flows)),
    }
    if settings.allowed_s is not None:
        figures["budget"] = for_budget(_longest(every, found, name), settings.allowed_s)
    remarks = []
    if away := sum(flow.never for flow in flows):
        text = plural("{count} flow never came back", "{count} flows never came back", count=away)
        remarks.append(text)
    if unlisted := sum(flow.unlisted for flow in flows):
        remarks.append(
            plural(
                "{count} interruption was too many for the list and has no delays",
                "{count} interruptions were too many for the list and have no delays",
                count=unlisted,
            )
        )
    return Row(case=name, group=phrase("Direction"), figures=figures, remark=join_texts("; ", remarks))


def _counts(flows: Sequence[FlowOutcome]) -> dict[str, Quantity]:
    names = ("sent", "received", "lost", "held", "duplicated", "reordered")
    return {name: count_of(sum(int(getattr(flow, name)) for flow in flows)) for name in names}


def _longest(every: Sequence[Interruption], found: Outcome, direction: str) -> Quantity:
    """Of those in a direction; where the sender was away, one as long as that may have been overlooked."""
    return longest_of(every, _nothing(found, direction))


def longest_of(every: Sequence[Interruption], nothing: Between) -> Quantity:
    """In s; `nothing` is what an interruption may have lasted that was not seen."""
    if not every:
        return time_of(nothing)
    if never := [one for one in every if one.ended == "never"]:
        return time_of(max((one.length for one in never), key=lambda time: time.lowest))
    lengths = [one.length for one in every]
    ends = (
        max(one.lowest for one in lengths),
        max(one.likely for one in lengths),
        max(one.highest for one in (*lengths, nothing)),
    )
    return time_of(Between(*ends))


def _nothing(found: Outcome, direction: str) -> Between:
    """An interruption that falls between two packets is not seen, also where the sender was away between them."""
    sender = found.ends.get("far" if direction == REVERSE else "near")
    return Between(0.0, 0.0, found.interval_ns + (0.0 if sender is None else sender.longest_blind_ns))


def for_budget(longest: Quantity, budget_s: float) -> Quantity:
    """The end of the interval that decides, as a bound; where the budget lies inside, the lower one decides nothing."""
    if longest.interval is None:
        return longest
    if longest.interval.upper <= budget_s:
        return Quantity(value=longest.interval.upper, unit="s", bound="at most")
    return Quantity(value=longest.interval.lower, unit="s", bound="at least")


def events(found: Outcome) -> list[Row]:
    """From each event, command or marker to the next: what was interrupted then."""
    every, rows = interruptions(found), []
    for place, mark in enumerate(found.marks):
        stop = found.marks[place + 1]["begun_ns"] if place + 1 < len(found.marks) else math.inf
        moment = Between.from_ends(mark["begun_ns"], mark["ended_ns"])
        own = [one for one in every if moment.lowest <= one.begin.highest and one.begin.highest < stop]
        flows = {(one.direction, one.flow) for one in own}
        figures = {
            "begin": time_of(moment),
            "affected": count_of(len(flows)),
            "lost": count_of(sum(one.lost for one in own)),
        }
        if own:
            longest = max(own, key=lambda one: one.length.likely)
            figures["interruption"] = _longest(own, found, longest.direction)
            figures["onset"] = time_of(_least([one.begin.since(moment).at_least(0.0) for one in own]))
            figures["convergence"] = time_of(_most([one.end.since(moment).at_least(0.0) for one in own]))
        remark = "" if own else phrase("no interruption")
        if own and any(one.ended == "never" for one in own):
            remark = phrase("not back until the end")
        name = join_texts(": ", [KINDS[str(mark["kind"])], str(mark["text"])[:_SHOWN]])
        rows.append(Row(case=name, group=phrase("Event"), figures=figures, remark=remark))
    return rows


KINDS = {
    "event": phrase("event"),
    "undo": phrase("undone"),
    "command": phrase("command"),
    "end": phrase("command over"),
    "marker": phrase("marker"),
}


def _listed(found: Outcome) -> list[Row]:
    every = interruptions(found)
    longest = sorted(every, key=lambda one: -one.length.likely)[:LISTED]
    rows = []
    for one in sorted(longest, key=lambda one: one.begin.likely):
        figures = {
            "begin": time_of(one.begin),
            "end": time_of(one.end),
            "interruption": time_of(one.length),
            "lost": count_of(one.lost),
            "held": count_of(one.held),
        }
        delays = {"delay_before": one.delay_before_ns, "delay_after": one.delay_after_ns}
        figures |= {name: Quantity(value=ns, unit="ns") for name, ns in delays.items() if ns is not None}
        case = phrase(
            "{direction}, flow {flow}, at {time:.4f} s",
            direction=one.direction,
            flow=one.flow + 1,
            time=one.begin.likely / _NS_PER_S,
        )
        rows.append(Row(case=case, group=phrase("Interruption"), figures=figures, remark=ENDED[one.ended]))
    return rows


ENDED = {
    "answered again": "",
    "new connection": phrase("came back on a new connection"),
    "same session": phrase("came back on the same socket"),
    "another address": phrase("came back at another address"),
    "new session": phrase("came back by a far end that was started again"),
    "never": phrase("never came back"),
}


def _worst(found: Outcome) -> list[Row]:
    """The flows that were interrupted for longest, if there are several."""
    flows = [(name, flow) for name, every in found.directions.items() for flow in every]
    affected = [(name, flow) for name, flow in flows if flow.of_path]
    if len(flows) <= len(found.directions):
        return []
    worst = sorted(affected, key=lambda one: (-one[1].never, -one[1].total.likely))[:_WORST]
    return [
        Row(
            case=phrase("{direction}, flow {flow}, from {local}", direction=name, flow=flow.flow + 1, local=flow.local),
            group=phrase("Worst flows"),
            figures={
                "interruption": _longest(flow.of_path, found, name),
                "total": time_of(flow.total),
                "interruptions": count_of(len(flow.of_path)),
                **_counts([flow]),
            },
            remark=phrase("never came back") if flow.never else "",
        )
        for name, flow in worst
    ]


def _end(name: str, end: Ends) -> Row:
    figures = {
        "stops": count_of(end.stops),
        "longest_stop": Quantity(value=end.longest_ns / _NS_PER_S, unit="s"),
        "not_sent": count_of(end.not_sent),
        "blind": Quantity(value=end.blind_ns / _NS_PER_S, unit="s"),
    }
    refused = [
        plural(
            "its kernel refused to send {count} packet: {why}",
            "its kernel refused to send {count} packets: {why}",
            count=count,
            why=strerror(int(number)),
        )
        for number, count in end.refused.items()
    ]
    case = phrase("near end") if name == "near" else phrase("far end")
    return Row(case=case, group=phrase("Hosts of the ends"), figures=figures, remark=join_texts("; ", refused))


def _flags(found: Outcome) -> list[Flag]:
    flags = []
    for name, end in found.ends.items():
        host = phrase("this host") if name == "near" else phrase("the far host")
        of_host = [
            one
            for flows in found.directions.values()
            for flow in flows
            for one in flow.interruptions
            if one.cause == f"{name} host"
        ]
        if of_host:
            text = plural(
                "{host} was stopped or had no room for packets in {count} interruption, which is not the path's",
                "{host} was stopped or had no room for packets in {count} interruptions, which are not the path's",
                host=host,
                count=len(of_host),
            )
            longest = max(one.length.likely for one in of_host) / _NS_PER_S
            flags.append(Flag(name=f"{name}-host", text=text, figures={"longest": Quantity(value=longest, unit="s")}))
        if end.not_sent:
            text = phrase(
                "{host} was away at times and then sent nothing: nothing is known of the path then", host=host
            )
            blind = Quantity(value=end.blind_ns / _NS_PER_S, unit="s")
            flags.append(Flag(name=f"{name}-not-sent", text=text, figures={"for": blind}))
        if steps := [step for step in end.steps_ns if abs(step) >= _STEP_NS]:
            text = phrase("the time of day of {host} was set meanwhile, which changes no figure here", host=host)
            by = Quantity(value=sum(steps) / _NS_PER_S, unit="s")
            flags.append(Flag(name=f"{name}-time-stepped", text=text, figures={"by": by}))
        if end.suspended_ns:
            text = phrase("{host} was suspended meanwhile", host=host)
            by = Quantity(value=sum(end.suspended_ns) / _NS_PER_S, unit="s")
            flags.append(Flag(name=f"{name}-suspended", text=text, figures={"for": by}))
    return flags


def interruption_lines(found: Outcome) -> list[list[object]]:
    """Every interruption for a CSV file, those of the hosts as well; times in s."""
    head = ["direction", "flow", "begin_from", "begin_to", "end_from", "end_to", "least", "most"]
    lines: list[list[object]] = [[*head, "lost", "held", "cause", "ended"]]
    for flows in found.directions.values():
        for flow in flows:
            for one in flow.interruptions:
                times = (one.begin.lowest, one.begin.highest, one.end.lowest, one.end.highest)
                lengths = (one.length.lowest, one.length.highest)
                lines.append(
                    [
                        one.direction,
                        one.flow + 1,
                        *(f"{time / _NS_PER_S:.9f}" for time in (*times, *lengths)),
                        one.lost,
                        one.held,
                        one.cause,
                        one.ended,
                    ]
                )
    return lines


def count_of(number: int) -> Quantity:
    """An exact count."""
    return Quantity(value=number, unit="", uncertainty=0.0)


def _least(times: Sequence[Between]) -> Between:
    return Between(*(min(getattr(time, end) for time in times) for end in ("lowest", "likely", "highest")))


def _most(times: Sequence[Between]) -> Between:
    return Between(*(max(getattr(time, end) for time in times) for end in ("lowest", "likely", "highest")))


def time_of(time: Between) -> Quantity:
    """In s: where it is likely, and the ends beyond which it cannot be."""
    if not math.isfinite(time.highest):
        return Quantity(value=time.lowest / _NS_PER_S, unit="s", bound="at least")
    interval = Interval(lower=time.lowest / _NS_PER_S, upper=time.highest / _NS_PER_S, confidence=1.0)
    return Quantity(value=time.likely / _NS_PER_S, unit="s", interval=interval, covers="resolution")
