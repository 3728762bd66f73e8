"""The results of a run for Python: figures, trials, rows of frames, as models, Arrow and pandas. Computes no figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keisoku.errors import KeisokuError, PlanError
from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import plural
from keisoku.running.measurement.carry_out import findings_of, page
from keisoku.running.measurement.table import of_run

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from keisoku.subjects.device.record.trial_record import TrialRecord


@dataclass(frozen=True, repr=False)
class Measured:
    """A finished run of any measurement. A notebook shows it with summary, plots and tables."""

    outcome: Outcome

    @property
    def directory(self) -> Path:
        """The directory of the run; `load` reads it again."""
        return self.outcome.directory.path

    @property
    def context(self) -> dict[str, Any]:
        """The host and the instrument of the measurement."""
        return self.outcome.directory.context

    @property
    def results(self) -> list[Result]:
        """Results: one for each procedure of a device run, in order; one for any other run."""
        return self.outcome.results

    @property
    def verdicts(self) -> list[Verdict]:
        """Verdicts on the criteria that the plan requires."""
        return self.outcome.verdicts

    @cached_property
    def trials(self) -> list[TrialRecord]:
        """Every trial of a device run with all counts; empty for any other run."""
        from keisoku.subjects.device.record.trial_log import TrialLog

        return TrialLog(self.outcome.directory).records()

    @property
    def met(self) -> bool:
        """Whether every criterion of the plan was met."""
        return self.outcome.met

    def result(self, measurement: str | None = None) -> Result:
        """The result of one measurement; without a name that of the only one. Raises PlanError if there is no such
        result."""
        found = [result for result in self.results if measurement in (None, result.measurement)]
        if len(found) != 1:
            known = ", ".join(result.measurement for result in self.results)
            said = measurement or "any measurement"
            raise PlanError("measurement", f"there are {len(found)} results of {said}", f"name one of {known}")
        return found[0]

    def figure(
        self, name: str, frame_bytes: int | None = None, case: str | None = None, measurement: str | None = None
    ) -> Quantity:
        """One figure of a result, such as `figure("throughput", 64)`: value, unit, expanded uncertainty (k = 2).

        Raises PlanError unless exactly one row has it.
        """
        rows = [
            row
            for row in self.result(measurement).rows
            if frame_bytes in (None, row.frame_bytes) and case in (None, row.case) and name in row.figures
        ]
        if len(rows) != 1:
            known = list(dict.fromkeys(each for row in self.result(measurement).rows for each in row.figures))
            problem = f"{len(rows)} rows have '{name}'"
            raise PlanError("figure", problem, f"name its size and case; there are {', '.join(known)}")
        return rows[0].figures[name]

    def arrow(self, table: str = "figures") -> pyarrow.Table:
        """'figures', a raw table, or of a device run 'trials', 'streams', 'lost', 'changes', 'latencies' and 'frames'.

        Raises PlanError for a table that the run does not have.
        """
        from keisoku.running.measurement.query import table as make  # Arrow and DuckDB load slowly

        return make(self.directory, table)

    def pandas(self, table: str = "figures") -> pandas.DataFrame:
        """A table as a pandas data frame. Raises KeisokuError if pandas is not installed."""
        try:
            import pandas  # noqa: F401  # Arrow's own message does not say what to do
        except ImportError as error:
            raise KeisokuError("pandas is not installed; pip install 'keisoku[notebook]', or use arrow()") from error
        return self.arrow(table).to_pandas()

    def query(self, sql: str) -> pyarrow.Table:
        """The answer of DuckDB to a query of the run's tables (see `arrow`). Raises PlanError."""
        from keisoku.running.measurement.query import arrow

        return arrow(self.directory, sql)

    def report(self, path: Path | str | None = None) -> Path:
        """Writes the report, one self-contained HTML page, by default into the run, and returns its path."""
        directory = self.outcome.directory
        text = page([(directory, findings_of(directory))], self.verdicts)
        if path is None:
            return directory.write_text("report.html", text)
        Path(path).write_text(text, encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        measured = ", ".join(result.measurement for result in self.results)
        what = self.context.get("device") or next((each.title for each in self.results if each.title), "")
        verdict = "" if not self.verdicts else ", every criterion met" if self.met else ", a criterion not met"
        trials = f": {plural('{count} trial', '{count} trials', count=len(self.trials))}" if self.trials else ""
        return f"<{measured} of {what or self.directory.name}{trials} in {self.directory}{verdict}>"

    def _repr_html_(self) -> str:
        from keisoku.ground.report.cell import cell  # templates and plots load slowly

        directory = self.outcome.directory
        part = of_run(directory).part_of([(directory, findings_of(directory))])
        return cell(part, directory.path, self.verdicts)

    def _ipython_key_completions_(self) -> Sequence[Any]:
        return [result.measurement for result in self.results]

    def __getitem__(self, measurement: str) -> Result:
        """The result of a measurement. Raises KeyError if it was not run."""
        try:
            return self.result(measurement)
        except PlanError as error:
            raise KeyError(str(error)) from error
