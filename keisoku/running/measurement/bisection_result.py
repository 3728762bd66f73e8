"""A bisection as a result: what its pairs say of the history, rows, the sentence, plots. It does no I/O."""

from __future__ import annotations

import math
from collections.abc import Mapping

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour
from keisoku.ground.report.table import head
from keisoku.ground.run.comparison import better
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.bisection import ChangeCount
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.repeated import combined
from keisoku.language import first_lower, phrase, plural
from keisoku.running.measurement.bisected import Bisected

NAME = "bisect"
ANSWERS: Mapping[ChangeCount, str] = {
    "none": phrase("no change"),
    "one": phrase("one change"),
    "more": phrase("more than one change"),
    "undecided": phrase("undecided"),
}


def said_so_far(found: Bisected) -> str:
    """Where the search is, in a line."""
    belief, pairs = found.belief, _pairs(found)
    if not belief.comparisons:
        return phrase("{pairs}: nothing was measured so far", pairs=pairs)
    if all(each.place == belief.history.length for each in belief.comparisons):
        return phrase("{pairs}: BAD against GOOD {change}", pairs=pairs, change=_signed(belief.change[1]))
    return phrase("{pairs}: most probably {commit}", pairs=pairs, commit=_from_to(found, *belief.span))


def result_of(found: Bisected) -> Result:
    """The result; it failed where it is undecided, or nothing was measured."""
    belief = found.belief
    said = _sentence(found)
    return Result(
        measurement=NAME,
        title=phrase("{count} commits: {what}", count=belief.history.length, what=_what(found)),
        rows=[] if found.cause else [_answer_row(found), *_commit_rows(found)],
        remarks=_remarks(found),
        sentence=phrase("{said}.", said=said),
        failure=said if found.cause or belief.answer == "undecided" else "",
    )


def plots(found: Bisected) -> list[Plot]:
    """The level of each commit that was measured, and the probability of each that the change is there."""
    if found.cause:
        return []
    levels = _levels(found)
    places = sorted(levels)
    shown = [levels[place] for place in places]
    level = Plot(
        "bisect-levels",
        phrase("{figure} of each measured commit against GOOD, with intervals of 95 %.", figure=_figure(found)),
        {"xaxis": axis(phrase("commit after GOOD")), "yaxis": {**axis(phrase("against GOOD, %")), "zeroline": True}},
    )
    level.add(
        {
            "mode": "markers",
            "name": phrase("level"),
            "x": places,
            "y": [each.value for each in shown],
            "error_y": {"array": [each.uncertainty or 0.0 for each in shown]},
            "marker": {"color": device_colour(0), "symbol": "circle"},
        }
    )
    chance = Plot(
        "bisect-probability",
        phrase("How probable it is that the only change is at each commit."),
        {"xaxis": axis(phrase("commit after GOOD")), "yaxis": axis(phrase("probability, %"))},
    )
    chance.add(
        {
            "mode": "lines+markers",
            "name": phrase("probability"),
            "x": list(range(1, len(found.commits))),
            "y": [100 * float(each) for each in found.belief.one[1:]],
            "line": {"color": device_colour(1)},
            "marker": {"color": device_colour(1), "symbol": "circle"},
        }
    )
    return [level, chance]


def _sentence(found: Bisected) -> str:
    """What was found, without the full stop."""
    if found.cause:
        return phrase("nothing was measured: {why}", why=found.cause)
    belief = found.belief
    figure, change = _figure(found), _change(found)
    answer, probability = belief.likeliest
    sure = phrase("the probability of error is {error}", error=_percent(1 - probability))
    if belief.answer == "undecided":
        so_far = {
            "none": phrase("{figure} of BAD is between {low} and {high} of GOOD's", figure=figure, **_ends(found)),
            "more": phrase("there is probably more than one change of {figure}", figure=figure),
        }.get(belief.leaning) or phrase(
            "the change is most probably in {commits}", commits=_from_to(found, *belief.span)
        )
        return phrase("undecided after {pairs}: {so_far}", pairs=_pairs(found), so_far=so_far)
    if answer == "none":
        return phrase(
            "none of these commits: {figure} of BAD is between {low} and {high} of GOOD's, no change of more than "
            "{margin}; {sure} ({pairs})",
            figure=figure,
            margin=_percent(found.settings.margin_percent / 100),
            sure=sure,
            pairs=_pairs(found),
            **_ends(found),
        )
    if answer == "more":
        first, second = (_from_to(found, *span) for span in belief.spans)
        return phrase(
            "more than one change of {figure}: in {first} and in {second}, together {change}; {sure} ({pairs})",
            figure=figure,
            first=first,
            second=second,
            change=change,
            sure=sure,
            pairs=_pairs(found),
        )
    return phrase(
        "{commit} made {figure} {change}; {sure} ({pairs})",
        commit=_from_to(found, *belief.place),
        figure=figure,
        change=change,
        sure=sure,
        pairs=_pairs(found),
    )


