"""Result of the trials: figures of each cell, the set of the best, effects of factors, this machine's own ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.change_points import noise, pieces
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import CONFIDENCE
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.stream.best_set import best_set
from keisoku.subjects.stream.ceiling import Ceiling
from keisoku.subjects.stream.confidence import STOPPED, Confidence
from keisoku.subjects.stream.factor import named
from keisoku.subjects.stream.factorial import effects, interactions
from keisoku.subjects.stream.outcome import CellOutcome
from keisoku.subjects.stream.plausible import Links, above_link, shortfall
from keisoku.subjects.stream.run import ENDED
from keisoku.subjects.stream.schedule import Cell
from keisoku.subjects.stream.settings import StreamSettings

LIMITED = phrase("limited by the tester")
NEAR = 0.05
"""Share of the machine's own ceiling from which on the path does not count as the limit."""


@dataclass(frozen=True)
class PlotData:
    """What plots need besides the outcomes."""

    best: tuple[Cell, ...]
    ceiling: Ceiling | None


def analyse(
    settings: StreamSettings, outcomes: Sequence[CellOutcome], facts: Mapping[str, Any]
) -> tuple[Result, PlotData]:
    """`facts` may say `ceiling` (of an earlier run), `ceiling_missing`, `iperf3` and `ended`."""
    measured = {one.cell: one for one in outcomes if one.path == "dut" and one.values}
    ceiling = Ceiling.from_outcomes(outcomes, facts.get("ceiling"))
    best = best_set({cell: one.values for cell, one in measured.items()}, CONFIDENCE) if measured else []
    rows = _best_rows(settings, measured, best, ceiling) if best else []
    links = facts.get("links") or {}
    rows += [_row(settings, one, one.cell in best, ceiling, links) for one in measured.values()]
    rows += _effect_rows(settings, measured)
    rows += _ceiling_rows(settings, outcomes, ceiling)
    rows += _iperf3_rows(facts.get("iperf3") or [], measured)
    result = Result(
        measurement=f"stream {settings.protocol}",
        title=phrase("{protocol} streams to {address}", protocol=settings.protocol.upper(), address=settings.address),
        rows=rows,
        flags=_flags(settings, measured, outcomes, best, ceiling, facts),
        remarks=_remarks(settings, ceiling, facts),
    )
    return result, PlotData(tuple(best), ceiling)


def bit_rate(values: Sequence[float], rule: Confidence | None = None) -> Quantity:
    """Mean in bit/s with its interval by Student's t; `rule` is the one that decided how many values there are."""
    return budget.mean(values, "bit/s", CONFIDENCE if rule is None else rule.student_level(values))


def _name(settings: StreamSettings, cell: Cell) -> str:
    setup = named(settings.setups()[cell.setup])
    return join_texts(", ", [part for part in (f"{cell.message_bytes} byte", setup) if part])


def _row(settings: StreamSettings, one: CellOutcome, is_best: bool, ceiling: Ceiling | None, links: Links) -> Row:
    figures: dict[str, Quantity] = {}
    # The rule looked at one figure of these trials, and ended all of them.
    level = STOPPED if settings.rule.chose(one.values) else CONFIDENCE

    def put(name: str, values: Sequence[float], unit: str, scale: float = 1.0) -> None:
        if values:
            figures[name] = budget.mean([value * scale for value in values], unit, level)

    put("throughput", one.values, "bit/s")
    for direction in ("forward", "reverse"):
        if settings.direction == "both" and direction in one.bps:
            put(direction, one.bps[direction], "bit/s")
    figures["runs"] = _count(len(one.values))
    put("sender_CPU", one.sender_s_per_gb, "s/GB")
    put("receiver_CPU", one.receiver_s_per_gb, "s/GB")
    if settings.protocol == "tcp":
        figures["retransmissions"] = _count(one.retransmissions)
        put("rtt", one.rtt_us, "ns", 1e3)
    else:
        put("offered_rate", one.offered_bps, "bit/s")
        figures |= _datagrams(one)
    if short := shortfall(settings, one):
        put("offered_rate", one.offered_bps, "bit/s")
        figures["intended_rate"] = Quantity(value=short.intended_bps, unit="bit/s", uncertainty=0.0)
    return Row(
        case=_name(settings, one.cell),
        figures=figures,
        at=Quantity(value=one.cell.message_bytes, unit="byte", uncertainty=0.0),
        group=phrase("Message"),
        remark=join_texts("; ", _said(settings, one, is_best, ceiling, links)),
    )


