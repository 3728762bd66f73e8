"""A setting as a person types it, in a command or in a form: its name without the unit, which is typed with the value,
its meaning, and how the typed text is read.

`budget_s` is the option `--budget`, and '10min' is 600 of it. Only what was typed enters the settings. It knows neither
commands nor pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from keisoku.errors import PlanError
from keisoku.ground.run.settings import Option, RunSettings, Settings
from keisoku.subjects.device.plan.rate import BitRate, offered_load
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


_LOAD = _Unit("_fps", "RATE", offered_load)
"""A rate that may also be in bit/s, or a percentage of the line's."""
LENGTH_OF_TRIALS, LENGTH = "trial_s", "duration"
"""A setting, and the option that it has in every command."""
_POSITIVE = _Unit("_s", "TIME", lambda option, text: duration_ns(option, text) / 1e9)
"""A trial takes some time; a wait or a delay may be none."""


class TypedSetting:
    """One setting as whoever types it sees it."""

    def __init__(self, name: str, of: type[Settings]) -> None:
        self.name, self.field, self._of = name, of.model_fields[name], of
        self.kind = _kind(self.field.annotation)
        self.unit = next((unit for unit in _UNITS if name.endswith(unit.suffix)), None)
        if BitRate in _parts(self.field.annotation):
            self.unit = _LOAD
        if name == LENGTH_OF_TRIALS:
            self.unit = _POSITIVE
        # A trailing underscore keeps Python's keywords apart (PEP 8): 'with_' is --with.
        self.stem = (name.removesuffix(self.unit.suffix) if self.unit else name).rstrip("_")
        """The name without the unit, as in a measurement's errors."""
        self.shown = next((one for one in self.field.metadata if isinstance(one, Option)), Option())
        called = self.shown.name or (LENGTH if name == LENGTH_OF_TRIALS else self.stem)
        self.option = f"--{called.replace('_', '-')}"
        extra = self.field.json_schema_extra
        self.is_argument = isinstance(extra, dict) and bool(extra.get("argument"))
        self.is_hidden = isinstance(extra, dict) and bool(extra.get("hidden"))
        self.known_as = self.stem.upper() if self.is_argument else self.option

    def description(self) -> str:
        """What it means, in its own words."""
        return self._of.meaning(self.name).strip().rstrip(".")

    def usual(self) -> str:
        """Its default as it is typed; empty if there is none, or `told` says it."""
        default = self.field.default
        is_value = default not in (None, PydanticUndefined, (), {}, "") and not isinstance(default, bool)
        return self.text_of(default) if is_value and "default" not in self.description() else ""

    def meaning(self) -> str:
        """The help of the option, as a clause."""
        if self.name == LENGTH_OF_TRIALS:
            return "length of each trial (default: that of the profile)"
        told = self.description()
        told = told[:1].lower() + told[1:] if told[1:2].islower() else told
        return (f"{told} (default: {usual})" if (usual := self.usual()) else told).lstrip()

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

    def text_of(self, value: object) -> str:
        """A value as it is typed, with its unit."""
        if isinstance(value, tuple | list):
            return ",".join(str(each) for each in value)
        suffix = {"_s": " s", "_rps": " requests/s", "_percent": " %", "_bps": " bit/s", "_bytes": " byte"}.get(
            self.unit.suffix if self.unit else "", ""
        )
        return f"{value:.15g}{suffix}" if isinstance(value, float) else f"{value}{suffix}"

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


def settings_of(*kinds: type[Settings]) -> list[TypedSetting]:
    """All settings of these kinds that a command offers; one of a name that several have is that of the first."""
    owners = {name: kind for kind in reversed(kinds) for name in kind.model_fields}
    every = [TypedSetting(name, kind) for kind in kinds for name in kind.model_fields if owners[name] is kind]
    # Those of the base of all settings are last in the help.
    return sorted(
        (setting for setting in every if not setting.is_hidden),
        key=lambda setting: setting.name in RunSettings.model_fields,
    )


def values_of(settings: list[TypedSetting], given: Mapping[str, Any]) -> dict[str, Any]:
    """The typed options as plain values by the name of the setting."""
    typed = {setting: given[setting.name] for setting in settings}
    return {setting.name: setting.value(value) for setting, value in typed.items() if value not in (None, ())}


def known_as(settings: Sequence[TypedSetting]) -> dict[str, str]:
    """How the user knows each setting, by the names that errors give it."""
    return {name: setting.known_as for setting in settings for name in (setting.name, setting.stem)}


def _parts(annotation: Any) -> list[Any]:
    """All types that an annotation names."""
    return [annotation, *(part for one in get_args(annotation) for part in _parts(one))]


def _kind(annotation: Any) -> Any:
    """The type of a setting, without None."""
    if get_origin(annotation) in (UnionType, Union):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation
