"""What the tables of a simulated device's file have in common: no unknown key, and values of known ranges."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Ratio = Annotated[float, Field(ge=0, le=1)]
Nanoseconds = Annotated[float, Field(ge=0, le=1e12)]
FrameBytes = Annotated[int, Field(ge=64, le=65536)]
Port = Annotated[int, Field(ge=1)]
PartsPerMillion = Annotated[float, Field(ge=-1000, le=1000)]


class Section(BaseModel):
    """One table."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
