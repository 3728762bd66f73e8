"""`path clocks` as an entry of the table of measurements: one path by every source of time, packet by packet."""

from __future__ import annotations

from keisoku.ground.entry import Findings, Measurement, Work, without_files
from keisoku.ground.host.place import Place
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.path.clocks.analysis import NAME
from keisoku.subjects.path.clocks.analysis import analyse as analyse_log
from keisoku.subjects.path.clocks.settings import SourceComparisonSettings
from keisoku.subjects.path.clocks.stages import measure as measure_stages
from keisoku.subjects.path.train.run import ENDED, TrainRun, read_trains
from keisoku.subjects.path.train.session import TrainSession


def measure(work: Work[SourceComparisonSettings]) -> None:
    """Sends all repetitions and keeps them. Raises EngineError if the far end does not answer."""
    settings = work.settings
    with TrainSession(Place.parse(settings.host), settings.port) as session:
        run = TrainRun(work.begin({}))
        session.keep = run.append
        tell = work.observer.tell
        run.end(measure_stages(session, settings, lambda text: tell(phrase("measuring {text}", text=text)), run.know))


def analyse(directory: RunDirectory) -> Findings:
    """From a run's rows alone, finished or not. Raises PlanError if there are none."""
    settings = SourceComparisonSettings.model_validate(directory.plan)
    log, facts = read_trains(directory)
    return Findings([analyse_log(log, settings, facts["stamp_noise_ns"], bool(facts[ENDED]))])


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Sources of time on one path"),
    settings=SourceComparisonSettings,
    measure=measure,
    analyse=analyse,
    figure="mean",
    units={
        "Mb/s": "mean median",
        "(Mb/s)²": "variance",
        "": "coefficient_of_variation",
        "ns": "scatter_of_gaps of_clock_predicted of_clock_observed error_of_gaps",
        "ns/byte": "error_per_byte",
        "%": "share_predicted share_observed",
    },
    same=("size_bytes", "direction"),
    summary="Measures the path to HOST, where 'keisoku path serve' runs, by every source of time at once.",
    help="""The same packets are stamped by a program (as gettimeofday and the processor's counter show the time), by
    the kernel, and by the hardware where it can. The result is the variance of repetitions for each source, and the
    share of the clock in it.

    \b
    keisoku path clocks 192.0.2.7
    keisoku path clocks 192.0.2.7@blue --repetitions 20    # from the network namespace blue""",
    from_afar=without_files(),
)
