"""A command for each procedure of a device, with options made from the procedure's settings: `--step` is
`step_percent`.

Only typed options enter the plan. It measures nothing itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from keisoku.cli.measuring import MeasuringCommand, settings_of, values_of
from keisoku.cli.options import measuring, plan_of, seconds
from keisoku.cli.outcome import show, told
from keisoku.cli.progress import watching
from keisoku.device.plan.procedure import PROCEDURES, Procedure
from keisoku.errors import PlanError
from keisoku.measurement.carry_out import carry_out
from keisoku.measurement.entry import Measurement
from keisoku.measurement.table import DEVICE, find
from keisoku.run.settings import RunSettings


def names() -> list[str]:
    """Names of all commands, in the order of a report."""
    return [_dashed(procedure) for procedure in PROCEDURES.values()]


def command(name: str) -> click.Command | None:
    """The command of a procedure; None if there is no such procedure."""
    return next((_command(procedure) for procedure in PROCEDURES.values() if _dashed(procedure) == name), None)


def _dashed(procedure: Procedure) -> str:
    return procedure.name.replace("_", "-")


def _command(procedure: Procedure) -> click.Command:
    settings = [each for each in settings_of(procedure.settings) if each.name != procedure.duration]

    def asked(**given: Any) -> tuple[Measurement[Any], RunSettings]:
        found = values_of(settings, given)
        if procedure.duration in procedure.settings.model_fields:
            found[procedure.duration] = seconds("--duration", given["duration"])
        elif given["duration"] is not None:
            raise PlanError("--duration", f"has no meaning for {procedure.name}", "leave it out")
        if given["dut"] is None and given["tx"] is None and given["ports"] is None:
            given["dut"] = procedure.dut
        if given["size"] is None:
            simulated = (given["dut"] or "").startswith("sim:")
            given["size"] = (procedure.simulated_sizes if simulated else None) or procedure.sizes
        search_s = found.get(procedure.duration) if procedure.searches else None
        return find(DEVICE), plan_of(procedure.name, given, found, search_s)

    def run(**given: Any) -> None:
        measurement, plan = asked(**given)
        with watching() as observer:
            outcome = carry_out(measurement, plan, given["out"], tell=told, observer=observer)
        sys.exit(show(outcome, given["as_json"]))

    run.__doc__ = f"{procedure.summary} ({procedure.standard})"
    if procedure.example:
        run.__doc__ += f"\n\n\b\n{procedure.example}"
    decorated: Callable[..., Any] = measuring(run)
    for setting in reversed(settings):
        decorated = setting.decorated(decorated)
    return click.command(_dashed(procedure), cls=MeasuringCommand)(decorated).asking(asked)
