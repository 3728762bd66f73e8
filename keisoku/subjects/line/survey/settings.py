"""Settings of a survey of a line, with their limits."""

from __future__ import annotations

from pydantic import Field

from keisoku.ground.run.settings import RunSettings, argument
from keisoku.subjects.line.responsiveness.condition import HALVES, LOADED, OVERLOADS, Condition
from keisoku.subjects.line.responsiveness.settings import ResponsivenessSettings
from keisoku.subjects.stream.far_end import PORT, ToFarEnd


class LineSettings(ToFarEnd, RunSettings):
    """Settings of one survey."""

    host: str = argument()
    """Name or address of the other end, where 'keisoku stream serve' runs; HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP port of the server."""
    rounds: int = Field(3, ge=1, le=100)
    """Number of rounds through the idle line and loads of TCP; UDP is sent in the first only."""
    ramp_s: float = Field(1.2, ge=0.1, le=60)
    """Time for a load to fill the line, of which no figure is made."""
    duration_s: float = Field(1.2, ge=0.1, le=30)
    """Time of probing in each condition, after the ramp."""
    within_s: float | None = Field(60.0, gt=0)
    """Time in which to finish: nothing goes on for longer."""

    def plan(self) -> list[Condition]:
        """What loads the line, in order."""
        first: list[Condition] = ["idle", *LOADED, *HALVES.values(), *OVERLOADS.values()]
        return [*first, *["idle", *LOADED] * (self.rounds - 1), "idle"]

    def responsiveness(self) -> ResponsivenessSettings:
        """Of what the survey has in common with 'line responsiveness'."""
        names = ("host", "port", "ramp_s", "duration_s")
        return ResponsivenessSettings(
            **{name: getattr(self, name) for name in names},
            repetitions=self.rounds,
        )
