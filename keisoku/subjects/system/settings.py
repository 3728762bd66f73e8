"""Settings of `keisoku system limit` and `keisoku system govern`, with their limits; kept as a run's plan.

No default depends on a system: `set_up` fills in the values of the system.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import RunSettings, not_an_option
from keisoku.ground.statistics.seed import DEFAULT
from keisoku.subjects.system.govern.governor import GovernorSettings
from keisoku.subjects.system.objective import Goal, Objective
from keisoku.subjects.system.search.candidate import Candidates
from keisoku.subjects.system.search.search import SearchSettings
from keisoku.subjects.system.system import System

FLOOR = 100
"""Line rate over the lowest limit, by default."""
BLOCKS, SWEEP_REPETITIONS = 5, 3
_Settings = TypeVar("_Settings", bound="SystemSettings")


class SystemSettings(RunSettings):
    """Settings of any run on a system."""

    system: str
    """The system, such as sim:e4, sim:FILE.toml, lab:system?clients=2&load=100,1000, or real ports as net:FILE.toml."""
    client: tuple[str, ...] = ()
    """Client whose port is limited (default: the fastest client); several clients get the same limit."""
    line_bps: float | None = not_an_option(None, gt=0)
    """Line rate of the slowest of these ports (default: as the system reports it)."""
    objective: Goal = Goal.SUM_LOGS
    """What to optimise: sum_bytes, sum_requests, sum_logs or worst_p99."""
    weight: dict[str, float] = Field(default_factory=dict)
    """Weight of a client in the objective (default: 1)."""
    p99_s: float | None = Field(None, gt=0)
    """Constraint: upper bound for the 99th percentile of every client's connection times."""
    keep_bps: dict[str, float] = Field(default_factory=dict)
    """Constraint: least rate of a client."""
    floor_bps: float | None = Field(None, gt=0)
    """Lowest limit that is tried (default: a hundredth of the line rate)."""
    interval_s: float = Field(1.0, gt=0, le=3600)
    """Length of one observation interval."""
    settle_s: float = Field(1.0, ge=0, le=3600)
    """Time after each change of the limit that is left out, for the system to settle."""
    seed: int = DEFAULT
    """Seed of every random choice."""

    @property
    def weighted_objective(self) -> Objective:
        """What is optimised, with weights and constraints. Raises PlanError for invalid weights or rates."""
        return Objective(self.objective, self.weight, self.p99_s, self.keep_bps)

    @property
    def line_rate_bps(self) -> float:
        """Of the slowest of the limited ports, once it is filled in."""
        if self.line_bps is None:
            raise ValueError("the system has not been asked for its line rate")
        return self.line_bps

    @property
    def candidates(self) -> Candidates:
        """The limits that may be set. Raises PlanError if there are none."""
        return self.candidates_of(Candidates.count)

    def candidates_of(self, count: int) -> Candidates:
        """So many limits from the floor to line rate. Raises PlanError if there are none."""
        return Candidates(self.floor_bps or self.line_rate_bps / FLOOR, self.line_rate_bps, count)


class LimitSettings(SystemSettings):
    """Settings of a search or a sweep."""

    budget: int = Field(24, ge=5, le=1000)
    """Greatest number of evaluations of the search, before the confirmation."""
    sweep: int = Field(0, ge=0, le=1000)
    """Evaluate this number of limits, in equal ratios, in place of a search."""
    repetitions: int | None = Field(None, ge=1, le=1000)
    """Blocks of four evaluations that confirm a limit (default: 5), or evaluations per limit of a sweep (then: 3)."""

    @model_validator(mode="after")
    def _possible(self) -> LimitSettings:
        if self.repetitions == 1 and not self.sweep:
            raise PlanError("repetitions", "one block cannot confirm a gain", "give two or more")
        return self

    @property
    def times(self) -> int:
        """Repetitions, given or by default."""
        return self.repetitions or (SWEEP_REPETITIONS if self.sweep else BLOCKS)

    @property
    def search(self) -> SearchSettings:
        """For the search."""
        return SearchSettings(budget=self.budget, blocks=self.times, seed=self.seed)


class GovernSettings(SystemSettings):
    """Settings of a governor."""

    duration_s: float | None = Field(None, gt=0)
    """Time to govern (default: until the command is interrupted)."""

    @property
    def governor(self) -> GovernorSettings:
        """In intervals: whatever the settling takes, a whole number of them."""
        return GovernorSettings(settle=-int(-self.settle_s // self.interval_s))


def filled_in(settings: _Settings, system: System) -> _Settings:
    """Completed by the system's values. Raises PlanError for clients that it does not have, and for invalid limits."""
    ports = system.ports
    clients = tuple(dict.fromkeys(settings.client)) or (max(ports, key=lambda name: ports[name]),)
    for field, names in (("client", clients), ("weight", settings.weight), ("keep_bps", settings.keep_bps)):
        if unknown := [name for name in names if name not in ports]:
            raise PlanError(field, f"no port leads to '{unknown[0]}'", f"use {', '.join(ports)}")
    line_bps = settings.line_bps or min(ports[name] for name in clients)
    floor_bps = settings.floor_bps or line_bps / FLOOR
    filled = settings.model_copy(update={"client": clients, "line_bps": line_bps, "floor_bps": floor_bps})
    # Invalid values are refused here, before anything is set.
    filled.weighted_objective, filled.candidates  # noqa: B018
    return filled
