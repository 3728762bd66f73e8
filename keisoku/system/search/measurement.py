"""`app limit` as an entry of the table of measurements: sets limits and observes the system."""

from __future__ import annotations

from collections.abc import Callable

from keisoku.errors import PlanError
from keisoku.measurement.entry import Findings, Measurement, Work
from keisoku.run.directory import RunDirectory
from keisoku.system.interval_log import IntervalLog, KeptInterval, kept_intervals
from keisoku.system.opening import from_afar
from keisoku.system.search.analysis import NAME
from keisoku.system.search.analysis import analyse as analyse_evaluations
from keisoku.system.search.asking import LOOK, Asking, again, evaluations, looks, searched
from keisoku.system.search.candidate import Limit, limit_text
from keisoku.system.search.evaluation import Evaluation
from keisoku.system.search.limit_curve import believed, curve
from keisoku.system.search.plot import limit_plots
from keisoku.system.search.reach import LOOKS
from keisoku.system.set_up import set_up
from keisoku.system.settings import LimitSettings
from keisoku.system.system import System


def measure(work: Work[LimitSettings]) -> None:
    """Searches or sweeps; what the run holds that is continued is not evaluated again."""
    with set_up(work) as (system, settings, log):
        carry_out(system, settings, log, work.tell)


def carry_out(system: System, settings: LimitSettings, log: IntervalLog, tell: Callable[[str], None]) -> None:
    """Carries out the evaluations in order. The caller leaves the system."""
    shown = [] if settings.sweep else looks(log.held)
    before: Limit | str = "nothing was set yet"
    if not settings.sweep and len(shown) < LOOKS:
        shown += _look(system, settings, log, LOOKS - len(shown))
        before = None
    asking = Asking(settings, shown)
    for kept in evaluations(log.held):
        asking.tell(kept)
    while (asked := asking.next) is not None:
        if asked.limit != before:
            system.limit(dict.fromkeys(settings.client, asked.limit))
            if settings.settle_s:
                log.add(_interval(system, settings.settle_s, asked, used=False))
        before = asked.limit
        kept = _interval(system, settings.interval_s, asked, used=True)
        log.add(kept)
        at = kept.observation
        tell(
            f"{asked.purpose}: {limit_text(asked.limit)}: {at.bits_per_second / 1e6:,.1f} Mb/s,"
            f" {at.requests_per_second:,.0f} requests/s"
        )
        asking.tell(kept)


def _look(system: System, settings: LimitSettings, log: IntervalLog, times: int) -> list[KeptInterval]:
    """Observations without a limit."""
    system.limit({})
    asked = Evaluation(None, LOOK)
    if settings.settle_s:
        log.add(_interval(system, settings.settle_s, asked, used=False))
    shown = []
    for _ in range(times):
        shown.append(_interval(system, settings.interval_s, asked, used=True))
        log.add(shown[-1])
    return shown


def _interval(system: System, seconds: float, asked: Evaluation, used: bool) -> KeptInterval:
    observation = system.observe(seconds)
    return KeptInterval(asked.purpose, "", asked.limit, used, observation, system.truth())


def analyse(directory: RunDirectory) -> Findings:
    """From a run's intervals alone. Raises PlanError if it ended before anything was evaluated."""
    settings = LimitSettings.model_validate(directory.plan)
    intervals = kept_intervals(directory)
    used = evaluations(intervals)
    if not used:
        raise PlanError("run", f"{directory.path} holds no evaluation", "measure again")
    answer, candidates = again(settings, intervals), searched(settings, intervals)
    points = curve(used, settings.weighted_objective, settings.client)
    known = None if settings.sweep else believed(used, settings.weighted_objective, candidates, settings.seed)
    result = analyse_evaluations(settings, answer, points, known, candidates)
    return Findings([result], limit_plots(points, known, candidates, settings))


def _seconds(settings: LimitSettings) -> float:
    """Every evaluation, and the four of each block that confirms."""
    count = settings.sweep * settings.times if settings.sweep else settings.budget + 4 * settings.times
    return count * (settings.interval_s + settings.settle_s)


MEASUREMENT = Measurement(
    name=NAME,
    title="Best limit",
    settings=LimitSettings,
    seconds=_seconds,
    shortens=("budget", "interval_s", "settle_s"),
    measure=measure,
    analyse=analyse,
    figure="gain_over_no_limit",
    same=("objective", "weight", "p99_s", "keep_bps", "interval_s"),
    summary="Finds the best rate limit of a port for the whole system, changing and observing only the network.",
    help="""\b
    keisoku app limit --system sim:e4 --objective sum_requests
    keisoku app limit --system sim:e4 --objective sum_requests --sweep 33 --floor 100M

    A limit is advised only if its gain over no limit is significant. The limit is removed when the command ends.""",
    resumes=True,
    from_afar=from_afar,
)
