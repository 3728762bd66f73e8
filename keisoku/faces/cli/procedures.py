"""A command for each procedure of a device, with options made from the procedure's settings: `--step` is
`step_percent`.

Only typed options enter the plan. It measures nothing itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.measuring import MeasuringCommand, settings_of, values_of
from keisoku.faces.cli.options import measuring, plan_of, seconds
from keisoku.faces.cli.outcome import show
from keisoku.faces.cli.watching import watching
from keisoku.ground.entry import Measurement, Work
from keisoku.ground.run.settings import RunSettings
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import find
from keisoku.subjects.device.plan.pace import LENGTHS
from keisoku.subjects.device.plan.procedure import Procedure


def somebody_waits() -> bool:
    """Whether a person types here and reads the answer: on a terminal at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def command(procedure: Procedure) -> click.Command:
    """The command of a procedure."""
    settings = [each for each in settings_of(procedure.settings) if each.name != "trial_s"]
    lengths = [each.option for each in settings if each.name in LENGTHS]
    lengths += ["--search"] if procedure.searches else []

    def asked(**given: Any) -> tuple[Measurement[Any], RunSettings]:
        found = values_of(settings, given)
        if procedure.trials_have_one_length:
            found["trial_s"] = seconds("--duration", given["duration"])
        elif given["duration"] is not None:
            instead = f"give {' and '.join(lengths)}" if lengths else "leave it out"
            raise PlanError("--duration", f"trials of {procedure.name} have no one length", instead)
        if given["dut"] is None and given["tx"] is None and given["ports"] is None:
            given["dut"] = procedure.dut
        simulated = (given["dut"] or "").startswith("sim:")
        if given["size"] is None:
            given["size"] = (procedure.simulated_sizes if simulated else None) or procedure.sizes
        search_s = seconds("--search", given.get("search"))
        if procedure.searches and procedure.trials_have_one_length:
            search_s = found["trial_s"]
        if given["profile"] is None and given["within"] is None and not simulated and somebody_waits():
            given["profile"] = "quick"
        return find(DEVICE), plan_of(procedure.name, given, found, search_s)

    def run(**given: Any) -> None:
        measurement, plan = asked(**given)
        with watching() as display:
            outcome = carry_out(Work(measurement, plan, given["out"], observer=display))
        sys.exit(show(outcome, given["as_json"]))

    run.__doc__ = f"{procedure.summary} ({procedure.standard})"
    if procedure.example:
        run.__doc__ += f"\n\n\b\n{procedure.example}"
    decorated: Callable[..., Any] = measuring(run, procedure)
    for setting in reversed(settings):
        decorated = setting.decorated(decorated)
    return click.command(procedure.command, cls=MeasuringCommand)(decorated).asking(asked)
