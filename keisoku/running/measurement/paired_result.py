"""A paired comparison as a result: what is judged of each figure, rows, the sentence, plots. It does no I/O."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from keisoku.ground.entry import Measurement, StandIn
from keisoku.ground.report import digits
from keisoku.ground.report.paired import VERDICTS, pairs_plot, sentence
from keisoku.ground.report.plot import Plot
from keisoku.ground.report.table import head
from keisoku.ground.run.comparison import better
from keisoku.ground.run.pairing import Series, Side, causes, series
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics import biweight
from keisoku.ground.statistics.baseline import judge_against
from keisoku.ground.statistics.paired import Judgement, Rule, differences, judge
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.repeated import combined
from keisoku.language import join_texts, phrase, plural
from keisoku.running.measurement.paired_settings import PairedSettings

NAME = "ab"
TOLD = 3
"""Figures that the sentence names."""
_SHORT = 80
"""Characters of commands that it repeats."""


@dataclass(frozen=True)
class Judged:
    """One figure, with what the pairs say of it."""

    of: Series
    said: Judgement
    instead: StandIn | None = None
    """Why it is compared in place of the main figure."""
    incomparable: str = ""
    """Why those of both sides cannot be compared, whatever they are."""


def judged(
    entry: Measurement[Any], settings: PairedSettings, a: Sequence[Side], b: Sequence[Side], used: Sequence[float]
) -> list[Judged]:
    """Every figure that is compared. `used` has the share of the budget that was used up after each pair."""
    plan = settings.b
    stand_ins = entry.stand_ins(plan)
    a, b = entry.alike(a), entry.alike(b)
    found = followed(entry, plan, settings.figure, a, b, stand_ins if settings.against is None else {})
    judgements = []
    for one in found:
        known = next(figure for figure in (*one.a, *one.b) if figure is not None)
        rule = Rule(
            better(one.figure, known.unit),
            settings.margin_percent / 100,
            None if settings.precision_percent is None else settings.precision_percent / 100,
            len(found),
        )
        if settings.against is None:
            said = judge(differences(one.matched), used, rule)
        else:
            kept, new = ([figure for figure in side if figure is not None] for side in (one.a, one.b))
            said = judge_against(kept, new, rule, used[-1] >= 1)
        instead = [
            other
            for name, other in stand_ins.items()
            if not settings.figure
            and one.figure == other.figure
            and (one.measurement == name or one.measurement not in entry.results_of(plan))
        ]
        incomparable = entry.incomparable(one.measurement, one.figure, one.rows_a, one.rows_b)
        if incomparable:
            said = replace(said, verdict="not measured", ended=True)
        judgements.append(Judged(one, said, next(iter(instead), None), incomparable))
    return judgements


def followed(
    entry: Measurement[Any],
    plan: Mapping[str, Any],
    figure: Sequence[str],
    a: Sequence[Side],
    b: Sequence[Side],
    stand_ins: Mapping[str, StandIn],
) -> list[Series]:
    """The figures of these names in all rows: if none is named, the main ones, or what stands in for them."""
    others = {each.figure for each in entry.stand_ins(plan).values()}
    names = {
        name: figure or (main,)
        for result in dict.fromkeys(result.measurement for side in (*a, *b) for result in side)
        if (name := result) and ((main := name if name in others else entry.figure_of(name, plan)) or figure)
    }
    found = series(a, b, names)
    return found if figure else _decidable(found, a, b, stand_ins)


def _decidable(
    found: Sequence[Series], a: Sequence[Side], b: Sequence[Side], others: Mapping[str, StandIn]
) -> list[Series]:
    """The series, of which those that are bounds on both sides are replaced by the other figure that was measured for
    that case, by runs of its own or beside the bound."""
    kept = []
    for one in found:
        other = others.get(one.measurement)
        if other is None or not _bounds(one):
            kept.append(one)
            continue
        if any((each.measurement, each.frame_bytes) == (other.figure, one.frame_bytes) for each in found):
            continue
        place = one.frame_bytes, one.case
        alike = [
            each for each in series(a, b, {one.measurement: (other.figure,)}) if (each.frame_bytes, each.case) == place
        ]
        kept += [each for each in alike if any(each.matched)] or [one]
    return kept


def only_bounds(found: Sequence[Judged], stand_ins: Mapping[str, StandIn]) -> bool:
    """Whether runs of these pairs are better made of the stand-ins alone: each main figure that has one is a bound on
    both sides, and a stand-in was measured beside one of them."""
    concerned = [each.of for each in found if each.of.measurement in stand_ins]
    instead = [one.figure == stand_ins[one.measurement].figure for one in concerned]
    return any(instead) and all(known or _bounds(one) for one, known in zip(concerned, instead, strict=True))


def _bounds(one: Series) -> bool:
    known = [pair for pair in one.matched if pair is not None]
    return bool(known) and all(figure.bound for pair in known for figure in pair)


def nothing_in_common(settings: PairedSettings, a: Sequence[Side], b: Sequence[Side]) -> bool:
    """Whether more pairs would not help: no row has a figure that was asked for, or no row is on both sides."""
    results = [[result for each in side for result in each] for side in (a, b)]
    known = {name for side in results for result in side for row in result.rows for name in row.figures}
    if settings.figure and known and known.isdisjoint(settings.figure):
        return True
    of_a, of_b = (
        {(result.measurement, row.frame_bytes, row.case) for result in side for row in result.rows} for side in results
    )
    return bool(of_a and of_b) and of_a.isdisjoint(of_b)


def compared(
    settings: PairedSettings, found: Sequence[Judged], a: Sequence[Side], b: Sequence[Side], remarks: Sequence[str]
) -> Result:
    """The result; it failed where nothing was measured or can be compared, or where it is undecided whether B is
    worse."""
    many = len({each.of.measurement for each in found}) > 1
    said = [sentence_of(each, settings, many) for each in found]
    undecided = [
        text for text, each in zip(said, found, strict=True) if each.said.verdict == "undecided" or each.incomparable
    ]
    failure = ""
    if not found:
        failure = _nothing(settings, [*a, *b])
    elif all(each.said.verdict == "not measured" for each in found):
        failure = said[0]
    elif undecided and not any(each.said.verdict in ("worse", "different") for each in found):
        failure = undecided[0]
    more = phrase("; and {count} more", count=len(said) - TOLD) if len(said) > TOLD else ""
    what = settings.b.get("methods") or [settings.of]
    return Result(
        measurement=NAME,
        title=_of_both(settings, join_texts(", ", what)),
        rows=[_row(each, settings, many) for each in found],
        remarks=[*remarks, *_remarks(settings, found, len(b))],
        sentence=join_texts(
            " ",
            [
                phrase("{said}{more}.", said=join_texts("; ", said[:TOLD]), more=more)
                if said
                else phrase("{failure}.", failure=failure),
                *_commands(settings),
            ],
        ),
        failure=failure,
    )


def _of_both(settings: PairedSettings, what: str) -> str:
    """What was compared; with the sides' own values where they differ in one setting only."""
    different = _different(settings)
    sides = [str(_given(side, different[0])) for side in (settings.a, settings.b)] if len(different) == 1 else []
    if not sides or max(map(len, sides)) > _SHORT // 2:
        return phrase("B against A: {what}", what=what)
    return phrase("B ({b}) against A ({a}): {what}", a=sides[0], b=sides[1], what=what)


