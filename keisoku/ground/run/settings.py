"""The base of every measurement's settings. A setting's docstring is the help of its option."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, PydanticKnownError

from keisoku.errors import PlanError, excerpt, instead

_MOST = {"_s": 1e9, "_ns": 1e18, "_fps": 1e10, "_rps": 1e10, "_bps": 1e14}
"""Of a setting, by the unit at the end of its name: beyond every link, processor and patience, and within what times
in ns and counts of frames can hold."""


ABOUT = ("device", "model", "serial", "firmware", "configuration", "operator", "site", "note")
"""What a plan may say of what is measured, by whom and where; nothing of it is ever required."""


@dataclass(frozen=True)
class Option:
    """How a command offers a setting, where its name and its type do not say that; in an `Annotated` type."""

    metavar: str = ""
    """Placeholder of its value in the help."""
    name: str = ""
    """Name of the option without dashes."""
    several: bool = False
    """A list of which each value is an option of its own, because values contain commas."""
    whole: bool = False
    """A list that the settings read themselves from what was typed."""


class Settings(BaseModel):
    """Settings in which unknown keys are errors and values never change."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def meaning(cls, name: str) -> str:
        """The description of the setting of that name, else its docstring; empty if it has none.

        It is read from the source when it is asked for: pydantic's own way reads every class at every start.
        """
        every = (docstrings(one) for one in cls.__mro__ if issubclass(one, Settings))
        return cls.model_fields[name].description or next((found[name] for found in every if name in found), "")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        found = handler(schema)
        for name, setting in handler.resolve_ref_schema(found).get("properties", {}).items():
            if told := cls.meaning(name):
                setting["description"] = told
        return found

    @field_validator("*", mode="before")
    @classmethod
    def _one_number_is_a_list(cls, value: Any, info: ValidationInfo) -> Any:
        alone = isinstance(value, int | float) and not isinstance(value, bool)
        kind = cls.model_fields[str(info.field_name)].annotation
        many = any(get_origin(one) is tuple for one in (kind, *get_args(kind)))
        return (value,) if alone and many else value

    @field_validator("*")
    @classmethod
    def _possible_at_all(cls, value: Any, info: ValidationInfo) -> Any:
        most = next((most for unit, most in _MOST.items() if str(info.field_name).endswith(unit)), None)
        each = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else (value,)
        if most is not None and any(isinstance(one, int | float) and one > most for one in each):
            raise PydanticKnownError("less_than_equal", {"le": most})
        return value


class RunSettings(Settings):
    """Settings of a whole run."""

    repeat: int | None = Field(None, ge=1, le=1000)
    """Repeat the whole run so many times: each figure is then the median of all, with an interval of 95 % that contains
    how runs differ."""
    require: tuple[str, ...] = ()
    """Criterion that the result must meet, such as 'throughput[64] >= 0.5 Mpps'; exit code 1 if it is missed."""
    about: dict[str, str] | None = None
    """What the report says of the run: device, model, serial, firmware, configuration, operator, site or note."""
    within_s: float | None = Field(None, gt=0)
    """Time in which to finish, such as 5min: what is not given is planned to fit, and nothing goes on for longer."""

    @field_validator("about")
    @classmethod
    def _about_what_is_known(cls, about: dict[str, str] | None) -> dict[str, str] | None:
        unknown = next((name for name in about or () if name not in ABOUT), None)
        if unknown is not None:
            raise PlanError("about", f"a report says no '{unknown}'", instead(unknown, list(ABOUT)))
        return about

    def plain(self) -> dict[str, Any]:
        """The settings as values of TOML, without those that are not set; validating them gives equal settings."""
        return self.model_dump(mode="json", exclude_none=True)


_Settings = TypeVar("_Settings", bound=BaseModel)


@cache
def docstrings(kind: type[BaseModel]) -> dict[str, str]:
    """The docstrings of the settings that a class itself declares, by their names."""
    try:
        source = inspect.getsource(kind)
    except OSError:  # made by a call, and not by a class statement
        return {}
    (declared,) = ast.parse(dedent(source)).body
    assert isinstance(declared, ast.ClassDef)
    return {
        setting.target.id: inspect.cleandoc(told.value.value)
        for setting, told in pairwise(declared.body)
        if isinstance(setting, ast.AnnAssign) and isinstance(setting.target, ast.Name)
        if isinstance(told, ast.Expr) and isinstance(told.value, ast.Constant) and isinstance(told.value.value, str)
    }


def argument(**constraints: Any) -> Any:
    """A field that a command takes as an argument, not as an option."""
    return Field(json_schema_extra={"argument": True}, **constraints)


def not_an_option(default: Any = ..., **constraints: Any) -> Any:
    """A field that the measurement itself fills in: no command offers it."""
    return Field(default, json_schema_extra={"hidden": True}, **constraints)


