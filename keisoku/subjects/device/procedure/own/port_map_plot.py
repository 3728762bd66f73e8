"""The port map as two matrices, offset and limit, from port to port."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, hover, label
from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase
from keisoku.subjects.device.plot.device import Device

FIGURES = {"offset": phrase("offset"), "largest_frame": phrase("largest frame"), "latency": phrase("latency")}
"""A matrix each, as the reader may choose."""
_CELL_PX, _MARGIN_PX = 36, 150


def port_map_plot(devices: Sequence[Device]) -> Plot | None:
    """Rows send, columns receive; blocks of one colour are chips, as in the published port map (E1, Table 4.3)."""
    found = [(device, ways) for device in devices if (ways := _ways(device))]
    if not found:
        return None
    alone = len(found) == 1
    choices = {
        (device, figure): title if alone else f"{device.name}: {title}"
        for device, ways in found
        for figure, title in FIGURES.items()
        if any(figure in row.figures for row in ways.values())
    }
    if not choices:
        return None
    most = max(len(_ports(ways)) for _, ways in found)
    plot = Plot(
        name="port-map",
        caption=phrase(
            "From each port (row) to each other (column). Offset: how much longer a frame takes "
            "than inside a group of ports. Largest frame: without loss at the load of the map; "
            "blank where no limit was found."
        ),
        axes={
            "xaxis": {"title": {"text": phrase("to port")}, "type": "category", "constrain": "domain"},
            "yaxis": {
                "title": {"text": phrase("from port")},
                "type": "category",
                "autorange": "reversed",
                "scaleanchor": "x",
                "constrain": "domain",
            },
        },
        choices=list(choices.values()),
        choice_title="matrix",
        height=max(360, _CELL_PX * most + _MARGIN_PX),
    )
    for (device, figure), choice in choices.items():
        ways = dict(found)[device]
        plot.add(_matrix(device, ways, figure), [choice])
    return plot


def _matrix(device: Device, ways: dict[tuple[str, str], Row], figure: str) -> dict[str, object]:
    ports = _ports(ways)
    cells = [[_figure(ways, one, other, figure) for other in ports] for one in ports]
    known = [quantity for line in cells for quantity in line if quantity is not None]
    unit = known[0].unit
    names = [label(port) for port in ports]
    return {
        "type": "heatmap",
        "x": names,
        "y": names,
        "z": [[None if quantity is None else quantity.value for quantity in line] for line in cells],
        "colorscale": "Viridis",
        "xgap": 1,
        "ygap": 1,
        "colorbar": {"title": {"text": f"{FIGURES[figure]} ({unit})"}},
        "text": [
            [
                ""
                if quantity is None
                else hover(
                    device.name,
                    phrase("{one} to {other}: {quantity}", one=one, other=other, quantity=digits.text(quantity)),
                )
                for other, quantity in zip(ports, line, strict=True)
            ]
            for one, line in zip(ports, cells, strict=True)
        ],
        "hovertemplate": "%{text}<extra></extra>",
        "hoverongaps": False,
    }


def _figure(ways: dict[tuple[str, str], Row], one: str, other: str, figure: str) -> Quantity | None:
    row = ways.get((one, other))
    return None if row is None else row.figures.get(figure)


def _ports(ways: dict[tuple[str, str], Row]) -> list[str]:
    """In the order of the plan, which is that of the rows."""
    return list(dict.fromkeys(port for way in ways for port in way))


def _ways(device: Device) -> dict[tuple[str, str], Row]:
    """Rows of single ways, by the names of the two ports; rows of whole classes belong to no trial."""
    result = device.result("port_map")
    fields = device.run.plan.get("ports") or [device.run.plan.get("tx", "1"), device.run.plan.get("rx", "2")]
    found = {}
    for row in result.rows if result else []:
        record = device.record(row)
        if record is not None and record.trial.flows:
            flow = record.trial.flows[0]
            found[str(fields[flow.transmit]), str(fields[flow.receive])] = row
    return found
