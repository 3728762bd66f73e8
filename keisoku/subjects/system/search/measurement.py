"""`system limit` as an entry of the table of measurements: sets limits and observes the system."""

from __future__ import annotations

from collections.abc import Callable

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.system.asked_limit import AskedLimit
from keisoku.subjects.system.figure_of_merit import merit_units
from keisoku.subjects.system.interval_log import IntervalLog, kept_intervals, not_as_asked
from keisoku.subjects.system.opening import from_afar
from keisoku.subjects.system.search.analysis import NAME
from keisoku.subjects.system.search.analysis import analyse as analyse_evaluations
from keisoku.subjects.system.search.asking import LOOK, Asking, again, evaluations, looks, searched
from keisoku.subjects.system.search.candidate import limit_text
from keisoku.subjects.system.search.client_share import shares
from keisoku.subjects.system.search.evaluation import PURPOSES
from keisoku.subjects.system.search.limit_curve import believed, curve, settled
from keisoku.subjects.system.search.plot import limit_plots
from keisoku.subjects.system.search.reach import LOOKS
from keisoku.subjects.system.search.search import COMPARED, SETTLES
from keisoku.subjects.system.set_up import check, set_up
from keisoku.subjects.system.settings import LimitSettings
from keisoku.subjects.system.system import System

_UNITS = {
    "requests/s": "requests limited_clients other_clients",
    "bit/s": "forwarded limit rate_without_limit rate_under_limit",
    "%": "share_kept gain_over_no_limit",
    "": "evaluations",
}


def measure(work: Work[LimitSettings]) -> None:
    """Searches or sweeps; what the run holds that is continued is not evaluated again."""
    with set_up(work) as (system, settings, log):
        carry_out(system, settings, log, work.observer.tell, work.observer.warn)


def carry_out(
    system: System, settings: LimitSettings, log: IntervalLog, tell: Callable[[str], None], warn: Callable[[str], None]
) -> None:
    """Carries out the evaluations in order. The caller leaves the system."""
    asked_limit = AskedLimit(system, settings.client, log, warn, settings.settle_s)
    shown = [] if settings.sweep else looks(log.held)
    while not settings.sweep and len(shown) < LOOKS:
        shown.append(asked_limit.until_used(None, settings.interval_s, LOOK))
    asking = Asking(settings, shown)
    for kept in evaluations(log.held):
        asking.tell(kept)
    while (asked := asking.next) is not None:
        kept = asked_limit.until_used(asked.limit, settings.interval_s, asked.purpose, asked.settles)
        at = kept.observation
        tell(
            phrase(
                "{purpose}: {limit}: {rate:,.1f} Mb/s, {requests:,.0f} requests/s",
                purpose=PURPOSES[asked.purpose],
                limit=limit_text(asked.limit),
                rate=at.bits_per_second / 1e6,
                requests=at.requests_per_second,
            )
        )
        asking.tell(kept)


def analyse(directory: RunDirectory) -> Findings:
    """From a run's intervals alone. Raises PlanError if it ended before anything was evaluated."""
    settings = LimitSettings.model_validate(directory.plan)
    intervals = kept_intervals(directory)
    used = evaluations(intervals)
    if not used:
        raise PlanError("run", f"{directory.path} holds no evaluation", "measure again")
    answer, candidates = again(settings, intervals), searched(settings, intervals)
    points = curve(settled(used, answer), settings.weighted_objective, settings.client)
    known = (
        None
        if settings.sweep
        else believed(settled(used, answer), settings.weighted_objective, candidates, settings.seed)
    )
    result = analyse_evaluations(settings, answer, points, known, candidates, shares(used, answer))
    result = result.model_copy(update={"flags": [*result.flags, *not_as_asked(intervals, settings.client)]})
    return Findings([result], limit_plots(points, known, candidates, settings))


def _seconds(settings: LimitSettings) -> float:
    """Every evaluation; and each block that confirms, at every settling time, and that compares: four evaluations and
    two changes of the limit."""
    interval_s, settle_s = settings.interval_s, settings.settle_s
    if settings.sweep:
        return settings.sweep * settings.times * (interval_s + settle_s)
    blocks = [*SETTLES, *SETTLES[-1:] * COMPARED]
    confirmed_s = sum(settings.times * (4 * interval_s + 2 * settles * settle_s) for settles in blocks)
    return (LOOKS + settings.budget) * (interval_s + settle_s) + confirmed_s


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Best limit"),
    settings=LimitSettings,
    seconds=_seconds,
    check=check,
    shortens=("budget", "interval_s", "settle_s"),
    measure=measure,
    analyse=analyse,
    figure="gain_over_no_limit",
    columns=lambda plan: {NAME: merit_units(_UNITS, plan)},
    same=("objective", "weight", "p99_s", "keep_bps", "interval_s"),
    summary="Finds the best rate limit of a port for the whole system, changing and observing only the network.",
    help="""\b
    keisoku system limit --system sim:e4 --objective sum_requests
    keisoku system limit --system sim:e4 --objective sum_requests --sweep 33 --floor 100M

    A limit is advised only if its gain over no limit is significant. The limit is removed when the command ends.""",
    resumes=True,
    from_afar=from_afar,
)
