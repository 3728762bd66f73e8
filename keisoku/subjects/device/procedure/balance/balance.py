"""Balance: which member of an ECMP group or LAG each flow takes, how even that is, and which header fields decide.

Each flow has an account of its own, so its member is known and not estimated: what is uncertain is only how further
flows would fall. A hash is judged by flows, as RFC 2992 does; elephants show what that means for bytes.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from keisoku.errors import PlanError
from keisoku.ground.report import digits
from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.multinomial import deviation_found
from keisoku.ground.statistics.quantity import Interval, Quantity, count
from keisoku.language import join_texts, phrase, plural, sentence_case
from keisoku.subjects.device.analysis.balance import FlowWay, Spraying, Verdict, flow_ways, judge, spraying
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.event_settings import names_only
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.procedure.balance.deciding import FIELD, deciding_rows
from keisoku.subjects.device.procedure.balance.fields import HashField, hash_fields
from keisoku.subjects.device.procedure.balance.moves import EVENT, moving_rows
from keisoku.subjects.device.procedure.balance.plot import balance_plot
from keisoku.subjects.device.procedure.balance.settings import (
    ELEPHANT,
    TRIAL_FLOWS,
    BalanceSettings,
    confidence_of,
    members_of,
    parts,
    prime,
)
from keisoku.subjects.device.procedure.balance.tester import Tester
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial import Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

MEMBER = phrase("Member")
"""Header of the column of cases of the members' rows."""
_NO_MEMBERS = phrase("not measured, as most flows have no member of their own")
ALL = phrase("all members")
"""The case of the row with the verdict."""
_FLOWS_A_MEMBER = 64
"""That are followed over time while an event happens."""


