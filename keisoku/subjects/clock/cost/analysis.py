"""Cost and resolution of reading each time source, from the core's record of single reads, steps, cores and stalls.

A record is measured by the core (`core/src/clock/python.rs`) and can be analysed again at any time.
"""

from __future__ import annotations

import math

from keisoku.frozen import Frozen
from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import phrase, plural
from keisoku.subjects.clock.cost import tally
from keisoku.subjects.clock.cost.resolution import Resolution, common_step, resolution
from keisoku.subjects.clock.rate import nominal_rate

NAME = "clock cost"
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}
DISTURBED_SHARE = 0.01
"""Share of time lost in stalls above which the tails show the host more than the sources."""
BULK_ERROR_NS = 0.05
"""What the two reads around a run of a thousand, and the rounding of CLOCK_MONOTONIC to ns, add to each read."""
RATE = nominal_rate("CLOCK_MONOTONIC")
"""Ticks are shown as ns by CLOCK_MONOTONIC, which this measurement compares with no reference."""


class Steps(Frozen):
    """In the unit of the source."""

    reads: int
    zero: int
    ahead: list[tuple[int, int]]
    back: int
    back_max: int


class SourceCost(Frozen):
    """`ticks`: a read returns the counter's ticks, not ns. `single` holds ticks, the bracket's own with it."""

    name: str
    ticks: bool
    bulk_ns: float
    single: list[tuple[int, int]]
    steps: Steps


class CrossCore(Frozen):
    """Bounds in ticks of how far `core` is ahead of `reference`."""

    reference: int
    core: int
    low: int
    high: int
    rounds: int
    round_trip: int


class Stalls(Frozen):
    """In ticks; gaps over 1, 10 and 100 µs."""

    elapsed: int
    over: tuple[int, int, int]
    max: int
    lost: int


class CostRecord(Frozen):
    """All of one measurement, as the core writes it."""

    counter: str
    ticks_per_s: float
    empty: list[tuple[int, int]]
    sources: list[SourceCost]
    cross_core: list[CrossCore]
    stalls: Stalls

    def ns(self, ticks: float) -> float:
        """Ticks of the counter as ns."""
        return ticks / self.ticks_per_s * 1e9


def analyse(record: CostRecord) -> Result:
    """Tables of costs, resolutions, cores and stalls, and what is wrong with a source."""
    step_ns = record.ns(_counter_step(record))
    flags = [*_backward(record), *_cores_apart(record), *_disturbed(record)]
    rows = [_cost(record, source, step_ns) for source in record.sources]
    rows += [_resolution(record, source) for source in record.sources]
    rows += [_core(record, cross) for cross in record.cross_core]
    rows.append(_stalls(record))
    reads = tally.total(record.empty)
    remarks = [
        phrase(
            "single reads: {reads} of each source, between two fenced reads of {counter}, less "
            "the empty bracket's median of {ns:.0f} ns; the counter's step of {step_ns:.1f} ns "
            "limits their resolution",
            reads=reads,
            counter=record.counter,
            ns=record.ns(tally.quantile(record.empty, 0.5)),
            step_ns=step_ns,
        ),
        phrase("bulk: time of one read, from the fastest of 40 runs of 1000 reads back to back"),
    ]
    if len(record.cross_core) == 0:
        remarks.append(
            phrase("between cores: not compared, as there is one core only or no two of them ran at the same time")
        )
    return Result(measurement=NAME, title=phrase("Cost of time sources"), rows=rows, flags=flags, remarks=remarks)


def source_resolution(source: SourceCost) -> Resolution:
    """In the unit of the source."""
    steps = source.steps
    return resolution(steps.reads, steps.zero, steps.ahead, steps.back, steps.back_max)


def _counter_step(record: CostRecord) -> int:
    """The step of the counter, as its own reads show it; 1 where ns of CLOCK_MONOTONIC stand for a counter."""
    steps = [common_step(source.steps.ahead) for source in record.sources if source.ticks]
    return min((step for step in steps if step is not None), default=1)


def _cost(record: CostRecord, source: SourceCost, step_ns: float) -> Row:
    empty = tally.quantile(record.empty, 0.5)
    # A bracket and the empty one are each the difference of two reads that the counter rounds to its step.
    rounding = (
        budget.triangular(phrase("counter's step, in the bracket"), step_ns),
        budget.triangular(phrase("counter's step, in the empty bracket"), step_ns),
    )

    def figure(ticks: int) -> Quantity:
        return RATE.with_rate(budget.figure(record.ns(ticks - empty), "ns", rounding))

    figures = {
        "bulk": RATE.with_rate(
            budget.figure(source.bulk_ns, "ns", [budget.rectangular(phrase("reads around a run"), BULK_ERROR_NS)])
        ),
        "min": figure(source.single[0][0]),
    }
    for name, share in QUANTILES.items():
        figures[name] = figure(tally.quantile(source.single, share))
        low, high = (figure(end) for end in tally.quantile_range(source.single, share))
        if low.value < high.value:
            interval = Interval(
                lower=low.value - (low.uncertainty or 0.0), upper=high.value + (high.uncertainty or 0.0)
            )
            figures[name] = figures[name].model_copy(update={"interval": interval})
    figures["max"] = figure(source.single[-1][0])
    return Row(case=source.name, figures=figures, group=phrase("Time source"))


