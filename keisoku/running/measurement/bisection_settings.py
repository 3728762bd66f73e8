"""The settings of a bisection: the history, how a commit of it is built and loaded, and what is measured of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from keisoku.ground.run.settings import RunSettings, argument, not_an_option
from keisoku.ground.statistics.seed import DEFAULT


class BisectionSettings(RunSettings):
    """A history of commits, of which one may have changed a figure."""

    of: str = not_an_option()
    """Name of the measurement in the table; 'device' for procedures."""
    plan: dict[str, Any] = not_an_option()
    """Settings of the measurement, as in its plan."""
    seed: int = not_an_option(DEFAULT, ge=0, lt=2**63)
    """Of the order of the sides and of what each run draws."""
    folder: Path = not_an_option(Path())
    """In the repository; commands before runs are carried out there."""
    good: str = argument(min_length=1)
    """Commit from which on it is looked for."""
    bad: str = argument(min_length=1)
    """Commit up to which it is looked for: a descendant of the good one."""
    build: str = Field(min_length=1)
    """Shell command that builds a commit in a checkout of it, into the folder $KEISOKU_BUILD, which is kept; a commit
    for which it fails is skipped."""
    load: str = Field(min_length=1)
    """Shell command that is carried out here before each run, to make the build in $KEISOKU_BUILD the one that
    works."""
    figure: str | None = None
    """Figure to follow (default: the main figure of the measurement)."""
    margin_percent: float = Field(2.0, gt=0, lt=100)
    """A change that is smaller is none."""
    error_percent: float = Field(5.0, gt=0, lt=50)
    """Probability of error of the answer, at most."""
    within_s: float | None = Field(None, gt=0)
    """Time that measuring may take, without builds (default: 10 min, if no number of pairs is given)."""
    pairs: int | None = Field(None, ge=4, le=10_000)
    """Number of pairs of runs that it may take."""