def _datagrams(one: CellOutcome) -> dict[str, Quantity]:
    network, bounds = one.network_lost, one.network_bounds
    exact = 0.0 if bounds[0] == bounds[1] else max(bounds[1] - network, network - bounds[0])
    return {
        "offered": _count(one.offered),
        "received": _count(one.arrived),
        "lost_datagrams": _count(one.lost),
        "of_those_in_network": Quantity(value=network, unit="", uncertainty=exact),
        "in_host": Quantity(value=one.host_lost, unit="", uncertainty=exact if one.host_drops else 0.0),
        "in_socket": Quantity(value=one.dropped, unit="", uncertainty=exact if one.dropped else 0.0),
        "reordered": _count(one.reordered),
        "duplicated": _count(one.duplicated),
    }


def _said(
    settings: StreamSettings, one: CellOutcome, is_best: bool, ceiling: Ceiling | None, links: Links
) -> list[str]:
    said = [phrase("not distinguishable from the best")] if is_best else []
    if ceiling and ceiling.limits(one.cell, float(np.mean(one.values)), NEAR):
        said.append(LIMITED)
    if not settings.rule.met(one.values):
        said.append(phrase("not settled"))
    if short := shortfall(settings, one):
        said.append(
            phrase(
                "offered {offered:,.4g} of {intended:,.4g} Mb/s",
                offered=short.offered_bps / 1e6,
                intended=short.intended_bps / 1e6,
            )
        )
    if above := above_link(settings, one, links)[0]:
        said.append(
            phrase("{count} of {trials} trials above what the link carries", count=above, trials=len(one.values))
        )
    least, most = one.network_bounds
    if least != most:
        said.append(phrase("lost in the network: between {least} and {most}", least=least, most=most))
    if one.failures:
        said.append(plural("{count} trial failed", "{count} trials failed", count=one.failures))
    return said


def _best_rows(
    settings: StreamSettings, measured: Mapping[Cell, CellOutcome], best: Sequence[Cell], ceiling: Ceiling | None
) -> list[Row]:
    """The best cell, then each that is not distinguishable from it."""
    figure = bit_rate(measured[best[0]].values, settings.rule)
    limited = ceiling is not None and ceiling.limits(best[0], figure.value, NEAR)
    figures = {"throughput": figure, "cells": _count(len(best))}
    if ceiling is not None:
        figures["own_ceiling"] = bit_rate(ceiling.values(ceiling.fastest_cell), settings.ceiling_rule)
    first = Row(case=_name(settings, best[0]), figures=figures, group=phrase("Best"), remark=LIMITED if limited else "")
    others = [
        Row(
            case=_name(settings, cell),
            figures={"throughput": bit_rate(measured[cell].values, settings.rule)},
            group=phrase("Best"),
            remark=phrase("not distinguishable from the best"),
        )
        for cell in sorted(best[1:])
    ]
    return [first, *others]


def _carried(outcome: CellOutcome | None) -> bool:
    return outcome is not None and all(value > 0 for value in outcome.values)


def _effect_rows(settings: StreamSettings, measured: Mapping[Cell, CellOutcome]) -> list[Row]:
    """Over the message sizes of which every set-up was measured and always carried something: zero has no ratio."""
    if not settings.factor or len(settings.setups()) < 2:
        return []
    setups = settings.setups()
    shared = [
        size
        for size in sorted({cell.message_bytes for cell in measured})
        if all(_carried(measured.get(Cell(place, size))) for place in range(len(setups)))
    ]
    cells = [
        ({**setup, "size": str(size)}, measured[Cell(place, size)].values)
        for place, setup in enumerate(setups)
        for size in shared
    ]
    if not any(len(values) > 1 for _, values in cells):
        return []
    rows = []
    for effect in effects(cells):
        if effect.factor == "size":
            continue
        ratio = Quantity(
            value=effect.ratio,
            unit="",
            uncertainty=(effect.upper - effect.lower) / 2,
            interval=Interval(lower=effect.lower, upper=effect.upper),
        )
        rows.append(
            Row(
                case=phrase(
                    "{factor} {level} against {reference}",
                    factor=effect.factor,
                    level=effect.level,
                    reference=effect.reference,
                ),
                figures={"ratio_of_throughput": ratio},
                group=phrase("Factor"),
                remark="" if effect.is_significant else phrase("no significant difference"),
            )
        )
    for pair in interactions(cells):
        one, other = pair.factors
        chance = Quantity(value=100 * pair.by_chance, unit="%")
        rows.append(
            Row(
                case=phrase("{one} with {other}", one=one, other=other),
                figures={"by_chance": chance},
                group=phrase("Factors that depend on each other"),
                remark=phrase("the effect of one depends on the level of the other: compare cells, not factors"),
            )
        )
    return rows