def sentence_of(judged: Judged, settings: PairedSettings, many: bool) -> str:
    """What was found of one figure."""
    of = judged.of
    words = [
        phrase("{frame_bytes}-byte frames", frame_bytes=of.frame_bytes) if of.frame_bytes else "",
        of.case,
        of.measurement if many else "",
    ]
    place = join_texts(", ", [word for word in words if word])
    runs = (
        plural("{count} pair", "{count} pairs", count=judged.said.pairs)
        if settings.against is None
        else plural("{count} new run", "{count} new runs", count=judged.said.pairs)
    )
    where = phrase(" ({place})", place=place) if place else ""
    return sentence(of.figure, where, judged.said, settings.margin_percent / 100, runs, judged.incomparable)


def plots(settings: PairedSettings, found: Sequence[Judged]) -> list[Plot]:
    """A plot for each figure."""
    made = []
    for number, each in enumerate(found, 1):
        sides = [each.of.a, each.of.b]
        if settings.against is not None:
            made.append(pairs_plot(f"pairs-{number}", _title(each.of), sides, [], each.said, 0.0))
            continue
        apart = differences(each.of.matched)
        ends = [(apart.share(low), apart.share(high)) for low, high in zip(apart.lowest, apart.highest, strict=True)]
        margin = settings.margin_percent / 100
        made.append(pairs_plot(f"pairs-{number}", _title(each.of), sides, ends, each.said, margin))
    return made


def _title(of: Series) -> str:
    size = f"{of.frame_bytes} byte" if of.frame_bytes else ""
    return join_texts(", ", [part for part in (head(of.figure), size, of.case) if part])


def _row(judged: Judged, settings: PairedSettings, many: bool) -> Row:
    of, said = judged.of, judged.said
    known = {"a": [each for each in of.a if each is not None], "b": [each for each in of.b if each is not None]}
    figures_: dict[str, Quantity] = {}
    if change := _change(said):
        figures_["change"] = change
    figures_ |= {side: combined(each) for side, each in known.items() if each}
    if said.verdict != "not measured":
        # The end of an interval is not exact; where B may be worse by more, it decides no criterion.
        bound: Literal["", "at least"] = "at least" if said.verdict == "undecided" else ""
        figures_["worse_by"] = Quantity(value=_worse_by(of, said), unit="%", bound=bound)
    figures_["pairs"] = Quantity(value=said.pairs, unit="", uncertainty=0.0)
    case = join_texts(", ", [part for part in (of.measurement if many else "", of.case, of.figure) if part])
    left = 2 * sum(pair is None for pair in of.matched) if settings.against is None else 0
    cause = join_texts("", [": ", of.causes[0]]) if of.causes else ""
    left_out = (
        phrase("; {count} of {runs} runs are left out{cause}", count=left, runs=2 * len(of.a), cause=cause)
        if left
        else ""
    )
    remark = judged.incomparable or VERDICTS[said.verdict] + left_out
    return Row(frame_bytes=of.frame_bytes, case=case, figures=figures_, remark=remark)


