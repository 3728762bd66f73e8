"""Which plots and tables show a method's result. It draws and rounds nothing itself."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.device.report.behaviour_plot import behaviour_plot
from keisoku.device.report.device import Device
from keisoku.device.report.histogram_plot import histogram_plot
from keisoku.device.report.loss_plot import loss_plot
from keisoku.device.report.port_map_plot import port_map_plot
from keisoku.device.report.size_plots import latency_plot, throughput_plot
from keisoku.report.plot import Plot
from keisoku.run.result import Result


def plots(found: Sequence[Device], method: str) -> list[Plot]:
    """Plots of all devices that the method was run on; none for a method that is shown by tables only."""
    drawn: list[Plot | None] = []
    if method == "throughput":
        drawn = [throughput_plot(found)]
    elif method == "trial":
        drawn = [histogram_plot(found, method)]
    elif method in ("latency", "sweep"):
        drawn = [latency_plot(found, method), histogram_plot(found, method)]
    elif method == "loss":
        drawn = [loss_plot(found)]
    elif method == "buffer_over_time":
        drawn = [behaviour_plot(found)]
    elif method == "port_map":
        drawn = [port_map_plot(found)]
    return [plot for plot in drawn if plot]


def parts(result: Result) -> list[Result]:
    """A port map's classes of ways, which belong to no trial, in a table of their own before its ways."""
    if result.measurement != "port_map":
        return [result]
    rows = [[row for row in result.rows if (row.trial is None) == classes] for classes in (True, False)]
    return [result.model_copy(update={"rows": each}) for each in rows if each]
