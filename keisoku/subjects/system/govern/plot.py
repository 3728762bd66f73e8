"""Plots of a governor's run over time: the figure of merit, the limit that was set, and the state that was inferred.

Draws the kept rows; infers nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.ground.report.table import head
from keisoku.language import join_texts, phrase
from keisoku.subjects.system.figure_of_merit import FIGURES
from keisoku.subjects.system.govern.governor import Phase
from keisoku.subjects.system.interval_log import KeptInterval
from keisoku.subjects.system.settings import GovernSettings
from keisoku.subjects.system.state import SAID, State

POINTS_MAX = 4000
"""Of a curve: in longer runs every second, third … interval is drawn."""


def govern_plots(intervals: Sequence[KeptInterval], states: Sequence[State], settings: GovernSettings) -> list[Plot]:
    """All over the same time."""
    step = -(-len(intervals) // POINTS_MAX)
    times = np.cumsum([kept.observation.seconds for kept in intervals])[::step].tolist()
    drawn = intervals[::step]
    thin = phrase(" Every {step}th interval is drawn.", step=step) if step > 1 else ""
    return [
        _merit(times, drawn, settings, thin),
        _limit(times, drawn, settings, thin),
        _state(times, drawn, states[::step], thin),
    ]


def _merit(times: list[float], intervals: Sequence[KeptInterval], settings: GovernSettings, thin: str) -> Plot:
    merit, objective = FIGURES[settings.objective], settings.weighted_objective
    values = [merit.value(objective.score(kept.observation)) for kept in intervals]
    divisor, unit = digits.scale(merit.unit, max(values))
    name = head(merit.name, of_frames=False)
    plot = Plot(
        "merit",
        phrase("The objective over time.{thin}", thin=thin),
        {"xaxis": axis("s"), "yaxis": axis(join_texts(", ", [name, unit]), rangemode="normal")},
    )
    for number, (label, phases) in enumerate(
        {phrase("held"): (Phase.HOLD,), phrase("observing and searching"): (Phase.LOOK, Phase.SEARCH)}.items()
    ):
        chosen = [kept.purpose in phases for kept in intervals]
        plot.add(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label,
                "x": [time for time, shown in zip(times, chosen, strict=True) if shown],
                "y": [value / divisor for value, shown in zip(values, chosen, strict=True) if shown],
                "marker": {"color": device_colour(number), "size": 4},
                "hovertemplate": hover(f"%{{x:,.0f}} s: %{{y:.5g}} {unit}"),
            }
        )
    return plot


def _set(kept: KeptInterval, settings: GovernSettings) -> list[float]:
    views = (client for client in kept.observation.clients if client.name in settings.client)
    return [client.limit_bps for client in views if client.limit_bps is not None]


def _limit(times: list[float], intervals: Sequence[KeptInterval], settings: GovernSettings, thin: str) -> Plot:
    caption = phrase(
        "The limit of the governed ports, read back from them; none where there is no line.{thin}", thin=thin
    )
    limits = [min(_set(kept, settings), default=None) for kept in intervals]
    plot = Plot(
        "limit", caption, {"xaxis": axis("s"), "yaxis": {"title": {"text": phrase("limit, Mb/s")}, "type": "log"}}
    )
    plot.add(
        {
            "type": "scatter",
            "mode": "lines",
            "name": phrase("limit"),
            "connectgaps": False,
            "line": {"shape": "vh", "color": device_colour(0)},
            "x": times,
            "y": [None if limit is None else limit / 1e6 for limit in limits],
            "hovertemplate": hover("%{x:,.0f} s: %{y:.4g} Mb/s"),
        }
    )
    return plot


def _state(times: list[float], intervals: Sequence[KeptInterval], states: Sequence[State], thin: str) -> Plot:
    caption = phrase(
        "What was inferred to limit the whole system, and what really did, where that is known.{thin}", thin=thin
    )
    names = list(SAID.values())
    categories = {"title": {"text": ""}, "type": "category", "categoryorder": "array", "categoryarray": names}
    plot = Plot("state", caption, {"xaxis": axis("s"), "yaxis": categories}, height=300)
    truths = [None if kept.truth is None else SAID[kept.truth] for kept in intervals]
    curves: dict[str, list[str | None]] = {
        phrase("inferred"): [SAID[state] for state in states],
        phrase("truth"): truths,
    }
    for number, (name, values) in enumerate(curves.items()):
        if any(values):
            plot.add(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": name,
                    "x": times,
                    "y": values,
                    "marker": {"color": device_colour(number), "size": 7 - 3 * number},
                    "hovertemplate": hover(join_texts("", ["%{x:,.0f} s: ", name, " %{y}"])),
                }
            )
    return plot
