"""`system govern` as an entry of the table: carries out the governor's commands, keeps every interval."""

from __future__ import annotations

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.system.asked_limit import AskedLimit
from keisoku.subjects.system.figure_of_merit import merit_units
from keisoku.subjects.system.govern.analysis import NAME, believed
from keisoku.subjects.system.govern.analysis import analyse as analyse_intervals
from keisoku.subjects.system.govern.governor import DOING, Command, govern
from keisoku.subjects.system.govern.plot import govern_plots
from keisoku.subjects.system.interval_log import IntervalLog, kept_intervals
from keisoku.subjects.system.opening import from_afar
from keisoku.subjects.system.search.candidate import limit_text
from keisoku.subjects.system.set_up import check, set_up
from keisoku.subjects.system.settings import GovernSettings
from keisoku.subjects.system.system import System


def measure(work: Work[GovernSettings]) -> None:
    """Governs for as long as the settings say; without a duration an interruption is the normal end."""
    with set_up(work) as (system, settings, log):
        try:
            carry_out(system, settings, log, work.observer)
        except KeyboardInterrupt:
            if settings.duration_s is not None or not log.intervals:
                raise
            work.observer.warn(phrase("interrupted: the result until now follows"))


def carry_out(system: System, settings: GovernSettings, log: IntervalLog, observer: Observer) -> None:
    """Governs a system, which the caller leaves, until the time is over or it is interrupted."""
    governor = govern(settings.weighted_objective, settings.candidates, settings.governor, settings.client)
    command = next(governor)
    told: Command | None = None
    asked = AskedLimit(system, settings.client, log, observer.warn, settings.settle_s)
    used = True
    while settings.duration_s is None or asked.passed_s < settings.duration_s:
        if told is None or (command.phase, command.why) != (told.phase, told.why):
            observer.tell(
                phrase(
                    "{time:,.0f} s: {phase}: {limit}: {why}",
                    time=asked.passed_s,
                    phase=DOING[command.phase],
                    limit=limit_text(command.limit),
                    why=command.why,
                )
            )
        told = command
        # The governor itself leaves out what follows a change that it asked for; of one that it did not ask for, the
        # settling is left out here, and it is told nothing.
        settles = 0 if used else 1
        kept = asked.interval(command.limit, settings.interval_s, command.phase.value, command.why, settles)
        observer.saw(bits_per_second=kept.observation.bits_per_second)
        used = kept.used
        if used:
            command = governor.send(kept.observation)


def analyse(directory: RunDirectory) -> Findings:
    """From a run's intervals alone. Raises PlanError if it ended within its first one."""
    settings = GovernSettings.model_validate(directory.plan)
    intervals = kept_intervals(directory)
    if not intervals:
        raise PlanError("run", f"{directory.path} holds no interval", "govern again")
    inference, wholes = believed(intervals)
    result = analyse_intervals(settings, intervals, inference, wholes)
    return Findings([result], govern_plots(intervals, [one.state for one in wholes], settings))


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Governed system"),
    settings=GovernSettings,
    seconds=lambda settings: settings.duration_s,
    check=check,
    measure=measure,
    analyse=analyse,
    figure="duration",
    columns=lambda plan: {NAME: merit_units({"ns": "duration believed_for", "%": "right"}, plan)},
    same=("objective", "weight", "p99_s", "keep_bps", "interval_s"),
    summary="Keeps a whole system at its optimum by the rate limit of a port, changing and observing only the network.",
    help="""\b
    keisoku system govern --system sim:e4-steps --objective sum_requests --duration 30min

    Its actions and their reasons are printed on standard error. The limit is removed when the command ends.""",
    from_afar=from_afar,
)
