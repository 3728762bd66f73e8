"""Settings of a measurement of interruptions, with their limits. They are kept as the run's plan."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import Option, RunSettings, argument
from keisoku.subjects.stream.far_end import ToFarEnd

PORT = 8622
"""TCP and UDP port of 'keisoku outage serve'."""
LOOPBACK = "127.0.0.1"
MOST_FLOWS = 1000
MOST_PER_SECOND = 100_000
_MOST_S = 7 * 86_400.0


class CourseSettings(RunSettings):
    """What happens while interruptions are measured, and what is asked of the result."""

    duration_s: float = Field(10.0, gt=0, le=_MOST_S)
    """How long it measures, where neither an event nor a command says it."""
    event: str = ""
    """Command of the shell that causes an interruption, after the time of 'stable'."""
    undo: str = ""
    """Command that undoes it, after the time of 'watch'."""
    while_: str = ""
    """Command of the shell that runs meanwhile: it is measured until the command has ended, and for 'watch' longer."""
    stable_s: float = Field(1.0, gt=0, le=3600)
    """Time before the event or the command."""
    watch_s: float = Field(5.0, gt=0, le=86_400)
    """Time after the event, after its undoing, and after the command."""
    markers: str = ""
    """FIFO from which lines are read: the time of each line is kept, and shown beside the interruptions."""
    markers_http: str = ""
    """PORT or ADDRESS:PORT at which HTTP requests bring lines as to the FIFO; without ADDRESS from this host alone."""
    allowed_s: Annotated[float | None, Option(name="budget")] = Field(None, gt=0)
    """Longest interruption that is allowed of a flow in a direction; one that never ended exceeds every budget."""

    @model_validator(mode="before")
    @classmethod
    def _budget_is_a_criterion(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not values.get("allowed_s"):
            return values
        wanted = [f"budget <= {float(values['allowed_s']):.9g} s", "never == 0"]
        required = [text for text in values.get("require") or () if text not in wanted]
        return {**values, "require": (*required, *wanted)}

    @model_validator(mode="after")
    def _one_after_the_other(self) -> Self:
        if self.undo and not self.event:
            raise PlanError("undo", "there is no event to undo", "give an event as well")
        if self.while_ and self.event:
            raise PlanError("while", "an event and a command exclude each other", "leave one of them out")
        self.markers_at  # noqa: B018  refused before anything is sent
        return self

    @property
    def markers_at(self) -> tuple[str, int] | None:
        """Address and port at which markers are taken. Raises PlanError for what is none."""
        if not self.markers_http:
            return None
        host, _, port = self.markers_http.rpartition(":")
        address = host.removeprefix("[").removesuffix("]") or LOOPBACK
        try:
            ip_address(address)
            if not 1 <= int(port) <= 65535:
                raise ValueError(port)
        except ValueError as error:
            problem = f"'{self.markers_http}' is no port of this host"
            raise PlanError("markers-http", problem, "write PORT, or ADDRESS:PORT with an IP address of it") from error
        return address, int(port)

    @property
    def length_s(self) -> float | None:
        """How long it measures; None: as long as a command runs."""
        if self.while_:
            return None
        if self.event:
            return self.stable_s + self.watch_s * (2 if self.undo else 1)
        return self.duration_s


class OutageSettings(ToFarEnd, CourseSettings):
    """Settings of one measurement of interruptions between two ends."""

    host: str = argument()
    """Name or address of the other end, where 'keisoku outage serve' runs; HOST@NAMESPACE measures from a namespace."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP and UDP port of the other end."""
    flows: int = Field(1, ge=1, le=MOST_FLOWS)
    """Number of flows in each direction, which differ by the port at this end: several take several equal paths."""
    interval_s: float = Field(0.01, ge=1e-5, le=10)
    """Time from one packet of a flow to the next; the ends of an interruption are known to this."""
    silence_s: float = Field(0.1, gt=0, le=60)
    """Packets that come later than this after the one before are an interruption, even if none is lost."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.flows / self.interval_s > MOST_PER_SECOND:
            problem = f"{self.flows} flows would send {self.flows / self.interval_s:,.0f} packets/s in each direction"
            raise PlanError("interval", problem, f"keep to {MOST_PER_SECOND:,} by a longer interval or fewer flows")
        return self


def refuse_from_afar(values: Mapping[str, Any]) -> None:
    """Raises PlanError for a command, a file or a port of the server, in settings that a client of it sent."""
    for name in ("event", "undo", "while_", "markers", "markers_http"):
        if values.get(name):
            problem = "is a command, a file or a port of the server, which only its own command line may name"
            raise PlanError(name.rstrip("_").replace("_", "-"), problem, "leave it out")
