"""A load of a plan: frames/s, or a percentage of the line rate, which is the unit of the standards (RFC 2544 §26.3).

How many frames/s a percentage is depends on the frame size and the link, which a plan does not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from keisoku.errors import PlanError
from keisoku.units import quantity, rate

NO_RATE = "the link has no rate of its own, or the driver does not report it (a virtual NIC)"
"""Why a percentage of the line means nothing."""


@dataclass(frozen=True)
class LinePercent:
    """So many percent of the highest rate that the link carries with frames of a size; at most 100."""

    percent: float

    def __str__(self) -> str:
        return f"{self.percent:.12g}%"


def load(field: str, text: str) -> float | LinePercent:
    """A load as people write it: '50kpps', '50%'. Raises PlanError naming `field`."""
    if not text.rstrip().endswith("%"):
        return rate(field, text)
    percent = quantity(field, text, {"%": 1.0})
    if not 0 < percent <= 100:
        raise PlanError(field, f"'{text}' is no share of the line rate", "give more than 0% and at most 100%")
    return LinePercent(percent)


def no_line_rate(field: str, load: LinePercent) -> PlanError:
    """What to say where the link has no rate of its own, or its driver reports none."""
    return PlanError(field, f"{load} of the line rate is not known, because {NO_RATE}", "give frames/s, such as 50kpps")


class _Schema:
    """How settings read and write a load: a number, or a text such as '50%'."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            _read,
            core_schema.float_schema(gt=0, allow_inf_nan=False),
            serialization=core_schema.plain_serializer_function_ser_schema(_plain),
        )


Load = Annotated[float | LinePercent, _Schema]
"""The type of settings of a load."""


def _read(value: Any, number: core_schema.ValidatorFunctionWrapHandler) -> float | LinePercent:
    if isinstance(value, LinePercent):
        return value
    if isinstance(value, str) and value.rstrip().endswith("%"):
        try:
            return load("", value)
        except PlanError as error:
            raise PydanticCustomError("line_percent", "{problem}", {"problem": error.problem}) from error
    found: float = number(value)
    return found


def _plain(value: float | LinePercent) -> float | str:
    return str(value) if isinstance(value, LinePercent) else value
