"""Plot of one trial over time: latency and forwarded frames of every interval. It averages nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour, hover, label
from keisoku.ground.run.result import Row
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.plot.device import Device
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.table import PROCEDURES

TRIALS_MAX = 36
"""Largest number of trials to choose from; of a sweep over a thousand sizes some are left out."""
FEW_INTERVALS = 60


def time_plot(devices: Sequence[Device]) -> Plot | None:
    """Latency (mean, and the range from minimum to maximum) above, forwarded frames below."""
    shown = _thinned(devices)
    if not shown:
        return None
    extremes = [(found.min_ns, found.max_ns) for *_, record in shown if (found := record.facts.tracked.latency)]
    divisor, unit = digits.scale("ns", max((high for _, high in extremes), default=0.0))
    # One trial is shown at a time: only its own range decides whether the axis is logarithmic.
    widest = max(extremes, key=lambda pair: pair[1] / max(pair[0], 1.0), default=())
    plot = Plot(
        name="time",
        caption=phrase(
            "Each interval of one trial: mean latency with the range from minimum to maximum, and the frames forwarded"
            " in it; the dashed line is the intended load. The last intervals contain frames that were received after"
            " the load had ended."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("time since the first frame (s)")}, "anchor": "y2"},
            "yaxis": axis(phrase("latency ({unit})", unit=unit), widest, domain=[0.46, 1]),
            "yaxis2": axis(phrase("forwarded (frames)"), (), domain=[0, 0.36]),
        },
        choices=list(dict.fromkeys(choice for choice, *_ in shown)),
        choice_title=phrase("trial"),
        height=500,
    )
    for choice, device, record in shown:
        _add_trial(plot, choice, device, record, divisor)
    return plot


def _thinned(devices: Sequence[Device]) -> list[tuple[str, Device, TrialRecord]]:
    shown = [
        (_choice(method, row), device, record)
        for device in devices
        for method, row in _rows(device)
        if (record := device.record(row)) and record.facts.tracked.series
    ]
    choices = list(dict.fromkeys(choice for choice, *_ in shown))
    step = max(1.0, len(choices) / TRIALS_MAX)
    kept = {choices[int(index * step)] for index in range(min(len(choices), TRIALS_MAX))}
    return [entry for entry in shown if entry[0] in kept]


def _rows(device: Device) -> Iterator[tuple[str, Row]]:
    measured = {result.measurement for result in device.run.results}
    for method in [name for name in PROCEDURES if name in measured and PROCEDURES[name].over_time]:
        result = device.result(method)
        seen: set[int | None] = set()
        for row in sorted(result.rows, key=lambda row: row.frame_bytes) if result else []:
            # Rows of single ports name the trial of all of them.
            if row.trial not in seen:
                yield method, row
            seen.add(row.trial)


def _choice(method: str, row: Row) -> str:
    load = row.figures.get("load")
    size: str = f"{row.frame_bytes} byte"
    if load and PROCEDURES[method].several_loads:
        size = phrase("{size} at {percent} % load", size=size, percent=f"{load.value:.4g}")
    return join_texts(" · ", [PROCEDURES[method].title, size, *([row.case] if row.case else [])])


def _add_trial(plot: Plot, choice: str, device: Device, record: TrialRecord, divisor: float) -> None:
    series = record.facts.tracked.series
    colour = device_colour(device.index)
    mode = "lines+markers" if len(series) <= FEW_INTERVALS else "lines"
    line = {"color": colour, "width": 1.8}
    seconds = [interval.start_ns / NS_PER_S for interval in series]
    lows = [interval.latency and interval.latency.min_ns / divisor for interval in series]
    highs = [interval.latency and interval.latency.max_ns / divisor for interval in series]
    means = [interval.latency and interval.latency.mean_ns / divisor for interval in series]
    band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    plot.add({**band, "x": seconds, "y": highs}, [choice])
    fill = {"fill": "tonexty", "fillcolor": device_colour(device.index, 0.13)}
    plot.add({**band, **fill, "x": seconds, "y": lows}, [choice])
    texts = []
    for interval in series:
        frames = digits.count(interval.forwarded_frames)
        at = plural(
            "{time}: {count} frame", "{time}: {count} frames", time=f"{interval.start_ns / NS_PER_S:g} s", count=frames
        )
        found = interval.latency
        said = (
            phrase(
                "mean {mean} ({range})",
                mean=f"{found.mean_ns:,.1f} ns",
                range=f"{found.min_ns:,.1f} … {found.max_ns:,.1f}",
            )
            if found
            else phrase("none forwarded")
        )
        texts.append(hover(device.name, at, said))
    common = {
        "x": seconds,
        "mode": mode,
        "line": line,
        "marker": {"color": colour, "size": 5},
        "text": texts,
        "hovertemplate": "%{text}<extra></extra>",
        "legendgroup": str(device.index),
    }
    plot.add({**common, "y": means, "name": label(device.name)}, [choice])
    forwarded = [interval.forwarded_frames for interval in series]
    plot.add(
        {**common, "y": forwarded, "yaxis": "y2", "showlegend": False, "line": {**line, "shape": "hv"}},
        [choice],
    )
    intended = record.trial.frames_per_second * record.trial.interval_ns / NS_PER_S
    plot.add(
        {
            "x": [0, record.trial.duration_ns / NS_PER_S],
            "y": [intended, intended],
            "yaxis": "y2",
            "mode": "lines",
            "showlegend": False,
            "line": {"color": "@muted", "width": 1.2, "dash": "dash"},
            "hovertemplate": hover(phrase("intended: {frames} frames per interval", frames=f"{intended:,.1f}")),
        },
        [choice],
    )