def _resolution(record: CostRecord, source: SourceCost) -> Row:
    found = source_resolution(source)

    def in_ns(step: int) -> Quantity:
        if not source.ticks:
            return Quantity(value=step, unit="ns", uncertainty=0.0)
        return budget.figure(record.ns(step), "ns", RATE.contributions(record.ns(step)))

    figures = {}
    remark = phrase("no step was seen")
    if found.smallest is not None and found.common is not None:
        figures = {"smallest_step": in_ns(found.smallest), "common_step": in_ns(found.common)}
        remark = ""
        if source.ticks:
            remark = (
                phrase("steps by {common} ticks", common=found.common)
                if found.common > 1
                else phrase("steps by single ticks")
            )
    figures["reads_without_a_step"] = Quantity(
        value=100 * found.zero_share, unit="%", uncertainty=0.0, covers="observed"
    )
    figures["backward_steps"] = Quantity(value=found.backward, unit="reads", uncertainty=0.0)
    return Row(case=source.name, figures=figures, group=phrase("Resolution of"), remark=remark)


def _core(record: CostRecord, cross: CrossCore) -> Row:
    # Outwards by a step of the counter, which both reads may have waited for, and to whole ns.
    step = _counter_step(record)
    low_ns, high_ns = math.floor(record.ns(cross.low - step)), math.ceil(record.ns(cross.high + step))
    if low_ns > high_ns:
        said = phrase("the difference between the two counters is not constant")
    elif low_ns <= 0 <= high_ns:
        said = phrase("not more than {low_ns} ns apart; no difference is proven", low_ns=max(-low_ns, high_ns))
    else:
        said = phrase("apart by at least {low_ns} ns", low_ns=min(abs(low_ns), abs(high_ns)))
    return Row(
        case=f"{cross.core} against {cross.reference}",
        group=phrase("Counter of core"),
        figures={
            "lower_bound": Quantity(value=low_ns, unit="ns", uncertainty=0.0),
            "upper_bound": Quantity(value=high_ns, unit="ns", uncertainty=0.0),
            "shortest_round_trip": Quantity(value=record.ns(cross.round_trip), unit="ns", uncertainty=record.ns(step)),
            "rounds": Quantity(value=cross.rounds, unit="rounds", uncertainty=0.0),
        },
        remark=said,
    )


def _stalls(record: CostRecord) -> Row:
    stalls = record.stalls
    counts = {
        f"gaps_over_{limit}_µs": Quantity(value=count, unit="gaps", uncertainty=0.0)
        for limit, count in zip((1, 10, 100), stalls.over, strict=True)
    }
    return Row(
        case=phrase("reading the counter without a pause"),
        group=phrase("Stalls while"),
        figures={
            "looked_at": _span(record, stalls.elapsed),
            **counts,
            "longest": _span(record, stalls.max),
            "time_lost": Quantity(value=100 * _lost_share(stalls), unit="%", uncertainty=0.0, covers="observed"),
        },
    )


def _span(record: CostRecord, ticks: int) -> Quantity:
    """An interval: the counter's step and the rate of the clock that ticks were compared with."""
    step = budget.triangular(phrase("counter's step"), record.ns(_counter_step(record)))
    return RATE.with_rate(budget.figure(record.ns(ticks), "ns", [step]))


def _lost_share(stalls: Stalls) -> float:
    return stalls.lost / stalls.elapsed if stalls.elapsed else 0.0


def _backward(record: CostRecord) -> list[Flag]:
    flags = []
    for source in record.sources:
        found = source_resolution(source)
        if found.backward:
            most = record.ns(found.backward_max) if source.ticks else float(found.backward_max)
            text = plural(
                "{name} showed less than the read before {count} time",
                "{name} showed less than the read before {count} times",
                name=source.name,
                count=found.backward,
            )
            figures = {"most": Quantity(value=most, unit="ns", uncertainty=0.0, covers="observed")}
            flags.append(Flag(name="not-monotonic", text=text, figures=figures))
    return flags


def _cores_apart(record: CostRecord) -> list[Flag]:
    return [
        Flag(
            name="cores-apart",
            text=phrase(
                "the counter of core {core} is not that of core {reference}: an interval that begins "
                "on one and ends on the other is wrong",
                core=cross.core,
                reference=cross.reference,
            ),
        )
        for cross in record.cross_core
        if not cross.low - _counter_step(record) <= 0 <= cross.high + _counter_step(record)
    ]


def _disturbed(record: CostRecord) -> list[Flag]:
    share = _lost_share(record.stalls)
    if share <= DISTURBED_SHARE:
        return []
    return [
        Flag(
            name="disturbed",
            text=phrase("the host delayed the measurement, so the tails show the host more than the sources"),
            figures={"time_lost": Quantity(value=100 * share, unit="%", uncertainty=0.0, covers="observed")},
        )
    ]