def balance(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """Rows of each size: all members ('deviation', %, the largest of a member; 'flows', 'members' with flows; of the
    flows those 'sprayed', 'copied' and 'absent'; 'lost' and 'reordered' frames, 'stay' frames at a member), then one
    each member ('flow_share', % of the flows, 'expected_share', %, 'flows', 'frames', and with elephants
    'frame_share', %). With --fields one each field ('flows', 'members' that they took). With --event one each event
    ('flows', 'moved', 'moved_needlessly', 'interruption', ns).

    Raises PlanError for weights, fields or networks that do not fit the ports and headers.
    """
    settings, members = inputs.plan.settings_of(BalanceSettings), members_of(inputs.plan)
    expected, confidence = settings.expected(len(members)), confidence_of(inputs.plan)
    fields = hash_fields(inputs.plan.contents()[0].headers, settings)
    rows: list[Row] = []
    flags: list[Flag] = []
    remarks = list(_foretold(inputs.plan, inputs.capabilities))
    for size in inputs.plan.frame_bytes:
        tester = Tester(inputs, size, members)
        spread = _Spread(members, expected, confidence)
        for number, flows in enumerate(parts(settings.number(expected, confidence))):
            sent, frames = _flows(tester, fields, flows, number)
            spread.add((yield from tester.measure(sent, frames)))
        rows += spread.rows(inputs.plan, size, elephants=bool(settings.elephants))
        flags += spread.flags(size)
        if spread.verdict is None:
            groups = [group for asked, group in ((settings.fields, FIELD), (settings.event, EVENT)) if asked]
            rows += [Row(frame_bytes=size, figures={}, group=group, remark=_NO_MEMBERS) for group in groups]
            continue
        if settings.fields:
            rows += yield from deciding_rows(tester, fields, spread.every, expected)
        if settings.event:
            flows = min(TRIAL_FLOWS, prime(_FLOWS_A_MEMBER * len(members)))
            rows += yield from moving_rows(tester, _modifiers(tester, fields, flows, "event"), flows)
    return Result(
        measurement="balance",
        rows=rows,
        flags=flags,
        deviations=[phrase("the DUT is simulated: results describe the model")]
        if inputs.capabilities.simulated
        else [],
        remarks=remarks,
    )


def _modifiers(tester: Tester, fields: Sequence[HashField], flows: int, part: str) -> list[str]:
    """By which flows differ: all fields that were named, or the usual ones."""
    usual = [one for one in fields if one.is_usual or tester.settings.varied]
    return [one.modifier(flows, f"{tester.seed} {part}") for one in usual]


def _flows(tester: Tester, fields: Sequence[HashField], flows: int, number: int) -> tuple[list[Flow], int]:
    """The flows of a trial, and how many frames they have; the first trial has the elephants."""
    modify, frames = _modifiers(tester, fields, flows, str(number)), tester.settings.frames_per_flow
    elephants = min(tester.settings.elephants, flows - 1) if number == 0 else 0
    if not elephants:
        return [tester.flow(modify, flows)], frames * flows
    counts = elephants, flows - elephants
    whole = counts[0] * ELEPHANT + counts[1]
    own = [_parted(text, elephants) for text in modify]
    return [
        tester.flow([pair[place] for pair in own], counts[place], counts[place] * times / whole)
        for place, times in enumerate((ELEPHANT, 1))
    ], frames * whole


def _parted(modifier: str, first: int) -> tuple[str, str]:
    """Its first values, and the others."""
    name, _, inside = modifier.partition("=list(")
    values = inside.rstrip(")").split(", ")
    return f"{name}=list({', '.join(values[:first])})", f"{name}=list({', '.join(values[first:])})"


@dataclass
class _Spread:
    """The flows of all trials of a size, over the members."""

    members: Sequence[int]
    expected: Sequence[float]
    confidence: float
    flows: list[list[FlowWay]] = field(default_factory=list)
    records: list[TrialRecord] = field(default_factory=list)

    def add(self, record: TrialRecord) -> None:
        """One more trial."""
        self.records.append(record)
        self.flows.append(flow_ways(record.facts.streams))

    @cached_property
    def verdict(self) -> Verdict | None:
        """Of all trials, so it is asked for behind the last; None if no flow is known to have a member of its own."""
        # Where most flows are sprayed, those that by chance are not say nothing of a hash.
        sprayed = sum(flow.fate == "sprayed" for flow in self.every)
        if not all(one.valid for one in self.records) or sum(self.counts) <= sprayed:
            return None
        return judge(self.counts, self.expected, self.confidence)

    @property
    def every(self) -> list[FlowWay]:
        return [flow for one in self.flows for flow in one]

    @property
    def counts(self) -> list[int]:
        """Flows that took one member only, by member."""
        ports = [flow.port for flow in self.every if flow.fate == "one"]
        return [ports.count(port) for port in self.members]

    @property
    def sprayed(self) -> Spraying | None:
        return spraying(self.every)

    def rows(self, plan: Plan, size: int, *, elephants: bool) -> list[Row]:
        """The verdict, and each member."""
        spoiled = next((one for one in self.records if not one.valid), None)
        if spoiled is not None:
            return [Row(frame_bytes=size, case=ALL, figures={}, remark=join_texts("; ", why_invalid(spoiled)))]
        found = [self._whole(size)]
        names = [text for _, text in plan.port_fields()]
        for place, port in enumerate(self.members):
            case = phrase("member {number}, port {port}", number=place + 1, port=names[port])
            figures = self._figures(place, elephants)
            found.append(Row(frame_bytes=size, case=case, group=MEMBER, figures=figures))
        return found

    def _figures(self, place: int, elephants: bool) -> dict[str, Quantity]:
        figures: dict[str, Quantity] = {}
        if self.verdict is not None:
            figures["flow_share"] = self._share(place, self.verdict)
        figures["expected_share"] = Quantity(value=100 * self.expected[place], unit="%", uncertainty=0.0)
        figures["flows"] = count(self.counts[place])
        frames = [flow.frames.get(self.members[place], 0) for flow in self.every]
        figures["frames"] = count(sum(frames), "frames")
        if elephants:
            whole = sum(sum(flow.frames.values()) for flow in self.every)
            # What these frames did: nothing is concluded from it on other elephants.
            figures["frame_share"] = Quantity(value=100 * sum(frames) / max(1, whole), unit="%", uncertainty=0.0)
        return figures

    def _share(self, place: int, verdict: Verdict) -> Quantity:
        low, high = verdict.ends[place]
        ends = Interval(lower=100 * low, upper=100 * high, confidence=self.confidence)
        return Quantity(value=100 * self.counts[place] / sum(self.counts), unit="%", interval=ends)

    def _whole(self, size: int) -> Row:
        flows, sprayed = self.every, self.sprayed
        fates = [flow.fate for flow in flows]
        figures = {"flows": count(len(flows)), "members": count(sum(map(bool, self._frames())))}
        if self.verdict is not None:
            figures = {"deviation": self._deviation(self.verdict)} | figures
        figures |= {name: count(fates.count(name)) for name in ("sprayed", "copied", "absent")}
        figures["lost"] = count(sum(one.facts.tracked.lost_frames for one in self.records), "frames")
        figures["reordered"] = count(sum(flow.reordered for flow in flows), "frames")
        if sprayed is not None:
            figures["stay"] = Quantity(value=sprayed.stay_frames, unit="frames", uncertainty=0.0)
        remark = join_texts("; ", self._said())
        return Row(frame_bytes=size, case=ALL, figures=figures, trial=self.records[0].index, remark=remark)

    def _frames(self) -> list[int]:
        return [sum(flow.frames.get(port, 0) for flow in self.every) for port in self.members]

    def _deviation(self, verdict: Verdict) -> Quantity:
        """The largest of a member, in % of all flows; from the intervals of all."""
        whole = sum(self.counts)
        off = [abs(own / whole - share) for own, share in zip(self.counts, self.expected, strict=True)]
        pairs = list(zip(verdict.ends, self.expected, strict=True))
        least = max(max(low - share, share - high, 0.0) for (low, high), share in pairs)
        most = max(max(high - share, share - low) for (low, high), share in pairs)
        ends = Interval(lower=100 * least, upper=100 * most, confidence=self.confidence)
        return Quantity(value=100 * max(off), unit="%", interval=ends)

    def _said(self) -> list[str]:
        """The verdict in words, and what is to be known of flows that have no one member."""
        said = [self._judged(self.verdict)] if self.verdict is not None else []
        if self.sprayed is not None:
            said.append(self._of_sprayed(self.sprayed))
        fates = [flow.fate for flow in self.every]
        if copied := fates.count("copied"):
            said.append(
                plural(
                    "{count} flow arrives at several members at once, as a flooding switch sends it",
                    "{count} flows arrive at several members at once, as a flooding switch sends them",
                    count=copied,
                )
            )
        if lost := fates.count("absent"):
            said.append(plural("{count} flow did not arrive", "{count} flows did not arrive", count=lost))
        return said

    def _judged(self, verdict: Verdict) -> str:
        if verdict.kind == "even":
            return phrase("as even as a random hash")
        if verdict.kind == "more even":
            return phrase("more even than a random hash, as flows that take the members in turn")
        if verdict.kind == "one member":
            return phrase("every flow took one member: nothing that differs between the flows decides")
        if verdict.kind == "polarised":
            return plural(
                "polarised: member {names} gets no flow, as behind two stages with one hash or out of use",
                "polarised: members {names} get no flow, as behind two stages with one hash or out of use",
                count=len(verdict.empty),
                names=", ".join(str(place + 1) for place in verdict.empty),
            )
        worst = verdict.deviating[0]
        return phrase(
            "uneven: member {number} carries {share} instead of {expected:.3g} %",
            number=worst + 1,
            share=digits.text(self._share(worst, verdict)),
            expected=100 * self.expected[worst],
        )

    def _of_sprayed(self, found: Spraying) -> str:
        said = plural(
            "{count} flow is sprayed over the members, and {reordered} of its frames arrive reordered",
            "{count} flows are sprayed over the members, and {reordered} of their frames arrive reordered",
            count=found.flows,
            reordered=found.reordered,
        )
        if found.by_flowlets is None:
            return said
        how = phrase("in flowlets") if found.by_flowlets else phrase("frame by frame")
        return join_texts(": ", [said, how])

    def flags(self, size: int) -> list[Flag]:
        """What a program looks for: an uneven or polarised balance, and flows that are sprayed."""
        found = []
        if self.verdict is not None and self.verdict.kind in ("uneven", "polarised"):
            name = "uneven-balance" if self.verdict.kind == "uneven" else "polarised-balance"
            found.append(Flag(name=name, text=sentence_case(self._judged(self.verdict))))
        if self.sprayed is not None and all(one.valid for one in self.records):
            found.append(Flag(name="sprayed-flows", text=sentence_case(self._of_sprayed(self.sprayed))))
        return found


def _foretold(plan: Plan, capabilities: Capabilities) -> list[str]:
    """How many flows there are, and what they can show."""
    settings = plan.settings_of(BalanceSettings)
    members = members_of(plan)
    expected, confidence = settings.expected(len(members)), confidence_of(plan)
    flows = settings.number(expected, confidence)
    if settings.flows is None:
        deviation = 2 * settings.resolution_percent
    else:
        found = deviation_found(flows, expected, confidence=confidence)
        if found is None:
            return [phrase("{flows} flows are too few to show that a member is uneven", flows=flows)]
        deviation = 100 * found
    return [
        phrase(
            "{flows} flows over {members} members: a share that is {deviation:.3g} % of all flows off is found with "
            "95 % probability, and an even hash is called uneven in 1 % of runs at most",
            flows=flows,
            members=len(members),
            deviation=deviation,
        )
    ]


def _check(plan: Plan, capabilities: Capabilities) -> None:
    """Raises PlanError for settings that do not fit the ports, the headers or the device."""
    settings = plan.settings_of(BalanceSettings)
    if plan.describes_flows:
        problem = "balance makes its flows itself, of one size each"
        remedy = "leave out --modify, --streams, --networks, mixes and [[stream]]; --vary names the fields that differ"
        raise PlanError("headers", problem, remedy)
    settings.number(settings.expected(len(members_of(plan))), confidence_of(plan))
    hash_fields(plan.contents()[0].headers, settings)
    settings.check("balance", capabilities)


def _sentence(result: Result) -> str:
    """The verdict of each size."""
    found = [row for row in result.rows if row.case == ALL and row.remark]
    alone = len(found) == 1
    said = [row.remark if alone else join_texts(": ", [f"{row.frame_bytes} byte", row.remark]) for row in found]
    return join_texts(" ", [join_texts("", [sentence_case(text), "."]) for text in said])


PROCEDURE = Procedure(
    name="balance",
    title=phrase("Balance of flows"),
    standard=phrase("ECMP and LAG, RFC 2991, RFC 2992"),
    summary="Which member of an ECMP group or LAG each flow takes, how even that is, and which header fields decide.",
    settings=BalanceSettings,
    generator=balance,
    figure="deviation",
    units={
        "%": "deviation flow_share expected_share frame_share",
        "": "flows members sprayed copied absent moved moved_needlessly",
        "frames": "frames lost reordered stay",
        "ns": "interruption",
    },
    example="keisoku balance --dut lab:ecmp --ports 1,2,3,4 --fields",
    sizes="128",
    pattern="either",
    least_ports=3,
    pace={"stable_s": 0.5, "watch_s": 1.0},
    foretells=_foretold,
    check=_check,
    from_afar=names_only("balance"),
    plots=(balance_plot,),
    sentence=_sentence,
    adds=lambda result: [said] if (said := _sentence(result)) else [],
)
