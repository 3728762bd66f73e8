"""What a run found, for Python: figures, trials, rows of frames, as models, Arrow and pandas. Computes no figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keisoku.analysis.quantity import Quantity
from keisoku.device.record.trial import TrialRecord
from keisoku.errors import KeisokuError, PlanError
from keisoku.run.criterion import Verdict
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result
from keisoku.run.run import Run

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from keisoku.device.record.tables import TableName


@dataclass(frozen=True, repr=False)
class Measured:
    """A finished run. In a notebook it shows itself: summary, plots, tables."""

    run: Run
    verdicts: tuple[Verdict, ...] = ()
    """Of the criteria that the plan requires."""

    @property
    def directory(self) -> Path:
        """Where all of it is kept; `load` reads it again."""
        return self.run.directory

    @property
    def results(self) -> list[Result]:
        """One for each method, in order."""
        return self.run.results

    @property
    def trials(self) -> list[TrialRecord]:
        """Every trial with all that was counted."""
        return self.run.records

    @property
    def met(self) -> bool:
        """Whether every criterion of the plan was."""
        return all(verdict.met for verdict in self.verdicts)

    def result(self, method: str | None = None) -> Result:
        """Of one method; of the only one without a name. Raises PlanError if there is no such result."""
        found = [result for result in self.results if method in (None, result.method)]
        if len(found) != 1:
            known = ", ".join(result.method for result in self.results)
            raise PlanError("method", f"{len(found)} results are of {method or 'any method'}", f"name one of {known}")
        return found[0]

    def figure(
        self, name: str, frame_bytes: int | None = None, case: str | None = None, method: str | None = None
    ) -> Quantity:
        """One figure of a result, such as `figure("throughput", 64)`: value, unit, expanded uncertainty (k = 2).

        Raises PlanError unless exactly one row has it.
        """
        rows = [
            row
            for row in self.result(method).rows
            if frame_bytes in (None, row.frame_bytes) and case in (None, row.case) and name in row.figures
        ]
        if len(rows) != 1:
            known = list(dict.fromkeys(each for row in self.result(method).rows for each in row.figures))
            problem = f"{len(rows)} rows have '{name}'"
            raise PlanError("figure", problem, f"name its size and case; there are {', '.join(known)}")
        return rows[0].figures[name]

    def arrow(self, table: TableName = "figures") -> pyarrow.Table:
        """One of 'figures', 'trials', 'streams', 'lost', 'latencies' or 'frames'.

        Raises PlanError for 'frames' if the run kept none.
        """
        from keisoku.device.record.tables import table as make  # Arrow takes a while to load

        return make(self.run, table)

    def pandas(self, table: TableName = "figures") -> pandas.DataFrame:
        """The same as a data frame. Raises KeisokuError if pandas is not installed."""
        try:
            import pandas  # noqa: F401  # Arrow's own message does not say what to do
        except ImportError as error:
            raise KeisokuError("pandas is not installed; pip install pandas, or use arrow()") from error
        return self.arrow(table).to_pandas()

    def query(self, sql: str) -> pyarrow.Table:
        """What DuckDB answers from the tables trials, streams and, if the run kept them, frames. Raises PlanError."""
        from keisoku.device.record.query import arrow

        return arrow(self.directory, sql)

    def report(self, path: Path | str | None = None) -> Path:
        """Writes the report, one self-contained HTML page, and returns where; into the run if not told."""
        from keisoku.report.html import render_html

        criteria = [(verdict.text, verdict.met, _said(verdict.measured)) for verdict in self.verdicts]
        text = render_html([self.run], criteria)
        if path is None:
            return RunDirectory(self.directory).write_text("report.html", text)
        Path(path).write_text(text, encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        device = self.run.context.get("device") or self.directory.name
        methods = ", ".join(result.method for result in self.results)
        verdict = "" if not self.verdicts else ", every criterion met" if self.met else ", a criterion missed"
        return f"<{methods} of {device}: {len(self.trials)} trials in {self.directory}{verdict}>"

    def _repr_html_(self) -> str:
        from keisoku.report.cell import cell  # templates and plots take a while to load

        return cell(self.run, [(verdict.text, verdict.met, _said(verdict.measured)) for verdict in self.verdicts])

    def _ipython_key_completions_(self) -> Sequence[Any]:
        return [result.method for result in self.results]

    def __getitem__(self, method: str) -> Result:
        """The result of a method. Raises KeyError if it was not run."""
        try:
            return self.result(method)
        except PlanError as error:
            raise KeyError(str(error)) from error


def _said(measured: Quantity | None) -> str:
    from keisoku.report import digits

    return digits.text(measured) if measured else "nothing"
