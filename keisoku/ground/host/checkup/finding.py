"""`Finding`: one fact about the host that matters to measurements, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Grade = Literal["good", "note", "problem"]
"""Nothing to do; it limits what can be said; it falsifies or prevents measurements."""


@dataclass(frozen=True)
class Mend:
    """A change that takes the finding away. What it changes is set back as it was found."""

    key: str
    """'pause' or 'energy', of the interface that the finding is about; or 'governor', of all CPUs."""
    wanted: int | str
    said: str
    """What it does, as a line for the user."""


@dataclass(frozen=True)
class Finding:
    """A fact, in a sentence."""

    about: str
    """'host', or the name of an interface."""
    grade: Grade
    said: str
    remedy: str = ""
    """The command that mends it, or what else to do; empty where there is nothing to do."""
    mend: Mend | None = None
    """What `--fix` does; None where a person must decide."""
