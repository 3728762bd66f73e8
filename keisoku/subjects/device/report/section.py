"""Which plots and tables show a method's result. It draws and rounds nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from keisoku.ground.report.plot import Plot
from keisoku.ground.report.row_plot import row_plot
from keisoku.ground.run.result import Result
from keisoku.subjects.device.plan.procedure import PROCEDURES
from keisoku.subjects.device.report.behaviour_plot import behaviour_plot
from keisoku.subjects.device.report.changes_plot import changes_plot
from keisoku.subjects.device.report.critical_load_plot import critical_load_plot
from keisoku.subjects.device.report.device import Device
from keisoku.subjects.device.report.histogram_plot import histogram_plot
from keisoku.subjects.device.report.loss_plot import loss_plot
from keisoku.subjects.device.report.marking_plot import marking_plot
from keisoku.subjects.device.report.port_map_plot import port_map_plot
from keisoku.subjects.device.report.search_plot import search_plot
from keisoku.subjects.device.report.size_plots import latency_plot, throughput_plot

PLOTS: dict[str, tuple[Callable[[Sequence[Device]], Plot | None], ...]] = {
    "throughput": (throughput_plot, search_plot),
    "trial": (partial(histogram_plot, method="trial"),),
    "latency": (partial(latency_plot, method="latency"), partial(histogram_plot, method="latency")),
    "sweep": (partial(latency_plot, method="sweep"), partial(histogram_plot, method="sweep")),
    "loss": (loss_plot,),
    "critical_load": (critical_load_plot,),
    "marking": (marking_plot,),
    "buffer_over_time": (behaviour_plot,),
    "port_map": (port_map_plot,),
    "changes": (changes_plot,),
}
"""By procedure; each draws the devices that have something to show, and gives None if there is none."""


def plots(found: Sequence[Device], method: str) -> list[Plot]:
    """Plots of all devices that the method was run on; of its main figure where it has none of its own."""
    drawn = [plot for draw in PLOTS.get(method, ()) if (plot := draw(found)) and plot.has_an_axis]
    if drawn:
        return drawn
    rows = [(device.name, result.rows) for device in found if (result := device.result(method))]
    plain = row_plot(method.replace("_", "-"), PROCEDURES[method].figure, rows)
    return [plain] if plain else []


def parts(result: Result) -> list[Result]:
    """A port map's classes of ways, which belong to no trial, in a table of their own before its ways."""
    if result.measurement != "port_map":
        return [result]
    rows = [[row for row in result.rows if (row.trial is None) == classes] for classes in (True, False)]
    return [result.model_copy(update={"rows": each}) for each in rows if each]
