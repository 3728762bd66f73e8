"""A delay run on disk: its packets as Parquet, and the answer computed from them again. It measures nothing."""

from __future__ import annotations

from keisoku.path.delay import DelaySettings
from keisoku.path.delay_analysis import analyse as analyse_rows
from keisoku.path.delay_analysis import delays_of
from keisoku.record.observation import Observation
from keisoku.record.observation_directory import ObservationDirectory
from keisoku.report.delay_plot import delay_plot
from keisoku.report.plot import Plot

TABLE = "packets"


def analyse(directory: ObservationDirectory) -> tuple[Observation, list[Plot]]:
    """From a run's files alone. Raises PlanError if it holds no packets."""
    rows = directory.rows(TABLE)
    found = delays_of(rows)
    plots = [] if found is None else [delay_plot(found)]
    return analyse_rows(rows, DelaySettings.model_validate(directory.settings)), plots
