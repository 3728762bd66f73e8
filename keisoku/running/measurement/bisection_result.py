"""A bisection as a result: what its pairs say of the history, rows, the sentence, plots. It does no I/O."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.entry import Measurement
from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour
from keisoku.ground.report.table import head
from keisoku.ground.run.comparison import better
from keisoku.ground.run.pairing import Series, causes
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.bisection import Answer, Belief, Comparison, History
from keisoku.ground.statistics.bisection_belief import believe
from keisoku.ground.statistics.paired import differences
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.repeated import combined
from keisoku.language import first_lower, phrase, plural
from keisoku.running.measurement.bisection_settings import BisectionSettings
from keisoku.running.measurement.commit_history import Commit
from keisoku.running.measurement.paired_result import followed

NAME = "bisect"
ANSWERS: Mapping[Answer, str] = {
    "none": phrase("no change"),
    "one": phrase("one change"),
    "more": phrase("more than one change"),
    "undecided": phrase("undecided"),
}
_SPOILED = 3
"""Pairs without a figure after which a commit is skipped, or the ends are given up."""
Pair = tuple[int, int]
"""The places of the reference and of the commit."""


@dataclass(frozen=True)
class Measured:
    """A history, and what its pairs say."""

    settings: BisectionSettings
    commits: Sequence[Commit]
    """From the good end to the bad one."""
    pairs: Sequence[Pair]
    """The complete pairs, in the order of time."""
    series: Series | None
    """The figure that is followed, pair by pair; None: no run had it."""
    skipped: Mapping[int, str]
    """Places that cannot be measured, and why."""
    without_figures: Mapping[int, str]
    """Places of which pairs had no figure so often that they should be skipped, and why."""
    cause: str
    """Why nothing can be said, if that is so."""
    belief: Belief

    @property
    def ended(self) -> bool:
        """Whether no further pair is needed, or would help."""
        return bool(self.cause) or self.belief.answer != "undecided"


def measured(
    entry: Measurement[Any],
    settings: BisectionSettings,
    commits: Sequence[Commit],
    runs: Mapping[tuple[int, int], Sequence[Result]],
    skipped: Mapping[int, str],
) -> Measured:
    """What the runs say, by pair and place. Raises PlanError if they have several figures that could be followed."""
    last = len(commits) - 1
    of_pairs: dict[int, list[int]] = {}
    for pair, place in runs:
        of_pairs.setdefault(pair, []).append(place)
    numbers = sorted(pair for pair, places in of_pairs.items() if len(places) == 2)
    pairs = [_sides(of_pairs[pair], last) for pair in numbers]
    a, b = ([runs[pair, both[side]] for pair, both in zip(numbers, pairs, strict=True)] for side in (0, 1))
    found = followed(entry, settings.plan, (settings.figure,) if settings.figure else (), a, b)
    if len(found) > 1:
        raise PlanError(
            "bisect", f"it follows one figure, and a run has {len(found)}", "give one frame size, and one --figure"
        )
    series = found[0] if found else None
    known = [] if series is None else series.pairs
    comparisons, lost = [], dict[int, int]()
    for (end, place), pair in zip(pairs, known or [None] * len(pairs), strict=True):
        if pair is not None and not any(figure.bound for figure in pair) and all(figure.value > 0 for figure in pair):
            comparisons.append(Comparison(place, end == last, math.log(pair[1].value / pair[0].value)))
        else:
            lost[place] = lost.get(place, 0) + 1
    spoiled = {place for place, count in lost.items() if count >= _SPOILED}
    spoiled -= {each.place for each in comparisons}
    why = _why(settings, series, [*a, *b])
    resolution = differences(known).resolution if comparisons else 0.0
    history = History(
        last,
        math.log1p(settings.margin_percent / 100),
        settings.error_percent / 100,
        frozenset(skipped),
        resolution,
    )
    return Measured(
        settings,
        commits,
        pairs,
        series,
        skipped,
        {place: why for place in spoiled - {last}},
        why if last in spoiled else "",
        believe(history, comparisons),
    )


def said_so_far(found: Measured) -> str:
    """Where the search is, in a line."""
    belief, pairs = found.belief, _pairs(found)
    if not belief.comparisons:
        return phrase("{pairs}: nothing was measured so far", pairs=pairs)
    if all(each.place == belief.history.length for each in belief.comparisons):
        return phrase("{pairs}: BAD against GOOD {change}", pairs=pairs, change=_signed(belief.change[1]))
    return phrase("{pairs}: most probably {commit}", pairs=pairs, commit=_from_to(found, *belief.span))


def result_of(found: Measured) -> Result:
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


def plots(found: Measured) -> list[Plot]:
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


def _sentence(found: Measured) -> str:
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
        }.get(answer) or phrase("the change is most probably in {commits}", commits=_from_to(found, *belief.span))
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
        commit=_from_to(found, *belief.found),
        figure=figure,
        change=change,
        sure=sure,
        pairs=_pairs(found),
    )


def _answer_row(found: Measured) -> Row:
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


def _commit_rows(found: Measured) -> list[Row]:
    """A row for each commit that was measured or found, in the order of the history."""
    belief, levels = found.belief, _levels(found)
    first, last = belief.found
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


def _remarks(found: Measured) -> list[str]:
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


def _levels(found: Measured) -> dict[int, Quantity]:
    """The level of each commit that was measured, in percent of the good end's."""
    belief = found.belief
    of: dict[int, list[Quantity]] = {}
    for each in belief.comparisons:
        level = each.difference + (belief.change[1] if each.against_bad else 0.0)
        of.setdefault(each.place, []).append(Quantity(value=100 * math.expm1(level), unit="%"))
    return {place: combined(every) for place, every in of.items()}


def _probability(share: float) -> Quantity:
    return Quantity(value=round(100 * share, 1), unit="%", uncertainty=0.0)


def _sides(places: Sequence[int], last: int) -> Pair:
    """Reference and commit: the good end is always the reference, and the bad one beside all others."""
    low, high = sorted(places)
    return (high, low) if low and high == last else (low, high)


def _why(settings: BisectionSettings, series: Series | None, runs: Sequence[Sequence[Result]]) -> str:
    if series is not None and any(figure.bound for pair in series.pairs if pair for figure in pair):
        return phrase("{figure} is only a bound", figure=first_lower(head(series.figure)))
    known = list(dict.fromkeys(name for run in runs for each in run for row in each.rows for name in row.figures))
    if settings.figure and known and settings.figure not in known:
        return phrase(
            "no run has any of the figures {figures}; there are {known}",
            figures=settings.figure,
            known=", ".join(known),
        )
    return causes(runs) or phrase("no row has a figure")


def _figure(found: Measured) -> str:
    return "" if found.series is None else first_lower(head(found.series.figure))


def _what(found: Measured) -> str:
    methods = found.settings.plan.get("methods")
    return ", ".join(methods) if methods else found.settings.of


def _change(found: Measured) -> str:
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


def _ends(found: Measured) -> dict[str, str]:
    low, _, high = found.belief.change
    return {"low": _signed(low), "high": _signed(high)}


def _signed(level: float) -> str:
    """The change in percent of a level, which is a logarithm."""
    return ("+" if level > 0 else "") + _percent(math.expm1(level))


def _percent(share: float) -> str:
    return f"{digits.significant(100 * share, 2)} %"


def _pairs(found: Measured) -> str:
    return plural("{count} pair", "{count} pairs", count=len(found.pairs))


def _from_to(found: Measured, first: int, last: int) -> str:
    """'one of 3 commits from 1a2b3c to 4d5e6f'; a single one by its name."""
    if first == last:
        return str(found.commits[first])
    return phrase(
        "one of {count} commits from {first} to {last}",
        count=last - first + 1,
        first=found.commits[first].short,
        last=found.commits[last].short,
    )
