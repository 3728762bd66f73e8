"""Commands made from entries of the table of measurements: an option for each setting, whose docstring is its help.

`--repetitions` is `repetitions`, `--budget` is `budget_s`: the unit is in the setting's name, and the user types it
with the value. Only typed options enter the settings. It measures nothing itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click
from pydantic_core import PydanticUndefined

from keisoku.errors import PlanError
from keisoku.faces.cli.help_sections import ManyOptions
from keisoku.faces.cli.outcome import measured, output_options
from keisoku.faces.cli.waiting_time import waited_s
from keisoku.ground.entry import Measurement, Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.settings import Option, RunSettings, Settings
from keisoku.language import phrase
from keisoku.running.measurement.table import find
from keisoku.subjects.device.plan.rate import BitRate, load
from keisoku.units import REQUEST_RATE_UNITS, bit_rate, duration_ns, length_m, quantity, rate


@dataclass(frozen=True)
class _Unit:
    """Ending of a setting's name, with the placeholder in the help and the function that reads a value."""

    suffix: str
    metavar: str
    read: Callable[[str, str], object]


def _time_s(option: str, text: str) -> float:
    return 0.0 if text.strip() in ("0", "0s", "0 s") else duration_ns(option, text) / 1e9


def _percent(option: str, text: str) -> float:
    return quantity(option, text, {"%": 1.0, "": 1.0})


_UNITS = (
    _Unit("_s", "TIME", _time_s),
    _Unit("_bps", "RATE", bit_rate),
    _Unit("_fps", "RATE", rate),
    _Unit("_rps", "RATE", lambda option, text: quantity(option, text, REQUEST_RATE_UNITS)),
    _Unit("_percent", "PERCENT", _percent),
    _Unit("_bytes", "BYTES", lambda option, text: text),
    _Unit("_m", "LENGTH", length_m),
)


_LOAD = _Unit("_fps", "RATE", load)
"""A rate that may also be in bit/s, or a percentage of the line's."""
_NO_TERMINAL = phrase("no terminal is here, so that the profile is rfc; '--profile quick' measures as on a terminal")
_LENGTH_OF_TRIALS, _LENGTH = "trial_s", "duration"
"""A setting, and the option that it has in every command."""
_POSITIVE = _Unit("_s", "TIME", lambda option, text: duration_ns(option, text) / 1e9)
"""A trial takes some time; a wait or a delay may be none."""