def parsed(
    kind: type[_Settings], values: Mapping[str, Any], named: Callable[[str], str] = lambda field: field
) -> _Settings:
    """Settings of plain values; `named` gives the name by which the user knows a field. Raises PlanError."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise setting_error(error, named, kind) from error


def setting_error(
    error: ValidationError,
    named: Callable[[str], str] = lambda field: field,
    kind: type[BaseModel] | None = None,
) -> PlanError:
    """The first of pydantic's errors as one sentence; `kind` is what was not valid, if a spelling may be meant."""
    first = error.errors(include_url=False)[0]
    place = first["loc"]
    if len(place) > 1 and isinstance(place[-1], int) and not isinstance(first["input"], Mapping):
        place = place[:-1]  # a number or a text in a list is known by its value
    field = ".".join([named(str(place[0])), *(str(part) for part in place[1:])]) if place else "plan"
    problem, remedy = _words(first)
    if first["type"] == "extra_forbidden" and (meant := _meant(kind, place)):
        remedy = f"did you mean '{named(meant) if len(place) == 1 else meant}'?"
    elif remedy == _WORDS["float_type"][1] and place:
        unit = next((unit for ending, unit in _UNITS.items() if str(place[-1]).endswith(ending)), "")
        remedy += f" of {unit}" if unit else ""
    return PlanError(field, problem, remedy)


def _meant(kind: type[BaseModel] | None, place: tuple[int | str, ...]) -> str:
    """The name of a setting that is like the one at `place`; empty if there is none."""
    for part in place[:-1]:
        if kind is None or str(part) not in kind.model_fields:
            return ""
        annotation = kind.model_fields[str(part)].annotation
        models = [one for one in (annotation, *get_args(annotation)) if isinstance(one, type)]
        kind = next((one for one in models if issubclass(one, BaseModel)), None)
    close = get_close_matches(str(place[-1]), list(kind.model_fields) if kind else [], n=1)
    return close[0] if close else ""


_UNITS = {
    "_s": "seconds",
    "_ns": "nanoseconds",
    "_fps": "frames per second",
    "_rps": "requests per second",
    "_bps": "bits per second",
    "_percent": "percent",
    "_m": "metres",
}
"""What a number is counted in, by the end of the setting's name."""


_WORDS = {
    "extra_forbidden": ("there is no such setting", "remove it or correct its spelling"),
    "missing": ("it is not given", "give it a value"),
    "greater_than": ("{value} is not above {gt}", "give more than {gt}"),
    "greater_than_equal": ("{value} is below {ge}", "give at least {ge}"),
    "less_than": ("{value} is not below {lt}", "give less than {lt}"),
    "less_than_equal": ("{value} is above {le}", "give at most {le}"),
    "int_type": ("{value} is no whole number", "give a whole number"),
    "float_type": ("{value} is no number", "give a number"),
    "finite_number": ("{value} is not finite", "give a finite number"),
    "bool_type": ("{value} is neither true nor false", "give true or false"),
    "string_type": ("{value} is no text", "write it in quotes"),
    "tuple_type": ("{value} is no list", "write it in brackets: [{value}]"),
    "dict_type": ("{value} is no table", "give a table of settings"),
    "literal_error": ("there is no {value}", "use {expected}"),
    "union_tag_invalid": ("there is no {discriminator} '{tag}'", "use {expected_tags}"),
    "union_tag_not_found": ("its {discriminator} is not given", "give it"),
    "too_short": ("{actual_length} values are too few", "give at least {min_length}"),
    "too_long": ("{actual_length} values are too many", "give at most {max_length}"),
    "string_too_short": ("{value} is too short", "give at least {min_length} characters"),
    "string_too_long": ("{value} is too long", "give at most {max_length} characters"),
}
"""What is wrong and what to do, by pydantic's type of error."""
_ALIKE = {
    "int_parsing": "int_type",
    "int_parsing_size": "int_type",
    "int_from_float": "int_type",
    "float_parsing": "float_type",
    "bool_parsing": "bool_type",
    "path_type": "string_type",
    "list_type": "tuple_type",
    "model_type": "dict_type",
    "model_attributes_type": "dict_type",
    "enum": "literal_error",
}


def _words(error: ErrorDetails) -> tuple[str, str]:
    """What is wrong, and what to do."""
    value = excerpt(error["input"])
    found = _WORDS.get(_ALIKE.get(error["type"], error["type"]))
    if found is None:
        message = error["msg"].removeprefix("Value error, ")
        return f"{message[0].lower()}{message[1:]} (got {value})", "correct this value"
    bounds = {name: f"{bound:g}" if isinstance(bound, float) else bound for name, bound in error.get("ctx", {}).items()}
    problem, remedy = (text.format(value=value, **bounds) for text in found)
    return problem, remedy
