"""A measurement while it runs, on a terminal: one table, which is drawn again in its place."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live as Region
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from keisoku.cli.interruption import check
from keisoku.cli.progress import Lines, Row, line

if TYPE_CHECKING:
    from keisoku.device.engine.engine import Progress
    from keisoku.device.record.trial import Trial, TrialRecord

_AROUND = 6
"""Lines of the screen that are not rows: heads, sentence, overall progress, and the line of the cursor."""
_LEAST_ROWS = 3
_PER_SECOND = 4
"""Drawing takes time of a host that measures."""


class Live(Lines):
    """The plan above, a row a size, what is done now, and how much of the whole is left."""

    def __init__(self, console: Console, verbose: bool = False) -> None:
        super().__init__(verbose)
        self.console = console
        self._now, self._trial = "", ""
        self._measures = False
        self._region = Region(
            console=console,
            get_renderable=self._drawn,
            refresh_per_second=_PER_SECOND,
            transient=True,
            vertical_overflow="crop",
        )

    def __enter__(self) -> Self:
        self._region.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._region.stop()

    def tell(self, said: str) -> None:
        """The plan stays above the table; later sentences say what is done now, and stay with -v."""
        if self._measures and not self.verbose:
            self._now = said
        else:
            self.console.print(Text(said))
            self._now = said if self._measures else ""

    def planned(self, methods: Sequence[str], sizes: Sequence[int]) -> None:
        """From now on it is measured."""
        super().planned(methods, sizes)
        self._measures = True

    def came_to(self, done: float, whole: float, said: str) -> None:
        """Drawn at the next time."""
        check()
        self._measures = True
        self._share, self._now = (done, whole, said), said or self._now

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """Its row says so."""
        self._measures = True
        self.rows.started(method, trial)
        self._trial = ""

    def trial_progress(self, progress: Progress) -> None:
        """Live counts."""
        self._trial = f"{progress.offered_frames:,} sent, {progress.forwarded_frames:,} back"

    def trial_finished(self, record: TrialRecord) -> None:
        """With -v a line, above the table."""
        check()
        self.rows.finished(record)
        if self.verbose:
            self.console.print(Text(line(record), style="dim"))

    def _drawn(self) -> RenderableType:
        parts: list[RenderableType] = []
        rows = list(self.rows.found.values())
        if rows:
            parts.append(self._table(rows))
        if said := self._trial if self.rows.now is not None else self._now:
            parts.append(Text(said, no_wrap=True, overflow="ellipsis", style="dim"))
        if rows or self._share is not None or self._expected is not None:
            parts.append(self._overall(bool(rows)))
        return Group(*parts)

    def _table(self, rows: list[Row]) -> Table:
        table = Table(box=None, pad_edge=False, expand=False, header_style="bold", padding=(0, 2, 0, 0))
        table.add_column("Procedure", no_wrap=True, overflow="ellipsis")
        table.add_column("Byte", justify="right", no_wrap=True)
        table.add_column("State", no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_column("Trials", no_wrap=True)
        most = max(_LEAST_ROWS, self.console.size.height - _AROUND)
        at = rows.index(self.rows.now) if self.rows.now in rows else 0
        first = max(0, min(at - most // 2, len(rows) - most))
        for row in rows[first : first + most]:
            style = "bold" if row is self.rows.now else "dim" if row.state == "waits" else ""
            table.add_row(row.method, str(row.frame_bytes), row.state, row.trials, style=style)
        return table

    def _overall(self, trials: bool) -> RenderableType:
        left = self.left()
        words = [f"{self.percent():.0f} %"] if self._share is not None or self._expected is not None else []
        words += [f"{left} left"] if left else []
        words += [self.rows.trials] if trials else []
        grid = Table.grid(padding=(0, 1))
        grid.add_row(ProgressBar(total=100.0, completed=self.percent(), width=20), Text(", ".join(words)))
        return grid


def live(verbose: bool = False) -> Lines:
    """On standard error; plain lines where rich finds no terminal, such as TERM=dumb."""
    console = Console(stderr=True)
    return Live(console, verbose) if console.is_terminal and not console.is_dumb_terminal else Lines(verbose)
