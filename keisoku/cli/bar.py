"""A bar on standard error that shows how far a measurement has come; nothing where nobody looks at a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


class Bar:
    """Appears when the measurement first says how far it has come; use as a context manager."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._task = TaskID(0)
        self._progress = Progress(
            BarColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def came_to(self, done: float, whole: float, said: str) -> None:
        """`done` of `whole`, and the same in words."""
        if not self._progress.tasks:
            self._task = self._progress.add_task(said, total=whole)
            self._progress.start()
        self._progress.update(self._task, completed=done, total=whole, description=said)
