"""What the runs of a bisection say: differences of its pairs, and what is believed by them. It does no I/O."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.entry import Measurement
from keisoku.ground.report.table import head
from keisoku.ground.run.pairing import Series, causes
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.bisection import Belief, Comparison, History
from keisoku.ground.statistics.bisection_belief import believe
from keisoku.ground.statistics.paired import differences
from keisoku.language import first_lower, phrase
from keisoku.running.measurement.bisection_settings import BisectionSettings
from keisoku.running.measurement.commit_history import Commit
from keisoku.running.measurement.paired_result import followed

_SPOILED = 3
"""Pairs without a figure after which a commit is skipped, or the ends are given up."""
Pair = tuple[int, int]
"""The places of the reference and of the commit."""
Run = tuple[int, int]
"""The number of its pair, and the place of its commit."""


@dataclass(frozen=True)
class Bisected:
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


def bisected(
    entry: Measurement[Any],
    settings: BisectionSettings,
    commits: Sequence[Commit],
    runs: Mapping[Run, Sequence[Result]],
    skipped: Mapping[int, str],
) -> Bisected:
    """What the runs say, by pair and place. Raises PlanError if they have several figures that could be followed."""
    last = len(commits) - 1
    runs = _alike(entry, runs)
    of_pairs: dict[int, list[int]] = {}
    for pair, place in runs:
        of_pairs.setdefault(pair, []).append(place)
    numbers = sorted(pair for pair, places in of_pairs.items() if len(places) == 2)
    pairs = [_sides(of_pairs[pair], last) for pair in numbers]
    a, b = ([runs[pair, sides[side]] for pair, sides in zip(numbers, pairs, strict=True)] for side in (0, 1))
    figure = (settings.figure,) if settings.figure else ()
    found = followed(entry, settings.plan, figure, a, b, entry.stand_ins(settings.plan))
    if len(found) > 1:
        raise PlanError(
            "bisect", f"it follows one figure, and a run has {len(found)}", "give one frame size, and one --figure"
        )
    series = found[0] if found else None
    known = [] if series is None else series.pairs
    comparisons, lost = [], dict[int, int]()
    incomparable = {} if series is None else _incomparable(entry, pairs, series)
    for (end, place), both in zip(pairs, known or [None] * len(pairs), strict=True):
        if place in incomparable:
            continue
        if both is not None and not any(figure.bound for figure in both) and all(figure.value > 0 for figure in both):
            comparisons.append(Comparison(place, end == last, math.log(both[1].value / both[0].value)))
        else:
            lost[place] = lost.get(place, 0) + 1
    spoiled = {place for place, count in lost.items() if count >= _SPOILED}
    spoiled -= {each.place for each in comparisons}
    spoiled |= incomparable.keys()
    why = _why(settings, series, [*a, *b])
    unknown = bool(settings.figure) and bool(a) and series is None
    resolution = differences(known).resolution if comparisons else 0.0
    history = History(
        last,
        math.log1p(settings.margin_percent / 100),
        settings.error_percent / 100,
        frozenset(skipped),
        resolution,
    )
    return Bisected(
        settings,
        commits,
        pairs,
        series,
        skipped,
        {place: incomparable.get(place, why) for place in spoiled - {last}},
        incomparable.get(last, why) if unknown or last in spoiled else "",
        believe(history, comparisons),
    )


def _alike(entry: Measurement[Any], runs: Mapping[Run, Sequence[Result]]) -> Mapping[Run, Sequence[Result]]:
    """Each run as it is beside the other ones of its commit."""
    of_places: dict[int, list[Run]] = {}
    for run in runs:
        of_places.setdefault(run[1], []).append(run)
    found: dict[Run, Sequence[Result]] = {}
    for own in of_places.values():
        found |= zip(own, entry.alike([runs[run] for run in own]), strict=True)
    return found


def _incomparable(entry: Measurement[Any], pairs: Sequence[Pair], of: Series) -> dict[int, str]:
    """Places whose runs cannot be compared with those of the reference, and why."""
    found = {}
    for place in {place for _, place in pairs}:
        a, b = ([rows[at] for at, (_, each) in enumerate(pairs) if each == place] for rows in (of.rows_a, of.rows_b))
        if why := entry.incomparable(of.measurement, of.figure, a, b):
            found[place] = why
    return found


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
