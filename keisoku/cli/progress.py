"""Shows the progress of a run: a progress bar with the remaining time on a terminal, plain lines otherwise.

It writes to standard error only; results go to standard output.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from keisoku.cli.interruption import check
from keisoku.device.engine.engine import Progress
from keisoku.device.record.trial import Trial, TrialRecord


class Display:
    """Observer for the runner; use as a context manager."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.bar: Bar | None = None
        self.task: TaskID | None = None
        if self.console.is_terminal:
            self.bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[frames]}"),
                TimeRemainingColumn(compact=True),
                console=self.console,
                transient=True,
            )

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar:
            self.bar.stop()

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """A new bar for each trial: how many trials a search needs is not known in advance."""
        if self.bar:
            if self.task is not None:
                self.bar.remove_task(self.task)
            self.task = self.bar.add_task(f"{method}: {trial.purpose}, {_rate(trial)}", total=1.0, frames="")

    def trial_progress(self, progress: Progress) -> None:
        """Share of the trial's time, live counts."""
        if self.bar and self.task is not None:
            share = progress.elapsed_s / progress.expected_s if progress.expected_s else 0.0
            frames = f"{progress.offered_frames:,} sent, {progress.forwarded_frames:,} back"
            self.bar.update(self.task, completed=min(share, 1.0), frames=frames)

    def trial_finished(self, record: TrialRecord) -> None:
        """One line for each finished trial, also on a terminal."""
        check()
        tracked = record.facts.tracked
        verdict = (
            f"invalid: {'; '.join(record.invalid_because)}" if not record.valid else f"lost {tracked.lost_frames:,}"
        )
        if record.facts.stopped_for_loss:
            verdict += ", stopped at this loss"
        line = (
            f"{record.index:4} {record.method}: {record.trial.purpose}, {_rate(record.trial)}:"
            f" offered {record.facts.sent.offered_frames:,}, forwarded {tracked.forwarded_frames:,}, {verdict}"
        )
        if self.bar:
            self.console.print(line, style="dim", highlight=False)
        else:
            print(line, file=sys.stderr, flush=True)


watching = Display
"""Enters an observer of trials, which shows nothing before the first trial."""


def _rate(trial: Trial) -> str:
    return f"{trial.frames_per_second:,.0f} frames/s"
