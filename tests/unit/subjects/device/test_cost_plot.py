"""The plot of what frames cost: a curve over the sizes for each burst, or over the bursts of one size."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.subjects.device.plot.device import Device
from keisoku.subjects.device.procedure.own.cost import PROCEDURE
from keisoku.subjects.device.procedure.own.cost_plot import cost_plot
from keisoku.subjects.device.record.run import DeviceRun


def device(sizes: list[int], bursts: list[int]) -> Device:
    rows = [
        Row(
            frame_bytes=size,
            case=f"bursts of {burst}",
            figures={
                "cost": Quantity(value=900.0 + size / burst, unit="ns", interval=Interval(lower=890, upper=2500)),
                "whole": Quantity(value=1300.0 + size / burst, unit="ns"),
                "tester": Quantity(value=400.0, unit="ns"),
            },
        )
        for size in sizes
        for burst in bursts
    ]
    run = SimpleNamespace(results=[Result(measurement="cost", rows=rows)])
    return Device(0, "Linux bridge", cast(DeviceRun, run))


def test_sizes_are_curves_of_each_burst() -> None:
    plot = cost_plot([device([64, 512, 1518], [1, 8, 64])])
    assert plot is not None and [trace["x"] for trace in plot.traces] == [[64, 512, 1518]] * 3
    assert plot.traces[2]["y"][2] == (900 + 1518 / 64) / 1000, "µs, because the axis goes to 2.4 µs"
    assert len({trace["line"]["dash"] for trace in plot.traces}) == 3


def test_bursts_of_one_size_are_one_curve() -> None:
    plot = cost_plot([device([64], [1, 8, 64])])
    assert plot is not None and [trace["x"] for trace in plot.traces] == [[f"bursts of {n}" for n in (1, 8, 64)]]


def test_one_figure_is_no_plot() -> None:
    assert cost_plot([device([64], [64])]) is None


def test_the_sentence_names_the_burst_whose_cost_it_says() -> None:
    """The table of sizes had the cost in bursts of 64, and the sentence that of single frames without a word."""
    result = device([64, 1518], [1, 64]).result("cost")
    assert PROCEDURE.sentence is not None and result is not None
    assert PROCEDURE.sentence(result).startswith("A frame of 64 bytes, bursts of 64 takes 901")
