"""`line survey` as an entry of the table of measurements: everything about a subscriber's line in one minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.line.responsiveness.condition import UNITS, takes_s
from keisoku.subjects.line.survey.settings import LineSettings

if TYPE_CHECKING:
    from keisoku.subjects.line.survey.analysis import Clocks
    from keisoku.subjects.line.survey.nat import Nat

NAME = "line survey"
_FIND_S, _END_S = 4.0, 0.5
"""Looking for hops that all answer, and trying in the end whether the bindings of a NAT are still open."""


def measure(work: Work[LineSettings]) -> None:
    """The rounds. Raises EngineError if load or probes cannot be sent."""
    from keisoku.subjects.line.responsiveness.rounds import carry_out_all  # the command's help needs none of it
    from keisoku.subjects.line.survey.nat_beside import NatBeside

    longest_s = _seconds(work.settings) - _END_S
    besides = [lambda session: NatBeside(work, session, longest_s)]
    carry_out_all(work, work.settings.responsiveness(), work.settings.plan(), besides)


def analyse(directory: RunDirectory) -> Findings:
    """From a run's rows alone, finished or not. Raises PlanError if there are none."""
    from keisoku.subjects.line.responsiveness.measurement import outcomes_of, repliers_of
    from keisoku.subjects.line.responsiveness.plot import latency_plot
    from keisoku.subjects.line.responsiveness.rounds import MTU
    from keisoku.subjects.line.survey.analysis import analyse as analyse_outcomes

    settings = LineSettings.model_validate(directory.plan)
    mtu_bytes = int(directory.facts.get(MTU, 0))
    outcomes = outcomes_of(directory)
    result, curves = analyse_outcomes(
        settings, outcomes, repliers_of(directory), mtu_bytes, _clocks(directory), _nat(directory)
    )
    return Findings([result], [latency_plot(curves)] if curves else [])


def _clocks(directory: RunDirectory) -> Clocks | None:
    import pyarrow.compute as pc

    from keisoku.subjects.line.responsiveness.probing import DELAYS
    from keisoku.subjects.line.survey.analysis import Clocks

    rows = directory.rows(DELAYS, ["answers", "near_synchronised", "far_synchronised"])
    rows = rows.filter(pc.greater(rows["answers"], 0))
    if not rows.num_rows:
        return None
    near, far = (bool(pc.min(rows[f"{end}_synchronised"]).as_py()) for end in ("near", "far"))
    return Clocks(near, far)


def _nat(directory: RunDirectory) -> Nat | None:
    """None where it was not looked at."""
    from keisoku.subjects.line.survey.nat import Nat
    from keisoku.subjects.line.survey.nat_beside import ELSEWHERE
    from keisoku.subjects.path.nat.behaviour import behaviour
    from keisoku.subjects.path.nat.observation import TABLE, Observation

    rows = directory.rows(TABLE).to_pylist() if directory.parts(TABLE) else []
    if not rows and ELSEWHERE not in directory.facts:
        return None
    return Nat(behaviour(Observation(**row) for row in rows), int(directory.facts.get(ELSEWHERE, 0)))


def _seconds(settings: LineSettings) -> float:
    own = settings.responsiveness()
    return sum(takes_s(own, one) for one in settings.plan()) + _FIND_S + _END_S


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("A line in one minute"),
    settings=LineSettings,
    seconds=_seconds,
    shortens=("rounds", "duration_s", "ramp_s"),
    measure=measure,
    analyse=analyse,
    figure="capacity",
    units={
        **UNITS,
        "ns": f"{UNITS['ns']} timeout",
        "bit/s": f"{UNITS['bit/s']} tcp capacity",
        "byte": f"{UNITS['byte']} longest_packet",
        "%": f"{UNITS['%']} reordered",
        "ppm": "runs_fast",
    },
    summary="Measures the line to HOST, where 'keisoku stream serve' runs, in one minute, and summarises it.",
    help="""Measures capacity both ways, latency idle and under load, loss and order, the longest packet, and the clocks
    of both ends. It says which hop's queue adds the latency, what a NAT or firewall does with UDP, and for how long it
    keeps a binding. Most have a command of its own that measures it better, such as 'keisoku line responsiveness'.

    \b
    keisoku line survey 192.0.2.7
    keisoku line survey 192.0.2.7 --require 'added[both ways] < 60 ms' --require 'capacity[download] > 50 Mb/s'""",
    from_afar=lambda values: None,
)