def _ceiling_rows(settings: StreamSettings, outcomes: Sequence[CellOutcome], ceiling: Ceiling | None) -> list[Row]:
    rows = []
    for one in outcomes:
        if one.path == "bare" and one.values:
            rows.append(
                Row(
                    case=_name(settings, one.cell),
                    figures={
                        "throughput": bit_rate(one.values, settings.ceiling_rule),
                        "runs": _count(len(one.values)),
                    },
                    at=Quantity(value=one.cell.message_bytes, unit="byte", uncertainty=0.0),
                    group=phrase("Own ceiling"),
                    remark=phrase("the machine's own limit") if ceiling and ceiling.fastest_cell == one.cell else "",
                )
            )
    return rows


def _iperf3_rows(checks: Sequence[Mapping[str, Any]], measured: Mapping[Cell, CellOutcome]) -> list[Row]:
    if not checks:
        return []
    cell = Cell(int(checks[0]["setup"]), int(checks[0]["message_bytes"]))
    theirs = bit_rate([float(check["bps"]) for check in checks])
    ours = measured[cell].values if cell in measured else []
    figures = {"iperf3": theirs}
    if ours:
        figures["keisoku"] = bit_rate(ours)
        figures["ratio"] = Quantity(value=figures["keisoku"].value / theirs.value, unit="")
    return [
        Row(
            case=f"{cell.message_bytes} byte",
            figures=figures,
            group=phrase("Cross-check"),
            remark=plural(
                "iperf3 {version}, {count} run",
                "iperf3 {version}, {count} runs",
                version=checks[0].get("version", ""),
                count=len(checks),
            ).replace("  ", " "),
        )
    ]


def _flags(
    settings: StreamSettings,
    measured: Mapping[Cell, CellOutcome],
    outcomes: Sequence[CellOutcome],
    best: Sequence[Cell],
    ceiling: Ceiling | None,
    facts: Mapping[str, Any],
) -> list[Flag]:
    flags = []
    if best and ceiling:
        mean = float(np.mean(measured[best[0]].values))
        if ceiling.limits(best[0], mean, NEAR):
            text = phrase("the path reaches this machine's own limit: the result is limited by the tester")
            flags.append(Flag(name="tester-limited", text=text, figures={"own_ceiling": ceiling.figure(best[0])}))
    if missing := facts.get("ceiling_missing"):
        flags.append(
            Flag(name="no-ceiling", text=phrase("the machine's own limit is not known: {missing}", missing=missing))
        )
    unsettled = [cell for cell, one in measured.items() if not settings.rule.met(one.values)]
    if unsettled:
        text = phrase(
            "{count} of {cells} cells did not meet the rule within {most} runs",
            count=len(unsettled),
            cells=len(measured),
            most=settings.rule.most,
        )
        flags.append(Flag(name="not-settled", text=text))
    flags += _implausible(settings, measured, facts.get("links") or {})
    if _shifted(measured):
        flags.append(Flag(name="shift", text=phrase("throughput of all cells changed together: the host changed")))
    broken = sum(one.failures for one in outcomes)
    if broken:
        reasons = join_texts("; ", sorted({error for one in outcomes for error in one.errors})[:3])
        flags.append(
            Flag(
                name="broken-trials",
                text=plural(
                    "{count} trial failed and does not count: {reasons}",
                    "{count} trials failed and do not count: {reasons}",
                    count=broken,
                    reasons=reasons,
                ),
            )
        )
    if facts.get(ENDED) is False:
        flags.append(Flag(name="unfinished", text=phrase("the run was stopped before its end")))
    return flags


