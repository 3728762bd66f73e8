"""A load of a plan: frames/s, bit/s, or a percentage of the line rate, the unit of the standards (RFC 2544 §26.3).

How many frames/s the latter two are depends on the frame size, and of a percentage on the link, which a plan does not
know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from keisoku.errors import PlanError
from keisoku.units import BIT_RATE_UNITS, RATE_UNITS, bit_rate, quantity, rate, unit_of

NO_RATE = "the link has no rate of its own, or the driver does not report it (a virtual NIC)"
"""Why a percentage of the line means nothing."""


@dataclass(frozen=True)
class LinePercent:
    """So many percent of the highest rate that the link carries with frames of a size; at most 100."""

    percent: float

    def __str__(self) -> str:
        return f"{self.percent:.12g}%"


@dataclass(frozen=True)
class BitRate:
    """So many bits of frames a second, with the FCS and without preamble and gap, as in a result's 'bit_rate'."""

    bits_per_second: float

    def __str__(self) -> str:
        factor, prefix = next(
            (
                (factor, prefix)
                for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"))
                if self.bits_per_second >= factor
            ),
            (1.0, ""),
        )
        return f"{self.bits_per_second / factor:.12g} {prefix}bit/s"


Relative = LinePercent | BitRate
"""A load that is as many frames/s as the frame size makes it."""


def offered_load(field: str, text: str) -> float | Relative:
    """A load as people write it: '50kpps', '500Mbps', '50%'. Raises PlanError naming `field`."""
    unit = unit_of(text)
    if not unit and not any(letter.isdigit() for letter in text):
        raise PlanError(field, f"'{text}' is no rate", "write for example 50kpps, 500Mbps or 50%")
    if unit in BIT_RATE_UNITS and unit not in RATE_UNITS:
        return BitRate(bit_rate(field, text))
    if unit and unit != "%" and unit not in RATE_UNITS:
        close = next((one for one in (*RATE_UNITS, *BIT_RATE_UNITS) if one[1:] and one.lower() == unit.lower()), "")
        remedy = f"did you mean '{close}'?" if close else "write for example 50kpps, 500Mbps or 50%"
        raise PlanError(field, f"'{unit}' is no unit of a rate", remedy)
    if unit != "%":
        return rate(field, text)
    percent = quantity(field, text, {"%": 1.0})
    if not 0 < percent <= 100:
        raise PlanError(field, f"'{text}' is no share of the line rate", "give more than 0% and at most 100%")
    return LinePercent(percent)


def no_line_rate(field: str, load: LinePercent) -> PlanError:
    """What to say where the link has no rate of its own, or its driver reports none."""
    return PlanError(
        field,
        f"{load} of the line rate is not known, because {NO_RATE}",
        "give frames/s or bit/s, such as 50kpps or 500Mbps",
    )


class _Schema:
    """How settings read and write a load: a number, or a text such as '50%' or '500 Mbit/s'."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            _read,
            core_schema.float_schema(gt=0, allow_inf_nan=False),
            serialization=core_schema.plain_serializer_function_ser_schema(_plain),
        )


Load = Annotated[float | Relative, _Schema]
"""The type of settings of a load."""


def _read(value: Any, number: core_schema.ValidatorFunctionWrapHandler) -> float | Relative:
    if isinstance(value, Relative):
        return value
    if isinstance(value, str) and (
        unit_of(value) == "%" or unit_of(value) in BIT_RATE_UNITS.keys() - RATE_UNITS.keys()
    ):
        try:
            return offered_load("", value)
        except PlanError as error:
            raise PydanticCustomError("load", "{problem}", {"problem": error.problem}) from error
    found: float = number(value)
    return found


def _plain(value: float | Relative) -> float | str:
    return str(value) if isinstance(value, Relative) else value
