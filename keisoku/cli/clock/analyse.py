"""`keisoku clock analyse`: figures and page of a clock's run again from its rows, or of a file of phase."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from keisoku.cli.observation import new_directory, publish
from keisoku.cli.options import seconds
from keisoku.clock.calibration import analysis as calibration
from keisoku.clock.calibration import table as readings_table
from keisoku.clock.calibration.plot import residual_plot
from keisoku.clock.cost import analysis as cost
from keisoku.clock.cost.plot import cost_plot
from keisoku.clock.stability import analysis as stability
from keisoku.clock.stability import run as stability_run
from keisoku.clock.stability.phase_file import UNITS, read_phase
from keisoku.errors import KeisokuError, PlanError
from keisoku.report.plot import Plot
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Flag, Result


@click.command("analyse")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option(
    "--phase",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="phase logged by something else, one \
value a line, or .npy",
)
@click.option("--tau0", metavar="TIME", help="between two phases of the file")
@click.option("--unit", default="s", show_default=True, metavar="UNIT", help=f"of the file: {', '.join(UNITS)}")
@click.option("--out", type=click.Path(path_type=Path), help="with --phase: run directory (default: runs/DATE-KIND)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
def analyse(run: Path | None, phase: Path | None, tau0: str | None, unit: str, out: Path | None, as_json: bool) -> None:
    """Computes a RUN again without measuring, or tells the stability of a clock from a file of its phase.

    \b
    keisoku clock analyse runs/20261121-clock-stability
    keisoku clock analyse --phase tic.txt --tau0 1s
    """
    if (run is None) == (phase is None):
        raise PlanError("run", "what to analyse is not said, or twice", "give a run's directory or --phase FILE")
    if phase is not None:
        publish_phase(phase, tau0, unit, out, as_json)
        return
    if tau0 is not None or out is not None:
        raise PlanError("--tau0" if tau0 else "--out", "it is for --phase", "a run is analysed in its own directory")
    directory = RunDirectory.open(run or Path(), *_KINDS)
    observation, plots = _KINDS[directory.kind](directory)
    publish(observation, directory, plots, as_json)


def publish_phase(phase: Path, tau0: str | None, unit: str, out: Path | None, as_json: bool) -> None:
    """A new run of the file's phase, and its figures."""
    tau0_s = seconds("--tau0", tau0)
    if not tau0_s:
        raise PlanError("--tau0", "how long it is from one phase of the file to the next is not said", "give --tau0 1s")
    values = read_phase(phase, unit)
    directory = new_directory(out, stability.KIND, {"phase": phase.name, "tau0_s": tau0_s}, {})
    stability_run.keep_phase(directory, values)
    observation, plots = stability_run.observed(directory)
    publish(observation, directory, plots, as_json)


def _calibration(directory: RunDirectory) -> tuple[Result, list[Plot]]:
    measured = readings_table.kept(directory)
    context = directory.context
    said = [Flag.model_validate(flag) for flag in context["said"]]
    found = calibration.observation(
        measured, str(context["counter"]), str(context["reference"]), said, real=bool(context["reference_is_real"])
    )
    fit = calibration.residuals(measured)
    return found, [residual_plot(fit)] if fit is not None else []


def _cost(directory: RunDirectory) -> tuple[Result, list[Plot]]:
    path = directory.path / "record.json"
    try:
        record = cost.CostRecord.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise KeisokuError(f"run: {path} is missing or damaged; measure again") from error
    return cost.observation(record), [cost_plot(record)]


_KINDS: dict[str, Callable[[RunDirectory], tuple[Result, list[Plot]]]] = {
    stability.KIND: stability_run.observed,
    calibration.KIND: _calibration,
    cost.KIND: _cost,
}
