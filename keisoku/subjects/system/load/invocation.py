"""`Invocation` and `Ended`: a program to run for a load, at any place, and its output. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from keisoku.errors import EngineError


@dataclass(frozen=True)
class Invocation:
    """It runs in an empty directory of its own, with nothing to read."""

    arguments: tuple[str, ...]
    """The program's name first, as it is found on the PATH there."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Files that it finds in its directory."""
    taken: tuple[str, ...] = ()
    """Files that it leaves there, beside what it says."""
    open_files: int = 1024


@dataclass(frozen=True)
class Ended:
    """Output of a program, and CLOCK_MONOTONIC of this host when it began."""

    code: int
    said: str
    complained: str
    files: Mapping[str, str]
    began_ns: int

    def succeeded(self, whose: str) -> Ended:
        """Itself. Raises EngineError with the program's last words if it failed."""
        if self.code != 0:
            words = self.complained.strip().splitlines() or self.said.strip().splitlines() or ["it printed nothing"]
            raise EngineError(f"{whose} failed: {words[-1]}")
        return self
