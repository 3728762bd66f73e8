"""A paired comparison in words and as a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from keisoku.ground.report import digits
from keisoku.ground.report.plot import SYMBOLS as DEVICES
from keisoku.ground.report.plot import Plot, axis, device_colour, hover, label
from keisoku.ground.report.points import add_bound_legend, points
from keisoku.ground.report.table import head
from keisoku.ground.statistics.paired import Ends, Judgement
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import first_lower, join_texts, phrase, plural

PAIRS = phrase("pairs")
VERDICTS = {
    "worse": phrase("worse"),
    "better": phrase("better"),
    "different": phrase("different"),
    "precise": phrase("precise"),
    "equal": phrase("equal"),
    "no worse": phrase("no worse"),
    "open": phrase("open"),
    "undecided": phrase("undecided"),
    "not measured": phrase("not measured"),
}
"""Verdicts in words for a reader."""
_FIGURES = (2, 3, 4)
"""Significant digits of an interval: the fewest that tell its ends apart."""
SYMBOLS = {(True, True): "circle", (True, False): "triangle-up", (False, True): "triangle-down"}
"""By whether the lower and the upper end of a pair's difference is known."""


def sentence(figure: str, place: str, found: Judgement, margin: float, runs: str, incomparable: str = "") -> str:
    """What was found of one figure, such as 'B's throughput is 4.8 % lower than A's (…): worse'.

    `runs` are those that were compared: '14 pairs'; `incomparable` is why the figures cannot be compared.
    """
    name = (
        phrase("{figure} % quantile", figure=figure[1:]) if figure[1:2].isdigit() and figure != "p50" else head(figure)
    )
    name = first_lower(name)
    what = phrase("B's {name}{place}", name=name, place=place)
    low, high = found.shown
    if incomparable:
        return phrase("{what} cannot be compared with A's: {cause}", what=what, cause=incomparable)
    if found.verdict == "not measured":
        return phrase("not measured: no pair has a figure of {what} on both sides", what=join_texts("", [name, place]))
    if found.bounds:
        return phrase(
            "undecided: {what} is a bound on both sides in each of {runs}, as the tester and not the device was the"
            " limit",
            what=what,
            runs=runs,
        )
    if math.isinf(low) and math.isinf(high):
        return plural(
            "undecided: {runs} is too few for an interval of {what}",
            "undecided: {runs} are too few for an interval of {what}",
            count=found.pairs,
            runs=runs,
            what=what,
        )
    if found.verdict in ("worse", "better", "different", "precise"):
        end = phrase("as precise as was asked for") if found.verdict == "precise" else VERDICTS[found.verdict]
        return phrase("{what} is {difference}: {end}", what=what, difference=_difference(found, runs), end=end)
    between = phrase(
        "{what} is between {low} and {high} of A's (95 % interval, {runs})",
        what=what,
        low=_signed(low),
        high=_signed(high),
        runs=runs,
    )
    if low == high == 0:
        return phrase("no difference: {what} equals A's exactly in {runs}", what=what, runs=runs)
    if found.verdict == "equal":
        return phrase("no difference larger than {percent}: {between}", percent=_percent(margin), between=between)
    if found.verdict == "no worse":
        return phrase("not worse by more than {percent}: {between}", percent=_percent(margin), between=between)
    if found.verdict == "open":
        return phrase(
            "no difference was found, and none larger than {percent} is possible: {between}",
            percent=_percent(max(-low, high)),
            between=between,
        )
    beyond = phrase(" by more than {percent}", percent=_percent(margin)) if margin else ""
    return phrase(
        "undecided: {between}, which neither shows nor excludes that it is worse{beyond}",
        between=between,
        beyond=beyond,
    )


