"""A delay run on disk: its packets as Parquet, and the answer computed from them again. It measures nothing."""

from __future__ import annotations

from keisoku.path.stamp.analysis import analyse as analyse_rows
from keisoku.path.stamp.analysis import delays_of
from keisoku.path.stamp.plot import delay_plot
from keisoku.path.stamp.sender import DelaySettings
from keisoku.report.plot import Plot
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result

TABLE = "packets"


def analyse(directory: RunDirectory) -> tuple[Result, list[Plot]]:
    """From a run's files alone. Raises PlanError if it holds no packets."""
    rows = directory.rows(TABLE)
    found = delays_of(rows)
    plots = [] if found is None else [delay_plot(found)]
    return analyse_rows(rows, DelaySettings.model_validate(directory.plan)), plots
