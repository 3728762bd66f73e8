"""A packet-pair run on disk: its trains as Parquet, its facts, and the answer computed from them again.

It measures nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from keisoku.errors import PlanError
from keisoku.path.packet_pair import DIRECTIONS
from keisoku.path.pair_analysis import analyse as analyse_trains
from keisoku.path.pair_analysis import way_of
from keisoku.path.pair_settings import PacketPairSettings
from keisoku.path.train_log import TrainLog
from keisoku.record.observation import Observation
from keisoku.record.observation_directory import ObservationDirectory
from keisoku.report.pair_plot import pair_plots
from keisoku.report.plot import Plot

TABLE = "packets"
_FACTS = "facts.json"


def keep(directory: ObservationDirectory, log: TrainLog, facts: Mapping[str, object]) -> None:
    """Writes what was measured."""
    directory.append(TABLE, log.table())
    directory.write_text(_FACTS, json.dumps(facts, indent=1) + "\n")


def analyse(directory: ObservationDirectory) -> tuple[Observation, list[Plot]]:
    """From a run's files alone. Raises PlanError if they are not all there."""
    settings = PacketPairSettings.model_validate(directory.settings)
    trains = TrainLog.of(directory.rows(TABLE)).trains(settings.stamps)
    try:
        facts = json.loads((directory.path / _FACTS).read_bytes())
    except (OSError, ValueError) as error:
        raise PlanError("run", f"{directory.path} was not measured to its end", "measure again") from error
    noise = facts["stamp_noise_ns"]
    ways = [way for one in DIRECTIONS if (way := way_of(one, trains, noise.get(settings.stamps))) is not None]
    return analyse_trains(trains, settings, noise, facts), pair_plots(ways)
