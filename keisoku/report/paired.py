"""A paired comparison in words and as a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence

from keisoku.analysis.paired import Ends, Judgement
from keisoku.report import digits
from keisoku.report.plot import Plot, axis, device_colour, label
from keisoku.report.table import head

SYMBOLS = {(True, True): "circle", (True, False): "triangle-up", (False, True): "triangle-down"}
"""By whether the lower and the upper end of a pair's difference is known."""


def sentence(figure: str, place: str, found: Judgement, margin: float, runs: str = "pairs") -> str:
    """What was found of one figure, such as 'B's throughput is 4.8 % lower than A's (…): worse'."""
    name = f"{figure[1:]} % quantile" if figure[1:2].isdigit() and figure != "p50" else head(figure)
    what = f"B's {name if name.isupper() else name[:1].lower() + name[1:]}{place}"
    low, high = found.shown
    if found.verdict == "not measured":
        return f"not measured: no pair has a figure of {what[4:]} on both sides"
    if math.isinf(low) and math.isinf(high):
        return f"undecided: {found.pairs} {runs} are too few for an interval of {what}"
    if found.verdict in ("worse", "better", "different", "precise"):
        end = "as precise as was asked for" if found.verdict == "precise" else found.verdict
        return f"{what} is {_difference(found)}: {end}"
    between = f"{what} is between {_signed(low)} and {_signed(high)} of A's (95 % interval, {found.pairs} {runs})"
    if low == high == 0:
        return f"no difference: {what} equals A's exactly in {found.pairs} {runs}"
    if found.verdict == "equal":
        return f"no difference larger than {_percent(margin)}: {between}"
    if found.verdict == "no worse":
        return f"not worse by more than {_percent(margin)}: {between}"
    if found.verdict == "open":
        return f"no difference was found, and none larger than {_percent(max(-low, high))} is possible: {between}"
    beyond = f" by more than {_percent(margin)}" if margin else ""
    return f"undecided: {between}, which neither shows nor excludes that it is worse{beyond}"


def pairs_plot(name: str, title: str, differences: Sequence[Ends], found: Judgement, margin: float) -> Plot:
    """B against A in each pair, in the order of time, with the interval and the margin. Shares."""
    shown = [(number, low, high) for number, (low, high) in enumerate(differences, 1) if not math.isnan(low)]
    values = [100 * (low if math.isfinite(low) else high) for _, low, high in shown]
    axes = {"xaxis": axis("pair"), "yaxis": {**axis("B against A, %"), "zeroline": True}}
    plot = Plot(name, f"{title}: B against A in each pair, in the order of time; lines: the interval of 95 %.", axes)
    plot.add(
        {
            "mode": "markers",
            "name": "pairs",
            "x": [number for number, _, _ in shown],
            "y": values,
            "marker": {
                "color": device_colour(0),
                "symbol": [SYMBOLS.get((math.isfinite(low), math.isfinite(high)), "x") for _, low, high in shown],
            },
        }
    )
    span = [1, max(len(differences), 2)]
    for text, dash, ends in (("95 % interval", "solid", found.shown), ("margin", "dot", (-margin, margin))):
        for end in ends if text != "margin" or margin else ():
            if math.isfinite(end):
                line = {"color": device_colour(1), "dash": dash, "width": 1}
                plot.add({"mode": "lines", "name": label(text), "x": span, "y": [100 * end] * 2, "line": line})
    return plot


def _difference(found: Judgement) -> str:
    low, high = found.change
    if math.isinf(low) or math.isinf(high):
        known = high if math.isinf(low) else low
        return f"at least {_percent(abs(known))} {_way(known)} than A's ({found.pairs} pairs, of which some are bounds)"
    ends = found.shown
    if ends[0] < 0 < ends[1]:
        said = f"{_signed(ends[0])} to {_signed(ends[1])}"
    else:
        said = " to ".join(sorted((_percent(abs(end)) for end in ends), key=lambda text: float(text.split()[0])))
    return f"{_percent(abs(low))} {_way(low)} than A's (95 % interval {said}, {found.pairs} pairs)"


def _way(share: float) -> str:
    return "lower" if share < 0 else "higher"


def _percent(share: float) -> str:
    if not math.isfinite(share):
        return "any amount"
    return f"{digits.significant(100 * share, 2)} %"


def _signed(share: float) -> str:
    if not math.isfinite(share):
        return "any decrease" if share < 0 else "any increase"
    return ("+" if share > 0 else "") + _percent(share)
