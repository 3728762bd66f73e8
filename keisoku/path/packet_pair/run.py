"""The answer of a packet-pair run, computed again from its trains and facts on disk, finished or not.

It measures nothing.
"""

from __future__ import annotations

from keisoku.path.packet_pair.analysis import analyse as analyse_trains
from keisoku.path.packet_pair.analysis import way_of
from keisoku.path.packet_pair.plot import pair_plots
from keisoku.path.packet_pair.settings import PacketPairSettings
from keisoku.path.packet_pair.stages import DIRECTIONS
from keisoku.path.train.run import read_trains
from keisoku.report.plot import Plot
from keisoku.run.observation import Observation
from keisoku.run.observation_directory import ObservationDirectory


def analyse(directory: ObservationDirectory) -> tuple[Observation, list[Plot]]:
    """From a run's files alone, finished or not. Raises PlanError if they hold nothing."""
    settings = PacketPairSettings.model_validate(directory.settings)
    log, facts = read_trains(directory)
    trains = log.trains(settings.stamps)
    noise = facts["stamp_noise_ns"]
    ways = [way for one in DIRECTIONS if (way := way_of(one, trains, noise.get(settings.stamps))) is not None]
    return analyse_trains(trains, settings, noise, facts), pair_plots(ways)