def _change(said: Judgement) -> Quantity | None:
    """B against A in percent of A."""
    low, high = (100 * end for end in said.change)
    if said.verdict == "not measured" or (abs(low) == abs(high) == math.inf):
        return None
    if high == math.inf:
        return Quantity(value=low, unit="%", bound="at least")
    if low == -math.inf:
        return Quantity(value=high, unit="%", bound="at most")
    ends = [100 * end for end in said.shown]
    value = (low + high) / 2
    if any(abs(end) == math.inf for end in ends):
        return Quantity(value=value, unit="%")
    interval = Interval(lower=ends[0], upper=ends[1]) if ends[0] < ends[1] else None
    return Quantity(value=value, unit="%", uncertainty=max(ends[1] - value, value - ends[0]), interval=interval)


def _worse_by(of: Series, said: Judgement) -> float:
    """By how much B is worse at least, in percent; 0 unless that is certain."""
    known = next(figure for figure in (*of.a, *of.b) if figure is not None)
    worse = {"higher": -said.sure[1], "lower": said.sure[0], "neither": max(-said.sure[1], said.sure[0])}
    return max(0.0, 100 * worse[better(of.figure, known.unit)])


def _estimate(judged: Sequence[Judged]) -> str:
    if any(each.said.pairs >= biweight.LEAST for each in judged):
        return phrase("the estimate is Tukey's biweight with Student's interval")
    return phrase("the estimate is Hodges and Lehmann's, the interval that of the signed-rank test")


def _remarks(settings: PairedSettings, judged: Sequence[Judged], pairs: int) -> list[str]:
    if settings.against is not None:
        return [
            phrase(
                "Side A was not measured again: a drift of the host between then and now is not "
                "excluded. The interval is Student's of two samples."
            )
        ]
    found = [
        plural(
            "{count} pair of complete runs in a random order; {estimate}, valid for all looks together.",
            "{count} pairs of complete runs in a random order; {estimate}, valid for all looks together.",
            count=pairs,
            estimate=_estimate(judged),
        )
    ]
    found += [
        phrase("{size} byte: {remark}", size=each.of.frame_bytes, remark=each.instead.because)
        for each in judged
        if each.instead
    ]
    if len(judged) > 1:
        found.append(
            phrase(
                "{count} figures are compared: each has 1/{count} of the probability of error.",
                count=len(judged),
            )
        )
    resolved = max((100 * differences(each.of.matched).resolved for each in judged), default=0.0)
    wanted = min(limit for limit in (settings.precision_percent, settings.margin_percent, math.inf) if limit)
    if wanted < resolved < math.inf:
        found.append(
            phrase(
                "Single runs resolve a difference to ± {resolved} %, which more pairs do not "
                "improve: give them a finer resolution than ± {wanted:g} %.",
                resolved=digits.significant(resolved, 2),
                wanted=wanted,
            )
        )
    found += [
        phrase("{key}: A {a}, B {b}", key=key, a=_given(settings.a, key), b=_given(settings.b, key))
        for key in _different(settings)
    ]
    return found


def _commands(settings: PairedSettings) -> list[str]:
    """What is carried out before the runs of each side, from the last word on that both have in common, if both have a
    command and that is short enough for a sentence."""
    words = [(command or "").split() for command in (settings.before_a, settings.before_b)]
    common = next((n for n, (one, other) in enumerate(zip(*words, strict=False)) if one != other), min(map(len, words)))
    a, b = (" ".join(each[max(0, common - 1) :]) for each in words)
    if a == b or not (a and b) or len(a) + len(b) > _SHORT:
        return []
    return [phrase("Before A: {a}; before B: {b}.", a=a, b=b)]


def _different(settings: PairedSettings) -> list[str]:
    """The settings in which the sides differ."""
    return sorted(key for key in {*settings.a, *settings.b} if settings.a.get(key) != settings.b.get(key))


def _given(side: Mapping[str, Any], key: str) -> object:
    return side.get(key, phrase("not given"))


def _nothing(settings: PairedSettings, sides: list[Side]) -> str:
    """Why no figure can be compared."""
    cause = causes(sides)
    known = list(dict.fromkeys(name for side in sides for each in side for row in each.rows for name in row.figures))
    if settings.figure and known:
        return phrase(
            "no run has any of the figures {figures}; there are {known}",
            figures=join_texts(", ", settings.figure),
            known=join_texts(", ", known),
        )
    return cause or phrase("nothing was measured: {why}", why=phrase("no run has a figure"))
