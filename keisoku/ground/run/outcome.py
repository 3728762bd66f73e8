"""What a run says: its directory, its results, and whether what was required of them is met."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.language import join_texts


@dataclass(frozen=True)
class Outcome:
    """A run that was measured or analysed."""

    directory: RunDirectory
    results: list[Result]
    verdicts: list[Verdict]
    """Verdicts on the criteria that the plan requires."""

    @property
    def met(self) -> bool:
        """Whether every criterion was met."""
        return all(verdict.met for verdict in self.verdicts)

    @property
    def failure(self) -> str:
        """Why nothing of what was asked for was measured; empty if some of it was."""
        reasons = [result.failure or result.nothing_because for result in self.results]
        return join_texts("; ", reasons) if all(reasons) else ""
