"""Settings of a mesh, and the ends that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import argument
from keisoku.subjects.stream.outage.settings import PORT, CourseSettings

LEAST, MOST = 2, 64
"""Ends: one serves 64 sessions at most, and has one with each of the others."""


class MeshSettings(CourseSettings):
    """Settings of one measurement of interruptions between many ends."""

    ends: tuple[str, ...] = argument()
    """Hosts where 'keisoku outage serve --mesh' runs. HOST@NAMESPACE is an end in a namespace of this host, which is
    started for the measurement; @FILE is a file with one of these in each line."""
    port: int = Field(PORT, ge=1, le=65535)
    """TCP and UDP port of every end."""
    interval_s: float = Field(0.1, ge=0.001, le=10)
    """Time from one packet of a pair to the next, in each direction; the ends of an interruption are known to this."""
    silence_s: float = Field(0.2, gt=0, le=60)
    """Packets that come later than this after the one before are an interruption, even if none is lost."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not any(end.startswith("@") for end in self.ends):
            _check(self.ends)
        return self

    def with_files_read(self) -> MeshSettings:
        """With the ends that files hold in their place. Raises PlanError for a file that cannot be read."""
        if not any(end.startswith("@") for end in self.ends):
            return self
        found = [one for end in self.ends for one in (_lines(end[1:]) if end.startswith("@") else [end])]
        _check(found)
        return self.model_copy(update={"ends": tuple(found)})


def name_of(end: str) -> str:
    """An end as it is called in figures: without its namespace."""
    return end.partition("@")[0]


def _check(ends: tuple[str, ...] | list[str]) -> None:
    if not LEAST <= len(ends) <= MOST:
        raise PlanError("ends", f"{len(ends)} ends are given", f"give {LEAST} to {MOST}")
    names = [name_of(end) for end in ends]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise PlanError("ends", f"{twice} is given twice", "give each end once")
    if "" in names:
        raise PlanError("ends", "an end has no address", "write HOST or HOST@NAMESPACE")


def _lines(name: str) -> list[str]:
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError("ends", f"{name} cannot be read: {error}", "name a file with an end in each line") from error
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
