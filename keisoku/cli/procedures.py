"""A command for each procedure, its options made of the procedure's settings: `--step` is `step_percent`.

Only what the user typed enters the plan. It measures nothing itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import UnionType
from typing import Any, Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from keisoku.cli.options import fps, measuring, plan_of, seconds
from keisoku.cli.outcome import show, told
from keisoku.cli.progress import watching
from keisoku.device.plan.procedure import PROCEDURES, Procedure
from keisoku.errors import PlanError
from keisoku.measurement.carry_out import carry_out
from keisoku.measurement.table import DEVICE, find
from keisoku.run.settings import Settings
from keisoku.units import length_m

_UNITS = {"_s": "TIME", "_fps": "RATE", "_percent": "PERCENT", "_bytes": "BYTES", "_m": "LENGTH"}
"""Suffixes of settings, which options go without, and what is shown instead."""


def names() -> list[str]:
    """Of all commands, in the order of a report."""
    return [_dashed(procedure) for procedure in PROCEDURES.values()]


def command(name: str) -> click.Command | None:
    """None if no procedure has the name."""
    return next((_command(procedure) for procedure in PROCEDURES.values() if _dashed(procedure) == name), None)


def _dashed(procedure: Procedure) -> str:
    return procedure.name.replace("_", "-")


def _command(procedure: Procedure) -> click.Command:
    settings = {name: field for name, field in procedure.settings.model_fields.items() if name != procedure.duration}
    names = {name: _option_name(name) for name in settings}

    def run(**given: Any) -> None:
        found = {name: _value(field, name, names[name], given.pop(name)) for name, field in settings.items()}
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
        plan = plan_of(procedure.name, given, found, search_s)
        with watching() as observer:
            outcome = carry_out(find(DEVICE), plan, given["out"], tell=told, observer=observer)
        sys.exit(show(outcome, given["as_json"]))

    run.__doc__ = f"{procedure.summary} ({procedure.standard})"
    if procedure.example:
        run.__doc__ += f"\n\n\b\n{procedure.example}"
    decorated: Callable[..., Any] = measuring(run)
    for name, field in reversed(settings.items()):
        decorated = _option(procedure.settings, name, names[name], field)(decorated)
    return click.command(_dashed(procedure))(decorated)


def _option(settings: type[Settings], name: str, option: str, field: FieldInfo) -> Callable[..., Any]:
    kind = _kind(field.annotation)
    help_ = field.description or ""
    help_ = help_[:1].lower() + help_[1:].rstrip(".")
    if kind is bool:
        return click.option(f"{option}/--no-{option[2:]}", name, default=None, help=help_)
    if get_origin(kind) is Literal:
        return click.option(option, name, type=click.Choice(get_args(kind)), help=help_)
    metavar = next((unit for suffix, unit in _UNITS.items() if name.endswith(suffix)), None)
    if get_origin(kind) is tuple:
        metavar = f"{metavar or 'NUMBER'},…"
    return click.option(option, name, metavar=metavar or "NUMBER", help=help_)


def _kind(annotation: Any) -> Any:
    """The type of a setting that may be absent."""
    if get_origin(annotation) is UnionType:
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation


def _option_name(name: str) -> str:
    suffix = next((suffix for suffix in _UNITS if name.endswith(suffix)), "")
    return f"--{name.removesuffix(suffix).replace('_', '-')}"


def _value(field: FieldInfo, name: str, option: str, text: Any) -> Any:
    """As the plan takes it; numbers without a unit are left for it to read."""
    if text is None or isinstance(text, bool):
        return text
    if name.endswith("_s"):
        return seconds(option, text)
    if name.endswith("_m"):
        return length_m(option, text)
    if name.endswith("_fps"):
        return fps(option, text)
    if get_origin(_kind(field.annotation)) is tuple:
        return [part.strip() for part in text.split(",")]
    return text
