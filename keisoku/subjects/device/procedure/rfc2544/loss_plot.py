"""Loss against load with the axes that RFC 2544 §26.3 prescribes, and the ideal lines beside it."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import SYMBOLS, Plot, device_colour, hover, label, size_choices, size_colour
from keisoku.ground.report.points import points
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.plot.device import Device, frame_sizes

ALL = phrase("all sizes")


def loss_plot(devices: Sequence[Device]) -> Plot | None:
    """Over the load in % of the maximum, the loss in %, both from 0 to 100 (RFC 2544 §26.3).

    Where the throughput is known and not only a bound, the theoretical line 1 − throughput/load is what an ideal device
    of that throughput would lose.
    """
    sizes = frame_sizes(devices, "loss")
    if not sizes:
        return None
    alone = len(devices) == 1
    plot = Plot(
        name="loss",
        caption=phrase(
            "Share of the offered frames that was lost. Dashed: loss of a device that forwards exactly its measured"
            " throughput and drops the rest; an ideal device stays at 0 %."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("load (% of the maximum)")}, "range": [0, 100]},
            "yaxis": {"title": {"text": phrase("frame loss (%)")}, "range": [0, 100]},
        },
        choices=[*([ALL] if alone and len(sizes) > 1 else []), *size_choices(sizes)],
        choice_title=phrase("frame size"),
        zooms=["xaxis", "yaxis"],
    )
    plot.add(
        {
            "x": [0, 100],
            "y": [0, 0],
            "mode": "lines",
            "name": phrase("ideal: no loss"),
            "line": {"color": "@muted", "width": 2.5},
            "hoverinfo": "skip",
        }
    )
    for device in devices:
        for position, size in enumerate(sizes):
            colour = size_colour(position, len(sizes)) if alone else device_colour(device.index)
            choices = [f"{size} byte", *([ALL] if alone else [])]
            name = f"{size} byte" if alone else device.name
            _add_measured(plot, device, size, name, colour, choices)
            _add_ideal(plot, device, size, name, colour, choices)
    return plot


def _add_measured(plot: Plot, device: Device, size: int, name: str, colour: str, choices: Sequence[str]) -> None:
    result = device.result("loss")
    rows = [row for row in result.rows if row.frame_bytes == size] if result else []
    rows = sorted((row for row in rows if "load" in row.figures), key=lambda r: r.figures["load"].value)
    losses = [row.figures.get("loss") for row in rows]
    if not any(losses):
        return
    symbol = SYMBOLS[device.index % len(SYMBOLS)]
    plot.add(
        {
            "x": [row.figures["load"].value for row in rows],
            "mode": "lines+markers",
            "name": label(name),
            "legendgroup": name,
            "line": {"color": colour, "width": 2},
            "cliponaxis": False,
            "text": [
                hover(
                    f"{device.name}, {size} byte",
                    *(
                        join_texts(" ", [title, digits.text(row.figures[key])])
                        for key, title in (
                            ("load", phrase("load")),
                            ("offered", phrase("offered")),
                            ("loss", phrase("loss")),
                        )
                        if key in row.figures
                    ),
                )
                for row in rows
            ],
            "hovertemplate": "%{text}<extra></extra>",
            **points(losses, 1.0, colour, symbol, 7),
        },
        choices,
    )


def _add_ideal(plot: Plot, device: Device, size: int, name: str, colour: str, choices: Sequence[str]) -> None:
    found = _throughput_share(device, size)
    if found is None or found.bound or not 0 < found.value < 100:
        return
    share = found.value
    loads = [share + (100 - share) * step / 60 for step in range(61)]
    plot.add(
        {
            "x": loads,
            "y": [100 * (1 - share / load) for load in loads],
            "mode": "lines",
            "name": label(phrase("{name}: 1 − throughput/load", name=name)),
            "legendgroup": name,
            "showlegend": len(choices) == 1,
            "line": {"color": colour, "width": 1.2, "dash": "dash"},
            "hovertemplate": hover(
                phrase("{name}: throughput {share} of the maximum", name=name, share=digits.text(found))
            ),
        },
        choices,
    )


def _throughput_share(device: Device, size: int) -> Quantity | None:
    """The throughput in % of the rate that is 100 % in the loss trials; None if either was not measured."""
    throughput, loss = device.result("throughput"), device.result("loss")
    found = [row.figures for row in (throughput.rows if throughput else []) if row.frame_bytes == size]
    loads = [row.figures for row in (loss.rows if loss else []) if row.frame_bytes == size and "loss" in row.figures]
    if not found or not loads or "throughput" not in found[0]:
        return None
    highest = max(loads, key=lambda figures: figures["load"].value)
    return found[0]["throughput"].scaled(highest["load"].value / highest["offered"].value, "%")
