"""Minimum round trip against probe size with the fitted plane, a line for each hop. It fits nothing."""

from __future__ import annotations

import numpy as np

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, device_colour, hover, label
from keisoku.language import phrase
from keisoku.subjects.path.one_packet.judgement.path import PathFit

_MARKS = {True: "circle", False: "x"}


def hop_plots(path: PathFit) -> list[Plot]:
    """One plot of all hops, and their residuals; none if no hop was fitted."""
    if not path.fits:
        return []
    top = max(float(hop.fitted.max()) for hop in path.fits)
    divisor, unit = digits.scale("ns", top)
    rtt = Plot(
        name="minimum-rtt",
        caption=(
            phrase(
                "Smallest round trip of each probe size, or the low quantile that the remarks name, "
                "and the fit; crosses were trimmed as delayed. Below the kink replies grow with the "
                "probe: the slope is of both directions."
            )
        ),
        axes={
            "xaxis": {"title": {"text": phrase("probe, byte")}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": phrase("minimum round trip, {unit}", unit=unit)}, "rangemode": "tozero"},
        },
    )
    residuals = Plot(
        name="residuals",
        caption=phrase("Residual of each point."),
        axes={
            "xaxis": {"title": {"text": phrase("probe, byte")}, "rangemode": "tozero"},
            "yaxis": {"title": {"text": phrase("residual, ns")}},
        },
    )
    for number, hop in enumerate(path.fits):
        samples, fit, values = hop.samples, hop.fit, hop.fitted
        fitted = fit.predict(samples.sizes, samples.replies)
        name = label(phrase("hop {hop} {replier}", hop=samples.hop, replier=samples.replier))
        points = {
            "mode": "markers",
            "type": "scatter",
            "name": name,
            "legendgroup": name,
            "x": samples.sizes.tolist(),
            "marker": {"color": device_colour(number), "symbol": [_MARKS[bool(kept)] for kept in fit.kept], "size": 6},
            "text": [
                hover(
                    phrase("{size:.0f} byte out, {reply:.0f} back", size=size, reply=reply),
                    f"{value / divisor:.4g} {unit}",
                )
                for size, reply, value in zip(samples.sizes, samples.replies, values, strict=True)
            ],
            "hoverinfo": "text+name",
        }
        rtt.add({**points, "y": (values / divisor).tolist()})
        rtt.add(
            {
                "mode": "lines",
                "type": "scatter",
                "name": name,
                "legendgroup": name,
                "showlegend": False,
                "hoverinfo": "skip",
                "x": samples.sizes.tolist(),
                "y": (fitted / divisor).tolist(),
                "line": {"color": device_colour(number)},
            }
        )
        left = np.where(fit.kept, values - fitted, np.nan)
        residuals.add({**points, "y": left.tolist()})
    return [rtt, residuals]