def _implausible(settings: StreamSettings, measured: Mapping[Cell, CellOutcome], links: Links) -> list[Flag]:
    """Flags for rates that were not offered as intended, and for those that no link can carry."""
    flags = []
    short = [found for one in measured.values() if (found := shortfall(settings, one))]
    if short:
        worst = min(short, key=lambda one: one.offered_bps / one.intended_bps)
        text = phrase(
            "In {count} of {cells} cells less was offered than intended, at worst {offered:,.4g} "
            "of {intended:,.4g} Mb/s: {reason}.",
            count=len(short),
            cells=len(measured),
            offered=worst.offered_bps / 1e6,
            intended=worst.intended_bps / 1e6,
            reason=worst.reason,
        )
        flags.append(Flag(name="not-offered", text=text))
    above = [limit for one in measured.values() if (limit := above_link(settings, one, links))[0]]
    if above:
        _, payload_bps, what = max(above)
        text = plural(
            "{count} trial is above the {rate:,.4g} Mb/s of payload that {what} lets through: its rate is wrong, as "
            "the host was too busy to read what arrived.",
            "{count} trials are above the {rate:,.4g} Mb/s of payload that {what} lets through: their rates are "
            "wrong, as the host was too busy to read what arrived.",
            count=sum(count for count, _, _ in above),
            rate=payload_bps / 1e6,
            what=what,
        )
        flags.append(Flag(name="above-link", text=text))
    return flags


def _shifted(measured: Mapping[Cell, CellOutcome]) -> bool:
    """Whether trials, each in units of its cell's median, show a change point in time of 2 % or more."""
    points = sorted(
        (number, value / float(np.median(one.values)) - 1)
        for one in measured.values()
        for number, value in zip(one.numbers, one.values, strict=True)
        if one.values and np.median(one.values) > 0
    )
    if len(points) < 20:
        return False
    y = np.array([value for _, value in points])
    x = np.arange(len(y), dtype=np.float64)
    found = [(first, last) for first, last in pieces(x, y, noise(y, 0.005)) if last - first >= 5]
    levels = [float(np.median(y[first:last])) for first, last in found]
    return len(levels) > 1 and max(levels) - min(levels) > 0.05


def _remarks(settings: StreamSettings, ceiling: Ceiling | None, facts: Mapping[str, Any]) -> list[str]:
    rule = settings.rule
    remarks = [
        phrase(
            "each cell is measured until the {percent:g} % interval of its mean is at most ± "
            "{half_width:g} %, {least} to {most} runs, in random order (seed {seed})",
            percent=100 * rule.level,
            half_width=100 * rule.half_width,
            least=rule.least,
            most=rule.most,
            seed=settings.seed,
        ),
        phrase(
            "intervals shown are of {percent:g} %, with Student's factor of {stopped:g} % where "
            "that rule ended the trials, as it prefers trials that scatter little by chance; the "
            "set of the best holds the true best with {percent:g} %",
            percent=100 * CONFIDENCE,
            stopped=100 * STOPPED,
        ),
        phrase(
            "throughput is of payload that arrived; CPU is the time of the threads that send and "
            "receive, with the kernel's work for them: on a veth the sender's includes that of "
            "the receiver's interface"
        ),
    ]
    if settings.protocol == "tcp":
        remarks.append(
            phrase("RTT is the kernel's smoothed RTT, sampled while sending; retransmissions are the sum over all runs")
        )
    if ceiling is not None:
        remarks.append(ceiling.source)
    if context := facts.get("options"):
        remarks.append(phrase("the kernels' own settings: {context}", context=context))
    if settings.protocol == "udp":
        remarks.append(phrase("drops at the receiving host before its sockets count all traffic of that host"))
    if settings.protocol == "udp" and settings.factor.get("offload"):
        remarks.append(
            phrase("with offload a socket counts dropped buffers, each counted as its mean number of datagrams")
        )
    return remarks


def _count(value: int) -> Quantity:
    return Quantity(value=value, unit="", uncertainty=0.0)
