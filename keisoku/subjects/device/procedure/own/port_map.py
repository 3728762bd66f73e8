"""The port map: latency line and largest frame from every port to every other, and which ports share a chip.

As in the published switch measurements (E1), one way is measured at a time. Ways that share a chip or a connection
between chips would disturb each other at the smallest gap, and before the map is made it is unknown which do.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from keisoku.ground.report import digits
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.language import join_texts, phrase, plural, sentence_case
from keisoku.subjects.device.analysis.loss_ratio import share
from keisoku.subjects.device.analysis.port_groups import PORTS_MIN, port_groups
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS, RETRIES, beyond_tester, reached_fps
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.procedure.own.latency_line import NOT_CALIBRATED, Fitted, latency_line, samples
from keisoku.subjects.device.procedure.own.port_map_plot import port_map_plot
from keisoku.subjects.device.record.trial import Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid


class PortMapSettings(Settings):
    """From every port to every other, one way at a time (published switch measurements, E1)."""

    trial_s: float = Field(1.0, gt=0)
    """Length of each trial, of one size from one port to another."""
    limit_trial_s: float = Field(0.1, gt=0)
    """Length of the trials that search for the largest frame."""
    rate_fps: Load | None = None
    """Load at every size, as far as the link carries it (default: the smallest gap, 100 % of the link)."""
    limits: bool = True
    """Search for the largest frame that passes at this load, by bisection."""


RESOLUTION_NS = 1.0
"""Smaller differences between ways are ignored, however well a latency repeats."""
_ATTEMPTS = 10
Steps = Generator[Trial, TrialRecord, TrialRecord]


def port_map(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """Rows: a class of ways each ('{1–4} to {5–8}': 'offset', 'limit', 'drop'), then one each way ('1 to 5').

    A way has 'latency' (mean at the smallest size), 'slope', 'constant', 'offset' (how much longer it takes than
    ways inside a group), 'limit' (bytes of the largest frame without loss) and 'drop' (% lost one byte above it).
    """
    names = [text for _, text in inputs.plan.port_fields()]
    ways = [_PortPair(one, other) for one in range(len(names)) for other in range(len(names)) if one != other]
    tester = _Tester(inputs, names)
    sizes = sorted(inputs.plan.frame_bytes)
    for size in sizes:
        for way in ways:
            way.records[size] = yield from tester.measure(way, size, inputs.plan.settings_of(PortMapSettings).trial_s)
    compared = _Compared(inputs, ways, sizes)
    groups = compared.groups(len(names))
    of_port = {port: number for number, group in enumerate(groups) for port in group}
    if inputs.plan.settings_of(PortMapSettings).limits:
        guesses: dict[tuple[int, int], int] = {}
        for way in ways:
            kind = of_port[way.transmit], of_port[way.receive]
            yield from _find_limit(tester, way, sizes, guesses.get(kind))
            if way.limit is not None:
                guesses.setdefault(kind, way.limit)
    compared.subtract_inside(of_port)
    rows = _chip_rows(compared, groups, names) + (_class_rows(compared, groups, names) if len(groups) > 1 else [])
    rows += [_way_row(inputs, compared, way, names) for way in ways]
    return Result(
        measurement="port_map",
        rows=rows,
        deviations=[phrase("the DUT is simulated: results describe the model")]
        if inputs.capabilities.simulated
        else [],
        remarks=_remarks(compared, groups, names, ways) + ([] if inputs.bias.is_known else [NOT_CALIBRATED]),
    )


CHIPS = phrase("Groups of ports")
"""Group of the row that says which ports share a chip."""


@dataclass(eq=False)
class _PortPair:
    """The way from one port to another, and its findings so far."""

    transmit: int
    receive: int
    records: dict[int, TrialRecord] = field(default_factory=dict)
    """By frame size."""
    limit: int | None = None
    """The largest frame without loss, if larger frames were lost."""
    open_above: int | None = None
    """The largest frame that was tried, if it passed."""


class _Tester:
    """Proposes trials of one way; remembers the highest rate of the tester where it cannot send the smallest gap."""

    def __init__(self, inputs: MethodInput, names: Sequence[str]) -> None:
        self.inputs, self.names = inputs, names
        self.reachable_fps: dict[int, float] = {}

    def measure(self, way: _PortPair, size: int, seconds: float) -> Steps:
        """A trial at the smallest gap, or the smallest one that the tester can send; repeated if the tester disturbed
        it."""
        inputs = self.inputs
        line, asked = inputs.line_fps(size), inputs.fps(inputs.plan.settings_of(PortMapSettings).rate_fps, size)
        wanted = min(asked or math.inf, line or math.inf)
        if wanted == math.inf:
            wanted = CEILING_WITHOUT_LINK_FPS
        flow = Flow(transmit=way.transmit, receive=way.receive)
        purpose = phrase(
            "{one} to {other}, {size} byte",
            one=self.names[way.transmit],
            other=self.names[way.receive],
            size=size,
        )
        spoiled = 0
        for _ in range(_ATTEMPTS):
            rate = min(wanted, self.reachable_fps.get(size, wanted))
            trial = inputs.latency_trial(purpose, size, rate, seconds).model_copy(update={"flows": (flow,)})
            record = yield trial
            # A given rate is kept, so that all ways are measured at one load.
            if asked is None and beyond_tester(record):
                self.reachable_fps[size] = reached_fps(record)
                continue
            spoiled += not record.valid
            if record.valid or spoiled == RETRIES:
                break
        return record


def _passes(record: TrialRecord) -> bool:
    return record.valid and record.facts.tracked.forwarded_frames == record.facts.sent.offered_frames


def _find_limit(
    tester: _Tester, way: _PortPair, sizes: Sequence[int], guess: int | None
) -> Generator[Trial, TrialRecord, None]:
    """By bisection, unless two trials confirm `guess`, the limit of another way of its class."""
    seconds = tester.inputs.plan.settings_of(PortMapSettings).limit_trial_s
    passed = max((size for size in sizes if _passes(way.records[size])), default=0)
    failed = min((size for size in sizes if size > passed), default=None)
    largest = tester.inputs.capabilities.max_frame_bytes or max(sizes)
    if not passed:
        return
    if failed is None and largest > passed:
        way.records[largest] = yield from tester.measure(way, largest, seconds)
        failed = largest
    if failed is None or _passes(way.records[failed]):
        way.open_above = failed or passed
        return
    tried = [guess + 1, guess] if guess is not None else []
    while failed - passed > 1:
        size = next((size for size in tried if passed < size < failed), (passed + failed) // 2)
        record = way.records[size] = yield from tester.measure(way, size, seconds)
        if not record.valid:
            return
        if _passes(record):
            passed = size
        else:
            failed = size
    if way.records[failed].valid:
        way.limit = passed


class _Compared:
    """The latencies of all ways at the same sizes, so that they can be compared."""

    def __init__(self, inputs: MethodInput, ways: Sequence[_PortPair], sizes: Sequence[int]) -> None:
        self.ways = ways
        self.sizes = [size for size in sizes if all(_passes(way.records[size]) for way in ways)]
        by_size = {way: self._means(inputs, way) for way in ways} if self.sizes else {}
        self.latency_ns = {way: statistics.fmean(means) for way, means in by_size.items()}
        self.typical_ns = _typical(by_size)
        self.scatter = {way: self._scatter(way) for way in self.latency_ns}
        self.inside_ns = statistics.fmean(self.latency_ns.values()) if self.latency_ns else 0.0

    def groups(self, ports: int) -> list[list[int]]:
        """Indices of ports that share a chip; one group of all ports where this cannot be determined."""
        if not self.latency_ns:
            return [list(range(ports))]
        latencies = {(way.transmit, way.receive): ns for way, ns in self.typical_ns.items()}
        squares = [contribution.uncertainty**2 for contribution in self.scatter.values()]
        return port_groups(latencies, max(RESOLUTION_NS, statistics.fmean(squares) ** 0.5))

    def subtract_inside(self, of_port: dict[int, int]) -> None:
        """Makes the mean of the ways inside groups the reference of all offsets."""
        inside = [ns for way, ns in self.latency_ns.items() if of_port[way.transmit] == of_port[way.receive]]
        self.inside_ns = statistics.fmean(inside) if inside else 0.0

    def between(self, one: Sequence[int], other: Sequence[int]) -> list[_PortPair]:
        """Ways from one group to another, or inside one."""
        return [way for way in self.ways if way.transmit in one and way.receive in other]

    def _means(self, inputs: MethodInput, way: _PortPair) -> list[float]:
        found = []
        for size in self.sizes:
            record = way.records[size]
            correction = inputs.bias.correction(size, record.offered_fps)
            found.append(statistics.fmean(samples(record)) - (correction.bias_ns if correction else 0.0))
        return found

    def _scatter(self, way: _PortPair) -> Contribution:
        """Standard uncertainty of the mean over all sizes, whose samples are independent."""
        each = [
            contribution.uncertainty
            for size in self.sizes
            for contribution in budget.repeatability("", samples(way.records[size]))
        ]
        standard = sum(uncertainty**2 for uncertainty in each) ** 0.5 / len(self.sizes)
        return budget.normal(phrase("repeatability of the samples"), standard)


def _typical(by_size: dict[_PortPair, list[float]]) -> dict[_PortPair, float]:
    """How much longer each way is than the average of all: the median over the sizes.

    The median prevents that a single disturbed trial creates a group.
    """
    of_all = [statistics.fmean(column) for column in zip(*by_size.values(), strict=True)]
    return {
        way: statistics.median(own - mean for own, mean in zip(means, of_all, strict=True))
        for way, means in by_size.items()
    }


def _chip_rows(compared: _Compared, groups: Sequence[Sequence[int]], names: Sequence[str]) -> list[Row]:
    """How many groups of ports there are, each likely a chip; none where that cannot be known."""
    if not compared.latency_ns or len(names) < PORTS_MIN:
        return []
    chips = Quantity(value=len(groups), unit="", uncertainty=0.0)
    return [Row(case=", ".join(_ports(group, names) for group in groups), figures={"chips": chips}, group=CHIPS)]


def _class_rows(compared: _Compared, groups: Sequence[Sequence[int]], names: Sequence[str]) -> list[Row]:
    """Ways inside each group, and from each group to each other."""
    inside = [compared.latency_ns[way] for group in groups for way in compared.between(group, group)]
    own = budget.repeatability(phrase("scatter of the ways inside groups"), inside)
    rows = []
    for one in groups:
        for other in groups:
            ways = compared.between(one, other)
            if not ways:
                continue
            figures = _limit_figures(ways)
            if one is not other:
                latencies = [compared.latency_ns[way] for way in ways]
                scatter = budget.repeatability(phrase("scatter of the ways across"), latencies)
                parts = (*scatter, *own)
                offset_ns = statistics.fmean(latencies) - compared.inside_ns
                # The bias is the same on all ways and cancels.
                offset = budget.figure(offset_ns, "ns", parts) if len(parts) == 2 else None
                figures["offset"] = offset or Quantity(value=offset_ns, unit="ns")
            limits = {way.limit for way in ways}
            text = (
                phrase("{transmit} to {receive}", transmit=_ports(one, names), receive=_ports(other, names))
                if one is not other
                else ""
            )
            rows.append(
                Row(
                    frame_bytes=compared.sizes[0],
                    case=text or phrase("inside {ports}", ports=_ports(one, names)),
                    figures=figures,
                    remark=phrase("{count} ways, with different limits: the smallest", count=len(ways))
                    if len(limits) > 1
                    else plural("{count} way", "{count} ways", count=len(ways)),
                )
            )
    return rows


def _limit_figures(ways: Sequence[_PortPair]) -> dict[str, Quantity]:
    """The smallest limit of the ways, and the loss one byte above it."""
    known = [(way.limit, way) for way in ways if way.limit is not None]
    if not known:
        return {}
    limit = min(limit for limit, _ in known)
    above = [way.records[limit + 1] for own, way in known if own == limit]
    lost = sum(record.facts.sent.offered_frames - record.facts.tracked.forwarded_frames for record in above)
    offered = sum(record.facts.sent.offered_frames for record in above)
    return {
        "largest_frame": Quantity(value=limit, unit="byte", uncertainty=0.0),
        "drop": share(lost, offered),
    }


def _way_row(inputs: MethodInput, compared: _Compared, way: _PortPair, names: Sequence[str]) -> Row:
    size = compared.sizes[0] if compared.sizes else min(way.records)
    record = way.records[size]
    figures: dict[str, Quantity] = {}
    tracked = record.facts.tracked
    if tracked.latency is not None and record.valid:
        figures["latency"] = inputs.bias.corrected(
            tracked.latency.mean_ns,
            size,
            record.offered_fps,
            single_frame=False,
            own=budget.repeatability(phrase("repeatability of the samples"), samples(record)),
        )
    fitted = _line(inputs, way)
    if fitted.line is not None:
        figures |= {"slope": fitted.line.slope, "constant": fitted.line.constant}
    if way in compared.latency_ns:
        offset_ns = compared.latency_ns[way] - compared.inside_ns
        # The bias is the same on all ways and cancels; in simulated time only the timestamps' rounding is left.
        correction = inputs.bias.correction(size, record.offered_fps)
        stamps = correction.of_mean if correction is not None and inputs.bias.exact else ()
        figures["offset"] = budget.figure(offset_ns, "ns", [compared.scatter[way], *stamps])
    figures |= _limit_figures([way])
    return Row(
        frame_bytes=size,
        case=phrase("{transmit} to {receive}", transmit=names[way.transmit], receive=names[way.receive]),
        figures=figures,
        trial=record.index,
        remark=join_texts("; ", [*why_invalid(record), *fitted.remarks]),
    )


def _line(inputs: MethodInput, way: _PortPair) -> Fitted:
    """The line through the plan's sizes that pass; the shorter trials that search for the limit are left out."""
    records = [way.records[size] for size in sorted(set(inputs.plan.frame_bytes))]
    return latency_line(inputs, [record for record in records if _passes(record)], sizes_min=2)


