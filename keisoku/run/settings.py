"""The base of every measurement's settings. A setting's docstring is the help of its option."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from keisoku.errors import PlanError


class Settings(BaseModel):
    """Settings in which unknown keys are errors and values never change."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class RunSettings(Settings):
    """Settings of a whole run."""

    require: tuple[str, ...] = ()
    """Criterion that the result must meet, such as 'throughput[64] >= 0.5 Mpps'; exit code 1 if it is missed."""

    def plain(self) -> dict[str, Any]:
        """The settings as values of TOML, without those that are not set; validating them gives equal settings."""
        return self.model_dump(mode="json", exclude_none=True)


_Settings = TypeVar("_Settings", bound=BaseModel)


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
        raise setting_error(error, named) from error


def setting_error(error: ValidationError, named: Callable[[str], str] = lambda field: field) -> PlanError:
    """The first of pydantic's errors as one sentence."""
    first = error.errors(include_url=False)[0]
    place = first["loc"]
    field = ".".join([named(str(place[0])), *(str(part) for part in place[1:])]) if place else "plan"
    if first["type"] == "extra_forbidden":
        return PlanError(field, "there is no such setting", "remove it or correct its spelling")
    if first["type"] == "missing":
        return PlanError(field, "it is not given", "give it a value")
    message = first["msg"].removeprefix("Value error, ")
    return PlanError(field, f"{message[0].lower()}{message[1:]} (got {first['input']!r})", "correct this value")
