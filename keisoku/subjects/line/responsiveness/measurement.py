"""`line responsiveness` as an entry of the table of measurements: rounds through all conditions, and their result."""

from __future__ import annotations

import pyarrow.compute as pc

from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.line.responsiveness.analysis import NAME
from keisoku.subjects.line.responsiveness.analysis import analyse as analyse_outcomes
from keisoku.subjects.line.responsiveness.condition import PATIENCE_S, UNITS, conditions, lasts_s
from keisoku.subjects.line.responsiveness.outcome import Outcome, outcome
from keisoku.subjects.line.responsiveness.plot import latency_plot
from keisoku.subjects.line.responsiveness.probing import DELAYS, EMPTY, FLOWS, HOPS, PHASES, TRANSACTIONS
from keisoku.subjects.line.responsiveness.rounds import REPLIERS, carry_out_all
from keisoku.subjects.line.responsiveness.settings import ResponsivenessSettings

_AROUND_S = 0.3
"""What a condition takes besides its time: connections, and the queue that drains."""
_FIND_S = 5.0


def measure(work: Work[ResponsivenessSettings]) -> None:
    """All rounds, and an idle time after the last. Raises EngineError if load or probes cannot be sent."""
    settings = work.settings
    carry_out_all(work, settings, [*conditions(settings) * settings.repetitions, "idle"])


def outcomes_of(directory: RunDirectory) -> list[Outcome]:
    """In order. Raises PlanError if no condition came to its end."""
    phases = directory.rows(PHASES).to_pylist()
    delays, foreign = (directory.rows(name) for name in (DELAYS, TRANSACTIONS))
    # A run of an idle time alone has no flows, and one without hops none of these.
    flows, hops = (directory.rows(name) if directory.parts(name) else EMPTY[name] for name in (FLOWS, HOPS))
    found = []
    for row in phases:
        ours = [part.filter(pc.equal(part["number"], row["number"])) for part in (delays, flows, foreign, hops)]
        found.append(outcome(row, ours[0], ours[1].to_pylist(), ours[2], ours[3]))
    return found


def repliers_of(directory: RunDirectory) -> dict[int, str]:
    """The address of each hop that answers, by TTL."""
    return {int(ttl): str(one) for ttl, one in directory.facts.get(REPLIERS, {}).items()}


def analyse(directory: RunDirectory) -> Findings:
    """From a run's rows alone, finished or not. Raises PlanError if there are none."""
    settings = ResponsivenessSettings.model_validate(directory.plan)
    result, curves = analyse_outcomes(settings, outcomes_of(directory), repliers_of(directory))
    return Findings([result], [latency_plot(curves)] if curves else [])


def _seconds(settings: ResponsivenessSettings) -> float:
    of_round = sum(lasts_s(settings, one) + _AROUND_S + PATIENCE_S for one in conditions(settings))
    return settings.repetitions * of_round + settings.duration_s + (_FIND_S if settings.max_hops else 0)


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Responsiveness of the path"),
    settings=ResponsivenessSettings,
    seconds=_seconds,
    shortens=("repetitions", "duration_s", "ramp_s"),
    measure=measure,
    analyse=analyse,
    figure="rpm",
    units=UNITS,
    same=("streams", "congestion"),
    summary="Measures latency to HOST, where 'keisoku stream serve' runs, idle and under load, and the queue between.",
    help="""Loads the path by TCP flows up, down and both ways, and by UDP above its rate, and probes it meanwhile.

    It finds round trips per minute (draft-ietf-ippm-responsiveness), the latency that a load adds, and the queue:
    which hop holds it, how long it is, and what it does when it fills.

    \b
    keisoku line responsiveness 192.0.2.7
    keisoku line responsiveness 192.0.2.7 --no-overload --repetitions 3
    keisoku line responsiveness 192.0.2.7 --require 'added[both ways] < 30 ms'""",
    from_afar=lambda values: None,
)