def _remarks(
    compared: _Compared, groups: Sequence[Sequence[int]], names: Sequence[str], ways: Sequence[_PortPair]
) -> list[str]:
    if not compared.latency_ns:
        said = [phrase("no size passed on every way in a valid trial: latencies and groups cannot be compared")]
    elif len(names) < PORTS_MIN:
        said = [
            phrase("with fewer than {count} ports a chip cannot be distinguished from a slow port", count=PORTS_MIN)
        ]
    elif len(groups) == 1:
        said = [
            phrase(
                "ports {ports} form one group: the latency of every way is explained by its two ports",
                ports=_ports(groups[0], names),
            )
        ]
    else:
        of_each = ", ".join(_ports(group, names) for group in groups)
        said = [
            phrase(
                "{count} groups of ports, each likely a chip of its own: {of_each}", count=len(groups), of_each=of_each
            )
        ]
    said.append(phrase("one way was measured at a time, so that ways that share a chip did not disturb each other"))
    unknown = [way for way in ways if way.limit is None and way.open_above is None]
    if any(way.open_above for way in ways):
        least = min(way.open_above for way in ways if way.open_above)
        said.append(
            phrase(
                "where no limit is given, the largest frame tried, {size} byte, was forwarded without loss", size=least
            )
        )
    elif unknown and any(way.limit for way in ways):
        said.append(phrase("where no limit is given, the tester disturbed the trials, or no size passed"))
    return said