class Setting:
    """One setting as a command shows it."""

    def __init__(self, name: str, of: type[Settings]) -> None:
        self.name, self.field, self._of = name, of.model_fields[name], of
        self.kind = _kind(self.field.annotation)
        self.unit = next((unit for unit in _UNITS if name.endswith(unit.suffix)), None)
        if BitRate in _parts(self.field.annotation):
            self.unit = _LOAD
        if name == _LENGTH_OF_TRIALS:
            self.unit = _POSITIVE
        # A trailing underscore keeps Python's keywords apart (PEP 8): 'with_' is --with.
        self.stem = (name.removesuffix(self.unit.suffix) if self.unit else name).rstrip("_")
        """The name without the unit, as in a measurement's errors."""
        self.shown = next((one for one in self.field.metadata if isinstance(one, Option)), Option())
        called = self.shown.name or (_LENGTH if name == _LENGTH_OF_TRIALS else self.stem)
        self.option = f"--{called.replace('_', '-')}"
        extra = self.field.json_schema_extra
        self.is_argument = isinstance(extra, dict) and bool(extra.get("argument"))
        self.is_hidden = isinstance(extra, dict) and bool(extra.get("hidden"))
        self.known_as = self.stem.upper() if self.is_argument else self.option

    def decorated(self, command: Callable[..., Any]) -> Callable[..., Any]:
        """The command with this setting."""
        if self.is_argument:
            many = get_origin(self.kind) is tuple
            return click.argument(
                self.name, metavar=self.known_as + ("..." if many else ""), nargs=-1 if many else 1, required=True
            )(command)
        declared = f"{self.option}/--no-{self.option[2:]}" if self.kind is bool and self.field.default else self.option
        return click.option(declared, self.name, cls=_SettingOption, of=self, **self._form())(command)

    def meaning(self) -> str:
        """The help of the option, as a clause."""
        if self.name == _LENGTH_OF_TRIALS:
            return "length of each trial (default: that of the profile)"
        told = self._of.meaning(self.name).strip().rstrip(".")
        told = told[:1].lower() + told[1:] if told[1:2].islower() else told
        default = self.field.default
        is_value = default not in (None, PydanticUndefined, (), {}, "") and not isinstance(default, bool)
        if is_value and "default" not in told:
            told += f" (default: {self._shown(default)})"
        return told.lstrip()

    def value(self, given: Any) -> Any:
        """The typed text as a value for the settings, which read numbers without a unit themselves.

        Raises PlanError if it is none.
        """
        if isinstance(given, bool) or get_origin(self.kind) is Literal or self.shown.several or self.shown.whole:
            return given
        if get_origin(self.kind) is dict:
            pairs = [self._pair(text) for text in given]
            if twice := [name for name, _ in pairs if [one for one, _ in pairs].count(name) > 1]:
                raise PlanError(self.known_as, f"{twice[0]} is given twice", "give each name once")
            return dict(pairs)
        if get_origin(self.kind) is tuple:
            parts = given if isinstance(given, tuple) else given.split(",")
            return [self._read(part.strip()) for part in parts]
        return self._read(given)

    def _form(self) -> dict[str, Any]:
        """Arguments of click's option."""
        if self.kind is bool:
            return {"is_flag": True, "default": None}
        if self.shown.metavar:
            return {"metavar": self.shown.metavar, "multiple": self.shown.several}
        if get_origin(self.kind) is Literal:
            return {"type": click.Choice(get_args(self.kind))}
        metavar = self.unit.metavar if self.unit else "NUMBER" if self.kind in (int, float) else self.option[2:].upper()
        if get_origin(self.kind) is dict:
            return {"multiple": True, "metavar": f"NAME={self._value_metavar()}"}
        if self.name == "require":
            return {"multiple": True, "metavar": "CRITERION"}
        if get_origin(self.kind) is tuple:
            metavar += ",…"
        return {"metavar": metavar}

    def _value_metavar(self) -> str:
        """Placeholder for the value of a pair."""
        values = get_args(self.kind)[1]
        if get_origin(values) in (tuple, list):
            return "VALUE,…"
        return self.unit.metavar if self.unit else "VALUE" if values is str else "NUMBER"

    def _shown(self, default: object) -> str:
        if isinstance(default, tuple):
            return ",".join(str(each) for each in default)
        suffix = {"_s": " s", "_rps": " requests/s", "_percent": " %", "_bps": " bit/s", "_bytes": " byte"}.get(
            self.unit.suffix if self.unit else "", ""
        )
        return f"{default:g}{suffix}" if isinstance(default, float) else f"{default}{suffix}"

    def _read(self, text: str) -> object:
        return self.unit.read(self.known_as, text) if self.unit else text

    def _pair(self, text: str) -> tuple[str, Any]:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise PlanError(self.known_as, f"'{text}' has no value", "write NAME=VALUE")
        values = get_args(self.kind)[1]
        if get_origin(values) in (tuple, list):
            return name, [self._read(part.strip()) for part in value.split(",")]
        return name, self._read(value)


class _SettingOption(click.Option):
    """The option of a setting, whose help is made when it is shown."""

    def __init__(self, *declared: Any, of: Setting, **form: Any) -> None:
        super().__init__(*declared, **form)
        self._setting = of

    @property
    def help(self) -> str | None:
        return self._setting.meaning()

    @help.setter
    def help(self, _: str | None) -> None:
        """Click's own constructor sets it; nothing is kept."""


def settings_of(*kinds: type[Settings]) -> list[Setting]:
    """All settings of these kinds that a command offers; one of a name that several have is that of the first."""
    owners = {name: kind for kind in reversed(kinds) for name in kind.model_fields}
    every = [Setting(name, kind) for kind in kinds for name in kind.model_fields if owners[name] is kind]
    # Those of the base of all settings are last in the help.
    return sorted(
        (setting for setting in every if not setting.is_hidden),
        key=lambda setting: setting.name in RunSettings.model_fields,
    )


def values_of(settings: list[Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """The typed options as plain values by the name of the setting."""
    typed = {setting: given[setting.name] for setting in settings}
    return {setting.name: setting.value(value) for setting, value in typed.items() if value not in (None, ())}


def known_as(settings: Sequence[Setting]) -> dict[str, str]:
    """How the user knows each setting, by the names that errors give it."""
    return {name: setting.known_as for setting in settings for name in (setting.name, setting.stem)}


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
    refused = {_LENGTH if field == _LENGTH_OF_TRIALS else field: why for field, why in measurement.refuses.items()}
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
        decorated = setting.decorated(decorated)
    return click.command(name.split()[-1].replace("_", "-"), cls=MeasuringCommand)(decorated).asking(asked)


def somebody_waits() -> bool:
    """Whether a person types here and reads the answer: on a terminal at both ends."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _parts(annotation: Any) -> list[Any]:
    """All types that an annotation names."""
    return [annotation, *(part for one in get_args(annotation) for part in _parts(one))]


def _kind(annotation: Any) -> Any:
    """The type of a setting, without None."""
    if get_origin(annotation) in (UnionType, Union):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation
