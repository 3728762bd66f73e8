"""Commands made from entries of the table of measurements: an option for each setting, whose docstring is its help.

`--repetitions` is `repetitions`, `--budget` is `budget_s`: the unit is in the setting's name, and the user types it
with the value. Only typed options enter the settings. It measures nothing itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import cleandoc
from typing import Any, Literal, get_args, get_origin

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.help_sections import ManyOptions
from keisoku.faces.cli.outcome import measured, output_options
from keisoku.faces.cli.waiting_time import waited_s
from keisoku.ground.entry import Measurement, Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.settings import RunSettings
from keisoku.language import phrase
from keisoku.running.measurement.table import find
from keisoku.running.measurement.typed_setting import (
    LENGTH,
    LENGTH_OF_TRIALS,
    TypedSetting,
    known_as,
    settings_of,
    values_of,
)

_NO_TERMINAL = phrase("no terminal is here, so that the profile is rfc; '--profile quick' measures as on a terminal")


def with_option(setting: TypedSetting, command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with this setting."""
    if setting.is_argument:
        many = get_origin(setting.kind) is tuple
        return click.argument(
            setting.name, metavar=setting.known_as + ("..." if many else ""), nargs=-1 if many else 1, required=True
        )(command)
    both = setting.kind is bool and setting.field.default
    declared = f"{setting.option}/--no-{setting.option[2:]}" if both else setting.option
    return click.option(declared, setting.name, cls=_SettingOption, of=setting, **_form(setting))(command)


def _form(setting: TypedSetting) -> dict[str, Any]:
    """Arguments of click's option."""
    if setting.kind is bool:
        return {"is_flag": True, "default": None}
    if setting.shown.metavar:
        return {"metavar": setting.shown.metavar, "multiple": setting.shown.several}
    if get_origin(setting.kind) is Literal:
        return {"type": click.Choice(get_args(setting.kind))}
    metavar = (
        setting.unit.metavar
        if setting.unit
        else "NUMBER"
        if setting.kind in (int, float)
        else setting.option[2:].upper()
    )
    if get_origin(setting.kind) is dict:
        return {"multiple": True, "metavar": f"NAME={_value_metavar(setting)}"}
    if setting.name == "require":
        return {"multiple": True, "metavar": "CRITERION"}
    if get_origin(setting.kind) is tuple:
        metavar += ",…"
    return {"metavar": metavar}


def _value_metavar(setting: TypedSetting) -> str:
    """Placeholder for the value of a pair."""
    values = get_args(setting.kind)[1]
    if get_origin(values) in (tuple, list):
        return "VALUE,…"
    return setting.unit.metavar if setting.unit else "VALUE" if values is str else "NUMBER"


class _SettingOption(click.Option):
    """The option of a setting, whose help is made when it is shown."""

    def __init__(self, *declared: Any, of: TypedSetting, **form: Any) -> None:
        super().__init__(*declared, **form)
        self._setting = of

    @property
    def help(self) -> str | None:
        return self._setting.meaning()

    @help.setter
    def help(self, _: str | None) -> None:
        """Click's own constructor sets it; nothing is kept."""


class MeasuringCommand(ManyOptions):
    """A command that measures."""

    asked: Callable[..., tuple[Measurement[Any], RunSettings]]
    """What the command measures with these parameters, without measuring it: first whether it is to end soon, as if a
    person waited for it."""

    def asking(self, asked: Callable[..., tuple[Measurement[Any], RunSettings]]) -> MeasuringCommand:
        """The command, which can say what it measures."""
        self.asked = asked
        return self


def command(name: str) -> click.Command:
    """The command of a measurement that has one of its own, by its full name: 'path packet-pair'."""
    measurement: Measurement[Any] = find(name)
    settings = settings_of(*(measurement.offers or [measurement.settings]))
    refused = {LENGTH if field == LENGTH_OF_TRIALS else field: why for field, why in measurement.refuses.items()}
    names, own = known_as(settings), name.replace("_", "-")
    if measurement.offers:  # their errors name them as plans do, with the procedure's table and in its words
        tables = {f"{name}.{field}": option for field, option in names.items()}
        names = {**tables, **names, "frame size": names["frame_bytes"], "methods": own, "device": "--dut"}

    def told(error: PlanError) -> PlanError:
        return PlanError(names.get(error.field, error.field), error.problem.removeprefix(f"{own} "), error.remedy)

    def asked(soon: bool, **given: Any) -> tuple[Measurement[Any], RunSettings]:
        for option, (problem, remedy) in refused.items():
            if given[option] is not None:
                raise PlanError(f"--{option}", problem, remedy)
        values = values_of(settings, given)
        if soon:
            values |= measurement.waited_for(values)
        try:
            return measurement, measurement.settings_of(values, lambda field: names.get(field, field))
        except PlanError as error:
            raise told(error) from error

    def run(out: Any, as_json: bool, **given: Any) -> None:
        try:
            soon = somebody_waits()
            what = asked(soon, **given)

            def work(display: Observer) -> Work[Any]:
                if not soon and measurement.waited_for(values_of(settings, given)):
                    display.note = _NO_TERMINAL
                return Work(*what, out, observer=display, waited_s=waited_s())

            code = measured(work, as_json)
        except PlanError as error:
            raise told(error) from error
        sys.exit(code)

    run.__doc__ = f"{measurement.summary}\n\n{cleandoc(measurement.help)}".rstrip()
    decorated: Callable[..., Any] = run
    for option in reversed(output_options()):
        decorated = option(decorated)
    for option in refused:
        decorated = click.option(f"--{option}", hidden=True)(decorated)
    for setting in reversed(settings):
        decorated = with_option(setting, decorated)
    return click.command(name.split()[-1].replace("_", "-"), cls=MeasuringCommand)(decorated).asking(asked)


def somebody_waits() -> bool:
    """Whether a person types here and reads the answer: on a terminal at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()
