"""The command that stands behind `ab` or `bisect` and says what is measured; and the options of these two."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.measuring import MeasuringCommand, with_option
from keisoku.faces.cli.outcome import output_options
from keisoku.ground.entry import Measurement
from keisoku.ground.run.settings import RunSettings
from keisoku.running.measurement.plan_file import read
from keisoku.running.measurement.typed_setting import TypedSetting, settings_of


def settings_of_whole(kind: type[RunSettings]) -> list[TypedSetting]:
    """The settings that the command itself offers."""
    return [setting for setting in settings_of(kind) if setting.name != "repeat"]


def with_settings(settings: Sequence[TypedSetting]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command these settings, and the options for its result."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(output_options()):
            command = option(command)
        for setting in reversed(settings):
            command = with_option(setting, command)
        return command

    return decorated


def measured_by(
    context: click.Context, words: Sequence[str], own: str | None, option: str, form: str
) -> tuple[Measurement[Any], RunSettings]:
    """What the command measures with the options of both sides and of one; `form` is what stands before it.

    Raises PlanError if it measures nothing.
    """
    try:
        left = [*words, *shlex.split(own or "")]
    except ValueError as error:
        raise PlanError(option, f"'{own}' cannot be read: {str(error).lower()}", "close the quotes") from error
    if left[0] == "run":
        if len(left) != 2:
            raise PlanError(option, f"a plan file is wanted, not '{' '.join(left[1:])}'", f"write {option} PLAN.toml")
        return read(Path(left[1]))
    found: click.Command | None = context.find_root().command
    named = []
    while isinstance(found, click.Group) and left:
        named.append(left.pop(0))
        found = found.get_command(context, named[-1])
    if not isinstance(found, MeasuringCommand):
        raise PlanError(
            str(context.info_name),
            f"'{' '.join(named)}' is no command that measures",
            f"write it first: {form} throughput …",
        )
    # Many short runs in turn tell more in the same time than a few long ones.
    return found.asked(True, **found.make_context(" ".join(named), left, parent=context).params)
