"""Settings of a measurement of capacity, with their limits. They are kept as the run's plan, without the key."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import RunSettings, argument
from keisoku.subjects.stream.capacity.pdu import ACTIVATE_DOWN, ACTIVATE_UP, PORT, Activation
from keisoku.subjects.stream.far_end import ToFarEnd

Way = Literal["up", "down"]
WAYS: tuple[Way, ...] = ("up", "down")


class CapacitySettings(ToFarEnd, RunSettings):
    """Settings of one measurement. A key is never kept, only the name of its file."""

    host: str = argument()
    """Name or address of the other end, where 'keisoku stream serve --capacity' or another server of UDPSTP runs;
    HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """UDP port of the server."""
    direction: Literal["up", "down", "both"] = "both"
    """Direction of the load: away from here, to here, or one after the other."""
    duration_s: float = Field(10.0, ge=1, le=3600)
    """Length of the test of a direction, rounded up to whole seconds; servers other than keisoku's may take 5 s at
    least."""
    sub_interval_s: float = Field(1.0, ge=0.1, le=10)
    """Length of a sub-interval: the capacity is what arrives in one (RFC 9097 §5)."""
    key_file: str | None = None
    """File with the key that the server has, too, for signed requests (RFC 9946, mode 1); a line end after it does not
    count."""
    key_id: int = Field(0, ge=0, le=255)
    """Number of that key, for servers that have several."""

    @model_validator(mode="after")
    def _possible(self) -> CapacitySettings:
        if self.sub_interval_s > self.duration_s:
            raise PlanError("sub_interval", "is longer than the test", "give a longer --duration")
        return self

    @property
    def ways(self) -> tuple[Way, ...]:
        """Those that are measured, in order."""
        return WAYS if self.direction == "both" else (self.direction,)

    def activation(self, way: Way) -> Activation:
        """What is asked of the server."""
        return Activation(
            command=ACTIVATE_UP if way == "up" else ACTIVATE_DOWN,
            duration_s=math.ceil(self.duration_s),
            sub_interval_ms=round(1000 * self.sub_interval_s),
        )
