"""The smallest possible procedure, made by following docs/recipes.md: the loss at one share of the link's maximum.

`python tiny_procedure.py ARGUMENTS` is the command `keisoku` with one more line in the table of procedures.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from pydantic import Field

from keisoku.faces.cli.main import main
from keisoku.ground.report.plot import Plot, axis, device_colour, label
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plot.device import Device
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.table import GROUPS

GROUPS["Switches"]["part_load"] = __name__


class PartLoadSettings(Settings):
    """One load, given as a share."""

    trial_s: float = Field(1.0, gt=0)
    """Length of each trial."""
    load_percent: float = Field(50.0, gt=0, le=100)
    """Load, as a share of the maximum of the link."""


def part_load(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'loss' (%)."""
    settings = inputs.plan.settings_of(PartLoadSettings)
    rows = []
    for size in inputs.plan.frame_bytes:
        line_fps = inputs.line_fps(size)
        assert line_fps is not None, "the simulated devices of this example have links of known rate"
        fps = line_fps * settings.load_percent / 100
        record = yield inputs.trial(f"{settings.load_percent:g} % {size} byte", size, fps, settings.trial_s)
        lost_percent = 100 * record.facts.tracked.lost_frames / record.facts.sent.offered_frames
        rows.append(Row(frame_bytes=size, figures={"loss": Quantity(value=lost_percent, unit="%")}, trial=record.index))
    return Result(measurement="part_load", rows=rows)


def part_load_plot(devices: Sequence[Device]) -> Plot | None:
    """Loss against frame size, a line for each device."""
    plot = Plot(
        "part-load", "Loss at part of the load.", {"xaxis": axis("frame size (byte)"), "yaxis": axis("loss (%)")}
    )
    for device in devices:
        result = device.result("part_load")
        rows = result.rows if result else []
        sizes, losses = [row.frame_bytes for row in rows], [row.figures["loss"].value for row in rows]
        colour = {"color": device_colour(device.index)}
        plot.add({"mode": "lines+markers", "name": label(device.name), "x": sizes, "y": losses, "line": colour})
    return plot


PROCEDURE = Procedure(
    name="part_load",
    title="Part load",
    standard="no standard",
    summary="The frame loss at one share of the link's maximum.",
    settings=PartLoadSettings,
    generator=part_load,
    figure="loss",
    units={"%": "loss"},
    example="keisoku part-load --dut sim:gs908e --size 64 --load 50%",
    plots=(part_load_plot,),
)

if __name__ == "__main__":
    main()
