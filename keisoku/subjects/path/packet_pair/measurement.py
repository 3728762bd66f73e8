"""`path packet-pair` as an entry of the table of measurements: trains are sent, then analysed."""

from __future__ import annotations

from keisoku.ground.entry import Findings, Measurement, Work, without_files
from keisoku.ground.host.place import Place
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.clock import rate_correction
from keisoku.subjects.path.packet_pair.analysis import NAME, way_of
from keisoku.subjects.path.packet_pair.analysis import analyse as analyse_trains
from keisoku.subjects.path.packet_pair.plot import pair_plots
from keisoku.subjects.path.packet_pair.settings import PacketPairSettings
from keisoku.subjects.path.packet_pair.stages import DIRECTIONS
from keisoku.subjects.path.packet_pair.stages import measure as measure_stages
from keisoku.subjects.path.train.run import TrainRun, read_trains
from keisoku.subjects.path.train.session import TrainSession


def measure(work: Work[PacketPairSettings]) -> None:
    """Sends the trains and keeps them. Raises EngineError if the far end does not answer."""
    settings = work.settings
    with TrainSession(Place.parse(settings.host), settings.port) as session:
        run = TrainRun(work.begin(rate_correction.context()))
        session.keep = run.append
        tell = work.observer.tell
        run.end(measure_stages(session, settings, lambda text: tell(phrase("measuring {text}", text=text)), run.know))


def analyse(directory: RunDirectory) -> Findings:
    """From a run's rows alone, finished or not. Raises PlanError if there are none."""
    settings = PacketPairSettings.model_validate(directory.plan)
    log, facts = read_trains(directory)
    trains = log.trains(settings.stamps)
    noise = facts["stamp_noise_ns"]
    ways = [way for one in DIRECTIONS if (way := way_of(one, trains, noise.get(settings.stamps))) is not None]
    result = rate_correction.with_rate_of(directory, analyse_trains(trains, settings, noise, facts))
    return Findings([result], pair_plots(ways))


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Packet pairs and trains"),
    settings=PacketPairSettings,
    measure=measure,
    analyse=analyse,
    figure="capacity",
    units={
        "bit/s": "capacity average_dispersion_rate sustained_rate rate",
        "byte": "burst",
        "%": "queued of_stamps share",
        "": "trains_used like_links pairs",
    },
    summary="Measures the capacity of the path to HOST and back, where 'keisoku path serve' runs.",
    help="""\b
    keisoku path packet-pair 192.0.2.7
    keisoku path packet-pair 192.0.2.7@blue --one-packet 94Mb/s    # from the network namespace blue""",
    from_afar=without_files(),
)
