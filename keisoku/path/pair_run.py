"""The answer of a packet-pair run, computed again from its trains and facts on disk, finished or not.

It measures nothing.
"""

from __future__ import annotations

from keisoku.path.packet_pair import DIRECTIONS
from keisoku.path.pair_analysis import analyse as analyse_trains
from keisoku.path.pair_analysis import way_of
from keisoku.path.pair_settings import PacketPairSettings
from keisoku.path.train_run import read_trains
from keisoku.record.observation import Observation
from keisoku.record.observation_directory import ObservationDirectory
from keisoku.report.pair_plot import pair_plots
from keisoku.report.plot import Plot


def analyse(directory: ObservationDirectory) -> tuple[Observation, list[Plot]]:
    """From a run's files alone, finished or not. Raises PlanError if they hold nothing."""
    settings = PacketPairSettings.model_validate(directory.settings)
    log, facts = read_trains(directory)
    trains = log.trains(settings.stamps)
    noise = facts["stamp_noise_ns"]
    ways = [way for one in DIRECTIONS if (way := way_of(one, trains, noise.get(settings.stamps))) is not None]
    return analyse_trains(trains, settings, noise, facts), pair_plots(ways)
