"""What `keisoku app limit` and `keisoku app govern` are told, with its limits; kept as a run's settings.toml.

Holds no default that depends on a system: the command fills in what the system says.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from keisoku.system.govern.governor import GovernorSettings
from keisoku.system.objective import Goal, Objective
from keisoku.system.search.candidate import Candidates
from keisoku.system.search.search import SearchSettings


class RunSettings(BaseModel):
    """Of any run on a system."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    ports: tuple[str, ...] = Field(min_length=1)
    """By the client behind; the same limit is set at each."""
    line_bps: float = Field(gt=0)
    """Of the slowest of these ports."""
    floor_bps: float = Field(gt=0)
    """No limit below it is ever set."""
    goal: Goal = Goal.SUM_LOGS
    weights: dict[str, float] = {}
    p99_s: float | None = Field(None, gt=0)
    floors: dict[str, float] = {}
    interval_s: float = Field(1.0, gt=0, le=3600)
    settle_s: float = Field(1.0, ge=0, le=3600)
    """After each change of the limit, in which nothing is learnt."""
    seed: int = 1

    @property
    def objective(self) -> Objective:
        """What is to be best. Raises PlanError for weights or floors that cannot be."""
        return Objective(self.goal, self.weights, self.p99_s, self.floors)

    @property
    def candidates(self) -> Candidates:
        """The limits that may be set. Raises PlanError if there are none."""
        return Candidates(self.floor_bps, self.line_bps)


class LimitSettings(RunSettings):
    """Of a search, or of a sweep."""

    budget: int = Field(24, ge=5, le=1000)
    """Evaluations, at most, before the confirmation."""
    blocks: int = Field(5, ge=2, le=100)
    """Of four evaluations each, to confirm."""
    sweep: int = Field(0, ge=0, le=1000)
    """Limits of a sweep; 0: search."""
    repetitions: int = Field(3, ge=1, le=1000)
    """Of each limit of a sweep."""

    @property
    def search(self) -> SearchSettings:
        """For the search."""
        return SearchSettings(budget=self.budget, blocks=self.blocks, seed=self.seed)


class GovernSettings(RunSettings):
    """Of a governor."""

    for_s: float | None = Field(None, gt=0)
    """How long it governs; None: until it is stopped."""

    @property
    def governor(self) -> GovernorSettings:
        """In intervals: whatever the settling takes, a whole number of them."""
        return GovernorSettings(settle=-int(-self.settle_s // self.interval_s))
