"""Which header fields decide on the member of a flow: each is varied alone, with all others constant."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import ceil, log

from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import count
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.balance import FlowWay, flow_ways
from keisoku.subjects.device.procedure.balance.fields import HashField
from keisoku.subjects.device.procedure.balance.settings import TRIAL_FLOWS, prime
from keisoku.subjects.device.procedure.balance.tester import Tester
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

FIELD = phrase("Header field")
"""Header of the column of cases."""
NOTHING = phrase("none")
"""The case of the flows that do not differ."""
OVERLOOKED = 1e-6
"""The probability with which a field that decides takes one member only, at most."""
_LEAST_FLOWS = 21


def deciding_rows(
    tester: Tester, fields: Sequence[HashField], flows: Sequence[FlowWay], expected: Sequence[float]
) -> Generator[Trial, TrialRecord, list[Row]]:
    """A row for flows that do not differ, and one for each field: 'flows', and 'members' that they took. `flows` are
    those that differ in everything, which show how uneven the members are; `expected` is each member's share."""
    most = _largest_share(flows, expected)
    room = TRIAL_FLOWS // (len(fields) + 1)
    wanted = min(room, max(_LEAST_FLOWS, 1 + ceil(log(OVERLOOKED) / log(most))))
    sizes = [min(wanted, one.values()) for one in fields]
    alike = prime(sum(sizes) + wanted) - sum(sizes)
    sizes = [alike, *sizes]
    modify = [fields[0].constant(alike)]
    modify += [one.modifier(size, f"{tester.seed} alone") for one, size in zip(fields, sizes[1:], strict=True)]
    parts = [tester.flow([text], size, size / sum(sizes)) for text, size in zip(modify, sizes, strict=True)]
    record = yield from tester.measure(parts, tester.settings.frames_per_flow * sum(sizes))
    if not record.valid:
        remark = join_texts("; ", why_invalid(record))
        return [Row(frame_bytes=tester.size, case=NOTHING, group=FIELD, figures={}, remark=remark)]
    every = flow_ways(record.facts.streams)
    found, first = [], 0
    is_steady = True
    for place, size in enumerate(sizes):
        own = every[first : first + size]
        first += size
        members = {port for flow in own for port in flow.frames}
        if not place:
            is_steady = len(members) == 1
        remark = _remark(own, len(members), most ** (size - 1), is_first=not place, is_steady=is_steady)
        case = fields[place - 1].title if place else NOTHING
        figures = {"flows": count(size), "members": count(len(members))}
        row = Row(frame_bytes=tester.size, case=case, group=FIELD, figures=figures, trial=record.index, remark=remark)
        found.append(row)
    return found


def _largest_share(flows: Sequence[FlowWay], expected: Sequence[float]) -> float:
    """Of a member, as expected or as seen, where several are in use."""
    ports = [flow.port for flow in flows if flow.fate == "one"]
    seen = [ports.count(port) / len(ports) for port in set(ports)]
    return max([*expected, *seen]) if len(seen) > 1 else max(expected)


def _remark(flows: Sequence[FlowWay], members: int, chance: float, *, is_first: bool, is_steady: bool) -> str:
    if not members:
        return phrase("no flow arrived")
    if not is_steady:
        if is_first:
            return phrase("frames with the same headers take several members: the headers alone do not decide")
        return phrase("not known, as frames with the same headers take several members")
    if is_first:
        return phrase("frames with the same headers take one member")
    if any(flow.fate in ("sprayed", "copied") for flow in flows):
        return phrase("not known, as frames of one flow take several members")
    if members > 1:
        return phrase("decides")
    return phrase(
        "does not decide: a field that does would look like this with a probability of {chance:.1g}", chance=chance
    )