def _answer_row(found: Bisected) -> Row:
    """What was found of the whole history."""
    low, mean, high = (100 * math.expm1(end) for end in found.belief.change)
    figures = {
        "change": Quantity(
            value=mean, unit="%", uncertainty=max(high - mean, mean - low), interval=Interval(lower=low, upper=high)
        ),
        "probability": _probability(found.belief.likeliest[1]),
        "pairs": Quantity(value=len(found.belief.comparisons), unit="", uncertainty=0.0),
    }
    return Row(figures=figures, case=ANSWERS[found.belief.answer], group=phrase("Answer"))


def _commit_rows(found: Bisected) -> list[Row]:
    """A row for each commit that was measured or found, in the order of the history."""
    belief, levels = found.belief, _levels(found)
    first, last = belief.place
    answered = set(range(first, last + 1)) if belief.answer == "one" else set()
    rows = []
    for place in sorted({0, *levels, *answered}):
        of = [each for each in belief.comparisons if place in (each.place, 0 if not each.against_bad else None)]
        figures = {"change": levels[place]} if place in levels else {}
        if place:
            figures["probability"] = _probability(float(belief.one[place]))
        figures["pairs"] = Quantity(value=len(of), unit="", uncertainty=0.0)
        remark = "GOOD" if place == 0 else phrase("the change") if place in answered else ""
        rows.append(Row(figures=figures, case=str(found.commits[place]), group=phrase("Commit"), remark=remark))
    return rows


def _remarks(found: Bisected) -> list[str]:
    return [
        *(
            phrase("{commit} is skipped: {why}", commit=found.commits[place], why=why)
            for place, why in sorted(found.skipped.items())
        ),
        phrase(
            "Every commit was compared with GOOD or BAD in a pair of runs. A change that was taken back between two "
            "measured commits is not seen."
        ),
    ]


def _levels(found: Bisected) -> dict[int, Quantity]:
    """The level of each commit that was measured, in percent of the good end's."""
    belief = found.belief
    of: dict[int, list[Quantity]] = {}
    for each in belief.comparisons:
        level = each.difference + (belief.change[1] if each.against_bad else 0.0)
        of.setdefault(each.place, []).append(Quantity(value=100 * math.expm1(level), unit="%"))
    return {place: combined(every) for place, every in of.items()}


def _probability(share: float) -> Quantity:
    return Quantity(value=round(100 * share, 1), unit="%", uncertainty=0.0)


def _figure(found: Bisected) -> str:
    return "" if found.series is None else first_lower(head(found.series.figure))


def _what(found: Bisected) -> str:
    methods = found.settings.plan.get("methods")
    return ", ".join(methods) if methods else found.settings.of


def _change(found: Bisected) -> str:
    """'5.1 % higher (95 % interval 4.7 % to 5.5 %), which is worse'."""
    assert found.series is not None, "a change was found in it"
    low, mean, high = (math.expm1(end) for end in found.belief.change)
    known = next(figure for figure in (*found.series.a, *found.series.b) if figure is not None)
    wanted = better(found.series.figure, known.unit)
    ends = sorted((abs(low), abs(high)))
    said = {
        "change": _percent(abs(mean)),
        "low": _percent(ends[0]),
        "high": _percent(ends[1]),
    }
    shown = (
        phrase("{change} higher (95 % interval {low} to {high})", **said)
        if mean > 0
        else phrase("{change} lower (95 % interval {low} to {high})", **said)
    )
    if wanted == "neither":
        return shown
    is_better = (mean > 0) == (wanted == "higher")
    return (
        phrase("{change}, which is better", change=shown)
        if is_better
        else phrase("{change}, which is worse", change=shown)
    )


def _ends(found: Bisected) -> dict[str, str]:
    low, _, high = found.belief.change
    return {"low": _signed(low), "high": _signed(high)}


def _signed(level: float) -> str:
    """The change in percent of a level, which is a logarithm."""
    return ("+" if level > 0 else "") + _percent(math.expm1(level))


def _percent(share: float) -> str:
    return f"{digits.significant(100 * share, 2)} %"


def _pairs(found: Bisected) -> str:
    return plural("{count} pair", "{count} pairs", count=len(found.pairs))


def _from_to(found: Bisected, first: int, last: int) -> str:
    """'one of 3 commits from 1a2b3c to 4d5e6f'; a single one by its name."""
    if first == last:
        return str(found.commits[first])
    return phrase(
        "one of {count} commits from {first} to {last}",
        count=last - first + 1,
        first=found.commits[first].short,
        last=found.commits[last].short,
    )