def _ports(group: Sequence[int], names: Sequence[str]) -> str:
    """'{1–4}' for neighbours in a row, else each port."""
    if len(group) > 2 and list(group) == list(range(group[0], group[-1] + 1)):
        return f"{{{names[group[0]]}–{names[group[-1]]}}}"
    return f"{{{', '.join(names[port] for port in group)}}}"


def _sentence(result: Result) -> str:
    if not result.remarks:
        return ""
    said = [join_texts("", [sentence_case(result.remarks[0]), "."])]
    for row in result.rows:
        if row.trial is None and "offset" in row.figures:
            longer, limit = digits.value_text(row.figures["offset"]), row.figures.get("largest_frame")
            said.append(
                phrase(
                    "From {ports} a frame takes {time} longer, and has {size} at most.",
                    ports=row.case,
                    time=longer,
                    size=digits.value_text(limit),
                )
                if limit
                else phrase("From {ports} a frame takes {time} longer.", ports=row.case, time=longer)
            )
    return join_texts(" ", said)


def _tables(result: Result) -> list[Result]:
    """The classes of ways, which belong to no trial, in a table of their own before the ways."""
    rows = [[row for row in result.rows if (row.trial is None) == classes] for classes in (True, False)]
    return [result.model_copy(update={"rows": each}) for each in rows if each]


PROCEDURE = Procedure(
    name="port_map",
    title=phrase("Port map"),
    standard=phrase("from every port to every other"),
    summary="Latency and largest frame between all ports, and the groups of ports that share a chip.",
    settings=PortMapSettings,
    packages=("scipy",),
    generator=port_map,
    figure="latency",
    units={"ns": "latency offset constant", "byte": "largest_frame", "%": "drop", "": "chips", "ns/byte": "slope"},
    example="keisoku port-map --dut sim:lsw4-gt-8ep --ports 1,2,3,4,5,6,7,8",
    sizes="64,512,1518",
    simulated_sizes="64,1518,4096,6500",
    own_flows=True,
    plots=(port_map_plot,),
    sentence=_sentence,
    tables=_tables,
)
