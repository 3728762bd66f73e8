"""A measurement while it runs, on a terminal: one table, which is drawn again in its place."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live as Region
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from keisoku.faces.cli.graph import LINES, Graph
from keisoku.faces.cli.interruption import check
from keisoku.faces.cli.progress import Lines, Row, standing, trial_text
from keisoku.language import join_texts, phrase, translated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from keisoku.ground.run.directory import RunDirectory
    from keisoku.running.campaign.log import Standing
    from keisoku.subjects.device.engine.engine import Progress
    from keisoku.subjects.device.record.trial import Trial
    from keisoku.subjects.device.record.trial_record import TrialRecord

_AROUND = 8
"""Lines of the screen that are not rows: heads, three of sentences, overall progress, and the line of the cursor."""
_LEAST_ROWS = 3
_PER_SECOND = 4
"""Drawing takes time of a host that measures."""


class Live(Lines):
    """The plan above, a row a size, the last moments, what is done now, and how much of the whole is left."""

    def __init__(self, console: Console, verbose: bool = False) -> None:
        super().__init__(verbose)
        self.console = console
        self._said, self._trial = phrase("getting ready to measure"), ""
        self._measures = False
        self._graph = Graph()
        self._region = Region(
            console=console,
            get_renderable=self._drawn,
            refresh_per_second=_PER_SECOND,
            transient=True,
            vertical_overflow="crop",
        )

    def __enter__(self) -> Self:
        self._region.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._region.stop()

    def refresh(self) -> None:
        """Draws now."""
        self._region.refresh()

    def tell(self, line: str) -> None:
        """The plan stays above the table; later sentences are replaced by the next one, and stay only with -v."""
        if self._measures:
            self._said = line
        if self.verbose or not self._measures:
            self.console.print(Text(translated(line)))

    def warn(self, line: str) -> None:
        """Above the table, where it stays."""
        self.console.print(Text(translated(line)))

    def begun(self, directory: RunDirectory) -> None:
        """What is told from now on is of the moment."""
        if self.note:
            self.tell(self.note)
        self._measures, self._said = True, ""

    def stands(self, standings: Sequence[Standing]) -> None:
        """Drawn at the next time."""
        self.standings = standings

    def came_to(self, done: float, whole: float, said: str) -> None:
        """Drawn at the next time."""
        check()
        self._share = (done, whole, said)

    def _end_row(self) -> None:
        """The table says so itself."""
        self.rows.ended()
        self._trial = ""

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """Its row says so."""
        self.rows.started(method, trial)
        self._trial = ""

    def trial_progress(self, progress: Progress) -> None:
        """Live counts."""
        self._trial = phrase(
            "{sent} sent, {back} back",
            sent=f"{progress.offered_frames:,}",
            back=f"{progress.forwarded_frames:,}",
        )
        self._graph.counted(progress)

    def trial_finished(self, record: TrialRecord) -> None:
        """With -v a line, above the table."""
        check()
        self.rows.finished(record)
        self._graph.recorded(record)
        if self.verbose:
            self.console.print(Text(trial_text(record), style="dim"))

    def _drawn(self) -> RenderableType:
        course = self._course()
        room = self.console.size.height - _AROUND - len(course)
        parts: list[RenderableType] = [self._cells(room)] if self.standings else []
        rows = list(self.rows.found.values())
        if rows:
            parts.append(self._table(rows, room))
        parts += [Text(line, no_wrap=True, style="cyan") for line in course]
        # What was told last, the counts of the trial, and what the share is of: each in its own line.
        said = [self._said, self._trial, self._share[2] if self._share is not None else ""]
        parts += [
            Text(translated(line), no_wrap=True, overflow="ellipsis", style="dim")
            for line in dict.fromkeys(said)
            if line
        ]
        if rows or self._known:
            parts.append(self._overall(bool(rows)))
        return Group(*parts)

    @property
    def _known(self) -> bool:
        """Whether it is known how much is left."""
        return self._share is not None or self._expected is not None

    def _table(self, rows: list[Row], room: int) -> Table:
        heads = [translated(head) for head in (phrase("Procedure"), phrase("Byte"), phrase("Trials"))]
        table = Table(box=None, pad_edge=False, expand=False, header_style="bold", padding=(0, 2, 0, 0))
        table.add_column(heads[0], no_wrap=True)
        table.add_column(heads[1], justify="right", no_wrap=True)
        table.add_column(translated(phrase("State")), no_wrap=True, ratio=1)
        table.add_column(heads[2], no_wrap=True)
        at = rows.index(self.rows.now) if self.rows.now in rows else 0
        shown = rows[self._shown(len(rows), at, room)]
        figures = [heads, *([row.method, str(row.frame_bytes), translated(row.trials)] for row in shown)]
        taken = sum(max(cell_len(cells[column]) for cells in figures) + 2 for column in range(len(heads)))
        for row in shown:
            style = "bold" if row is self.rows.now else "dim" if row.state == "waits" else ""
            state = Text(translated(row.state))
            state.truncate(max(self.console.width - taken, 12), overflow="ellipsis")  # figures are never cut
            table.add_row(row.method, str(row.frame_bytes), state, translated(row.trials), style=style)
        return table

    def _course(self) -> list[str]:
        """Rate, loss and latency of the last moments, where there is room and the terminal has the letters."""
        fits = self.console.size.height >= _AROUND + _LEAST_ROWS + LINES and self.console.encoding.startswith("utf")
        return self._graph.lines(self.console.width) if fits else []

    def _cells(self, room: int) -> Table:
        """How far the cells of a campaign have come: those around the one that is measured."""
        table = Table(box=None, pad_edge=False, expand=False, header_style="bold", padding=(0, 2, 0, 0))
        table.add_column(translated(phrase("Runs of")), no_wrap=True, overflow="ellipsis")
        table.add_column(translated(phrase("State")), no_wrap=True, overflow="ellipsis", ratio=1)
        at = next((place for place, each in enumerate(self.standings) if each.now), 0)
        for each in self.standings[self._shown(len(self.standings), at, room)]:
            style = "bold" if each.now else "dim" if each.finished == each.wanted else ""
            table.add_row(each.cell.name, translated(standing(each)), style=style)
        return table

    def _shown(self, rows: int, at: int, room: int) -> slice:
        """Those rows of a table around row `at` for which there is room; a campaign has two tables."""
        most = max(_LEAST_ROWS, room // 2 - 1 if self.standings else room)
        first = max(0, min(at - most // 2, rows - most))
        return slice(first, first + most)

    def _overall(self, trials: bool) -> RenderableType:
        counts = [self.rows.trials] if trials else []
        if not self._known:
            return Text(translated(join_texts(", ", counts)))
        left = self.remaining()
        words = [f"{self.percent():.0f} %", *([phrase("{time} left", time=left)] if left else []), *counts]
        grid = Table.grid(padding=(0, 1))
        grid.add_row(
            ProgressBar(total=100.0, completed=self.percent(), width=20), Text(translated(join_texts(", ", words)))
        )
        return grid
