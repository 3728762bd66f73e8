"""The settings of a paired comparison: what both sides measure, and when the comparison ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from keisoku.ground.run.settings import RunSettings, not_an_option
from keisoku.ground.statistics.seed import DEFAULT

WITHIN_S = 600.0
"""Where neither a time nor a number of pairs is given."""
RUNS_AGAINST = 10
"""New runs against a kept one, where neither is given."""


class PairedSettings(RunSettings):
    """Two sides, A and B, of one measurement."""

    of: str = not_an_option()
    """Name of the measurement in the table; 'device' for procedures."""
    a: dict[str, Any] = not_an_option({})
    """Settings of side A, as in its plan; without meaning where B is compared with a kept run."""
    b: dict[str, Any] = not_an_option()
    """Settings of side B."""
    seed: int = not_an_option(DEFAULT, ge=0, lt=2**63)
    """Of the order of the sides and of what each run draws."""
    before_a: str | None = Field(None, min_length=1)
    """Shell command that is carried out before each run of A; it may change a setting or install a build."""
    before_b: str | None = Field(None, min_length=1)
    """Shell command that is carried out before each run of B."""
    against: Path | None = None
    """Kept run that is side A: only B is measured, and its machine must be the same."""
    figure: tuple[str, ...] = ()
    """Figures to compare (default: the main figure of the measurement)."""
    margin_percent: float = Field(0.0, ge=0, lt=100)
    """How much worse B may be; exit code 1 if it is worse by more."""
    precision_percent: float | None = Field(None, gt=0)
    """Stop when the interval of the difference is as narrow as ± so much."""
    within_s: float | None = Field(None, gt=0)
    """Time that the comparison may take (default: 10 min, if no number of pairs is given)."""
    pairs: int | None = Field(None, ge=2, le=10_000)
    """Number of pairs that it may take."""

    @model_validator(mode="before")
    @classmethod
    def _margin_is_a_criterion(cls, source: Any) -> Any:
        if isinstance(source, dict) and not source.get("require"):
            margin = source.get("margin_percent", 0.0)
            return {**source, "require": (f"worse_by <= {margin} %",)}
        return source
