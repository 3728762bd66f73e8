"""The progress of a run on a terminal: a bar for the running trial, and the time that is left."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bar

from keisoku.cli.interruption import check
from keisoku.cli.progress import Lines, line, rate
from keisoku.units import time_text

if TYPE_CHECKING:
    from keisoku.device.engine.engine import Progress
    from keisoku.device.forecast.forecast import Forecast
    from keisoku.device.record.trial import Trial, TrialRecord


class Live(Lines):
    """The same on a terminal, with a bar for the running trial and the time that the whole run still takes."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.task: TaskID | None = None
        self.expected: tuple[Forecast, float] | None = None
        """What was left, and when."""
        self.bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[frames]}"),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
        )

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def expects(self, remaining: Forecast | None) -> None:
        """From now on this is left to measure."""
        self.expected = None if remaining is None else (remaining, monotonic())

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """A new bar for each trial."""
        if self.task is not None:
            self.bar.remove_task(self.task)
        said = f"{method}: {trial.purpose}, {rate(trial)}"
        self.task = self.bar.add_task(said, total=1.0, frames="", left=self._left())

    def trial_progress(self, progress: Progress) -> None:
        """Share of the trial's time, live counts, and what is left of all."""
        if self.task is not None:
            share = progress.elapsed_s / progress.expected_s if progress.expected_s else 0.0
            frames = f"{progress.offered_frames:,} sent, {progress.forwarded_frames:,} back"
            self.bar.update(self.task, completed=min(share, 1.0), frames=frames, left=self._left())

    def trial_finished(self, record: TrialRecord) -> None:
        """One line, above the bar."""
        check()
        self.console.print(line(record), style="dim", highlight=False)

    def _left(self) -> str:
        """Of the run; or of the trial, where the run's time is virtual or not known beforehand."""
        if self.expected is None:
            trial_s = self.bar.tasks[0].time_remaining if self.bar.tasks else None
            return "" if trial_s is None else f"{time_text(trial_s)} left of this trial"
        remaining, at_s = self.expected
        return f"{remaining.after(monotonic() - at_s)} left"


def live() -> Lines:
    """An observer on standard error; plain lines where rich finds no terminal."""
    console = Console(stderr=True)
    return Live(console) if console.is_terminal else Lines()
