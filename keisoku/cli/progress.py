"""Shows the progress of a run: a bar and the time that is left on a terminal, plain lines otherwise.

It writes to standard error only; results go to standard output.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from keisoku.cli.interruption import check

if TYPE_CHECKING:
    from keisoku.device.engine.engine import Progress
    from keisoku.device.record.trial import Trial, TrialRecord


class Lines:
    """Observer for the runner that prints a line for each finished trial; use as a context manager."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left to do."""

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """Nothing is said before the trial ended."""

    def trial_progress(self, progress: Progress) -> None:
        """Nothing is said before the trial ended."""

    def trial_finished(self, record: TrialRecord) -> None:
        """One line."""
        check()
        print(line(record), file=sys.stderr, flush=True)


def watching() -> Lines:
    """Enters an observer of trials, which shows nothing before the first trial."""
    if not sys.stderr.isatty():
        return Lines()
    from keisoku.cli.live import live  # what draws on terminals is loaded for terminals only

    return live()


def line(record: TrialRecord) -> str:
    """A finished trial."""
    tracked = record.facts.tracked
    verdict = f"invalid: {'; '.join(record.invalid_because)}" if not record.valid else f"lost {tracked.lost_frames:,}"
    if record.facts.stopped_for_loss:
        verdict += ", stopped at this loss"
    return (
        f"{record.index:4} {record.method}: {record.trial.purpose}, {rate(record.trial)}:"
        f" offered {record.facts.sent.offered_frames:,}, forwarded {tracked.forwarded_frames:,}, {verdict}"
    )


def rate(trial: Trial) -> str:
    """The trial's load."""
    return f"{trial.frames_per_second:,.0f} frames/s"