def pairs_plot(
    name: str,
    title: str,
    sides: Sequence[Sequence[Quantity | None]],
    differences: Sequence[Ends],
    found: Judgement,
    margin: float,
) -> Plot:
    """Both sides of each pair, in the order of time, and below B against A with the interval and the margin (shares).

    Without differences, as of bounds on both sides or of sides that were measured at other times, the sides alone.
    """
    shown = [(number, low, high) for number, (low, high) in enumerate(differences, 1) if not math.isnan(low)]
    values = [100 * (low if math.isfinite(low) else high) for _, low, high in shown]
    known = [figure for side in sides for figure in side if figure is not None]
    divisor, unit = digits.scale(known[0].unit if known else "", max((abs(one.value) for one in known), default=1.0))
    top = axis(unit, [abs(one.value) / divisor for one in known], rangemode="normal")
    axes: dict[str, Any] = {"xaxis": axis(phrase("pair")), "yaxis": {**top, "domain": [0.48, 1.0] if shown else [0, 1]}}
    if shown:
        axes["yaxis2"] = {**axis(phrase("B against A, %")), "zeroline": True, "domain": [0.0, 0.42]}
    caption = phrase("{title}: both sides of each pair, in the order of time.", title=title)
    below = phrase("Below, B against A; lines: the interval of 95 %.")
    plot = Plot(name, join_texts(" ", [caption, below] if shown else [caption]), axes, height=480 if shown else 340)
    for number, (side, figures) in enumerate(zip("AB", sides, strict=True)):
        plot.add(
            {
                "mode": "markers",
                "name": side,
                "x": list(range(1, len(figures) + 1)),
                "text": [hover(side, digits.text(figure)) if figure else "" for figure in figures],
                **points(figures, divisor, device_colour(number), DEVICES[number]),
            }
        )
    add_bound_legend(plot, known)
    if not shown:
        return plot
    plot.add(
        {
            "mode": "markers",
            "name": PAIRS,
            "yaxis": "y2",
            "x": [number for number, _, _ in shown],
            "y": values,
            "marker": {
                "color": device_colour(2),
                "symbol": [SYMBOLS.get((math.isfinite(low), math.isfinite(high)), "x") for _, low, high in shown],
            },
        }
    )
    span = [1, max(len(differences), 2)]
    for text, dash, ends in (
        (phrase("95 % interval"), "solid", found.shown),
        (phrase("margin"), "dot", (-margin, margin)),
    ):
        for end in ends if text != "margin" or margin else ():
            if math.isfinite(end):
                line = {"color": device_colour(2), "dash": dash, "width": 1}
                plot.add(
                    {"mode": "lines", "yaxis": "y2", "name": label(text), "x": span, "y": [100 * end] * 2, "line": line}
                )
    return plot


def _difference(found: Judgement, runs: str) -> str:
    low, high = found.change
    if math.isinf(low) or math.isinf(high):
        known = high if math.isinf(low) else low
        return phrase(
            "at least {percent} {way} than A's ({runs}, of which some are bounds)",
            percent=_percent(abs(known)),
            way=_way(known),
            runs=runs,
        )
    ends, figures = found.shown, 2
    if ends[0] < 0 < ends[1]:
        said = phrase("{low} to {high}", low=_signed(ends[0]), high=_signed(ends[1]))
    else:
        low_end, high_end = sorted(abs(end) for end in ends)
        figures = next((each for each in _FIGURES if _percent(low_end, each) != _percent(high_end, each)), 2)
        said = phrase("{low} to {high}", low=_percent(low_end, figures), high=_percent(high_end, figures))
    return phrase(
        "{percent} {way} than A's (95 % interval {said}, {runs})",
        percent=_percent(abs(low), figures),
        way=_way(low),
        said=said,
        runs=runs,
    )


def _way(share: float) -> str:
    return phrase("lower") if share < 0 else phrase("higher")


def _percent(share: float, figures: int = 2) -> str:
    if not math.isfinite(share):
        return phrase("any amount")
    return f"{digits.significant(100 * share, figures)} %"


def _signed(share: float) -> str:
    if not math.isfinite(share):
        return phrase("any decrease") if share < 0 else phrase("any increase")
    return ("+" if share > 0 else "") + _percent(share)
