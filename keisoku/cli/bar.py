"""A bar on standard error that shows how far a measurement has come; nothing where nobody looks at a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bar:
    """Appears when the measurement first says how far it has come; use as a context manager."""

    def __init__(self) -> None:
        self._progress = _drawn() if sys.stderr.isatty() else None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def came_to(self, done: float, whole: float, said: str) -> None:
        """`done` of `whole`, and the same in words."""
        if self._progress is None:
            return
        if self._task is None:
            self._task = self._progress.add_task(said, total=whole)
            self._progress.start()
        self._progress.update(self._task, completed=done, total=whole, description=said)


def _drawn() -> Progress:
    from rich.console import Console  # what draws on terminals is loaded for terminals only
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    return Progress(
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
