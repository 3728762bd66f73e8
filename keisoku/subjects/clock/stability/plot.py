"""Allan plot and cumulated drift of a clock's log.

Draws what the result and the log hold; computes no deviation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from keisoku.ground.report import digits
from keisoku.ground.report.plot import SYMBOLS, Plot, Trace, axis, device_colour, hover, label
from keisoku.ground.run.result import Result, Row
from keisoku.language import phrase
from keisoku.subjects.clock.stability.analysis import TAU_GROUP
from keisoku.subjects.clock.stability.phase_log import PhaseLog
from keisoku.subjects.clock.stability.power_law import Floats

POINTS_MAX = 4000
"""Of a drawn curve: between its points, the least and the most phase of each span is drawn."""
STEADY, LOGGED = phrase("mean rate taken away"), phrase("as logged")
_PPB, _NS = 1e-9, 1e-9
_SLOPES = {-1.0: "τ⁻¹", -0.5: "τ⁻¹ᐟ²", 0.5: "τ¹ᐟ²"}


def stability_plots(result: Result, log: PhaseLog, nominal_rate: float | None) -> list[Plot]:
    """Frequency deviations, time deviations and phase; those for which the log is too short are left out.

    `nominal_rate` is a ratio.
    """
    rows = [row for row in result.rows if row.group == TAU_GROUP and row.at is not None]
    allan = _deviations(
        rows,
        "allan",
        ("adev", "mdev", "hdev"),
        (phrase("σ (fractional frequency)"), _PPB),
        phrase(
            "Overlapping Allan (ADEV), modified Allan (MDEV) and Hadamard deviation (HDEV) against averaging time, "
            "with intervals of 95 %; MDEV and HDEV need longer logs. ADEV falls as τ⁻¹ where the noise is of reading"
            " the clock, and as τ⁻¹ᐟ² for white noise of its frequency. It is flat for flicker, rises with τ¹ᐟ² for "
            "a random walk of frequency, and with τ for a linear drift. HDEV does not see a linear drift."
        ),
    )
    times = _deviations(
        rows,
        "time-deviation",
        ("tdev", "mtie"),
        (phrase("deviation of time (s)"), _NS),
        phrase(
            "Time deviation (TDEV, with intervals of 95 %) and the largest peak-to-peak change "
            "of phase in any window of that length (MTIE, a property of this log that has no "
            "interval)."
        ),
    )
    return [plot for plot in (allan, times, drift_plot(log, nominal_rate)) if plot is not None]


def _deviations(
    rows: Sequence[Row], name: str, figures: Sequence[str], unit: tuple[str, float], caption: str
) -> Plot | None:
    title, scale = unit
    points = {figure: [row for row in rows if figure in row.figures] for figure in figures}
    values = [row.figures[figure].value * scale for figure, mine in points.items() for row in mine]
    above = [value for value in values if value > 0]
    if not above:
        return None
    taus = [row.at.value for mine in points.values() for row in mine if row.at is not None]
    decades: dict[str, Any] = {"type": "log", "exponentformat": "power", "dtick": 1}
    plot = Plot(
        name=name,
        caption=caption,
        axes={
            "xaxis": axis(phrase("averaging time τ (s)"), (), **decades),
            "yaxis": axis(title, (), **decades, range=_decades(above)),
        },
        height=460,
    )
    if name == "allan":
        _add_guides(plot, min(taus), max(taus), points["adev"] or points["mdev"])
    for number, (figure, mine) in enumerate(points.items()):
        if mine:
            plot.add(_curve(number, figure, mine, scale))
    return plot


def _decades(values: Sequence[float]) -> list[float]:
    """Whole decades around, as Plotly wants a logarithmic range."""
    return [math.floor(math.log10(min(values)) - 0.2), math.ceil(math.log10(max(values)) + 0.2)]


def _curve(number: int, figure: str, rows: Sequence[Row], scale: float) -> Trace:
    name, colour = figure.upper(), device_colour(number)
    values = [row.figures[figure].value for row in rows]
    bounds = [row.figures[figure].interval for row in rows]
    texts = [
        hover(phrase("{name} at {case}", name=name, case=row.case), digits.text(row.figures[figure]), row.remark)
        for row in rows
    ]
    trace: Trace = {
        "x": [row.at.value for row in rows if row.at is not None],
        "y": [value * scale for value in values],
        "mode": "lines+markers",
        "name": name,
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": colour, "width": 1.6},
        "marker": {"color": colour, "size": 6, "symbol": SYMBOLS[number]},
    }
    if any(bounds):
        trace["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": [(b.upper - v) * scale if b else 0.0 for v, b in zip(values, bounds, strict=True)],
            "arrayminus": [(v - b.lower) * scale if b else 0.0 for v, b in zip(values, bounds, strict=True)],
            "color": colour,
            "thickness": 1.4,
            "width": 3,
        }
    return trace


def _add_guides(plot: Plot, low: float, high: float, rows: Sequence[Row]) -> None:
    """Slopes of the kinds of noise, drawn through the first point."""
    first = next((row for row in rows if row.at is not None), None)
    figure = next(iter(first.figures.values())) if first else None
    if first is None or first.at is None or figure is None or high <= low:
        return
    for slope in _SLOPES:
        plot.add(
            {
                "x": [low, high],
                "y": [figure.value * _PPB * (tau / first.at.value) ** slope for tau in (low, high)],
                "mode": "lines",
                "name": ", ".join(_SLOPES.values()),
                "line": {"color": "@muted", "width": 0.8, "dash": "dot"},
                "hoverinfo": "skip",
                "showlegend": slope == -1.0,
            }
        )


def drift_plot(log: PhaseLog, nominal_rate: float | None) -> Plot:
    """Phase over the whole log, broken where the log is; with a nominal rate (a ratio), also as it was logged."""
    steady, logged = _curves(log, nominal_rate)
    ways = {STEADY: steady} if logged is None else {STEADY: steady, LOGGED: logged}
    plot = Plot(
        name="drift",
        caption=phrase(
            "Phase of the clock against its reference over the whole log. Of long logs, the "
            "least and the most of each span are drawn. Lines are broken where readings are "
            "missing; dotted verticals are steps, suspends and other interruptions, across which "
            "phases cannot be compared."
        ),
        axes={"xaxis": axis(phrase("time since the log began (s)")), "yaxis": axis(phrase("phase (s)"))},
        choices=list(ways),
        choice_title="rate",
        height=420,
    )
    most = max(float(np.nanmax(np.abs(phase))) for curves in ways.values() for _, phase in curves)
    divisor, unit = digits.scale("ns", most * 1e9)
    plot.axes["yaxis"] = {**axis(phrase("phase ({unit})", unit=unit)), "rangemode": "normal"}
    for way, curves in ways.items():
        for number, (times, phase) in enumerate(curves):
            x, y = _thinned(times, phase * 1e9 / divisor)
            plot.add(
                {
                    "x": x,
                    "y": y,
                    "mode": "lines",
                    "name": label(phrase("phase")),
                    "legendgroup": "phase",
                    "showlegend": False,
                    "connectgaps": False,
                    "line": {"color": device_colour(number % 6), "width": 1.2},
                    "hovertemplate": f"%{{x:.6~g}} s: %{{y:.6~g}} {unit}<extra></extra>",
                },
                [way] if len(ways) > 1 else [],
            )
    _add_breaks(plot, log)
    return plot


def _curves(
    log: PhaseLog, nominal_rate: float | None
) -> tuple[list[tuple[Floats, Floats]], list[tuple[Floats, Floats]] | None]:
    """Times and phases of each stretch, from 0 on: without their mean slope, and as logged (None: no nominal rate)."""
    scale = log.rate / nominal_rate if nominal_rate else None
    steady: list[tuple[Floats, Floats]] = []
    logged: list[tuple[Floats, Floats]] = []
    for stretch in log.stretches:
        place = np.arange(len(stretch.phase_s))
        times = np.asarray(stretch.start_s + place * log.tau0_s, np.float64)
        present = np.isfinite(stretch.phase_s)
        slope, start = np.polyfit(place[present], stretch.phase_s[present], 1)
        steady.append((times, np.asarray(stretch.phase_s - slope * place - start, np.float64)))
        if scale is not None:
            whole: Floats = stretch.phase_s * scale + (scale - 1.0) * place * log.tau0_s
            logged.append((times, whole - whole[present][0]))
    return steady, logged if scale is not None else None


def _add_breaks(plot: Plot, log: PhaseLog) -> None:
    at = [one.at_s for one in log.breaks if one.reason != "gap"][:200]
    low = min(min(y for y in trace["y"] if y is not None) for trace in plot.traces)
    high = max(max(y for y in trace["y"] if y is not None) for trace in plot.traces)
    if at:
        plot.add(
            {
                "x": [x for time in at for x in (time, time, None)],
                "y": [y for _ in at for y in (low, high, None)],
                "mode": "lines",
                "name": phrase("interruption"),
                "line": {"color": "@muted", "width": 1, "dash": "dot"},
                "hoverinfo": "skip",
            }
        )


def _thinned(times: Floats, values: Floats) -> tuple[list[float | None], list[float | None]]:
    """At most `POINTS_MAX` points that keep every extreme; None where something is missing."""
    span = max(1, -(-2 * len(values) // POINTS_MAX))
    x: list[float | None] = []
    y: list[float | None] = []
    if span < 3:
        return times.tolist(), [value if math.isfinite(value) else None for value in values.tolist()]
    for first in range(0, len(values), span):
        part = values[first : first + span]
        present = np.flatnonzero(np.isfinite(part))
        if not len(present):
            x, y = [*x, None], [*y, None]
            continue
        for place in sorted({int(present[np.argmin(part[present])]), int(present[np.argmax(part[present])])}):
            x.append(float(times[first + place]))
            y.append(float(part[place]))
    return x, y
