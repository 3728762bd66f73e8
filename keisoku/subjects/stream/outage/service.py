"""`outage service` as an entry of the table of measurements: interruptions of a service that answers by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.host.container import namespace_of
from keisoku.ground.host.place import Place
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.settings import argument
from keisoku.language import phrase, plural
from keisoku.subjects.device.analysis.outage import Between
from keisoku.subjects.stream.outage.analysis import Ends, FlowOutcome, Interruption, Outcome
from keisoku.subjects.stream.outage.course import Course
from keisoku.subjects.stream.outage.figures import UNITS, interruption_lines, result_of
from keisoku.subjects.stream.outage.plot import outage_plots
from keisoku.subjects.stream.outage.probing import ANSWERED, Probing, Question
from keisoku.subjects.stream.outage.settings import CourseSettings, refuse_from_afar
from keisoku.subjects.stream.outage.target import Target

NAME = "outage service"
TABLE = "questions"
WAY = "round trip"
_KEPT = 500
"""Questions that are kept on the disk together."""
_BUCKETS = 500


class ServiceSettings(CourseSettings):
    """Settings of one measurement of a service."""

    target: str = argument()
    """What is asked: icmp:HOST, stamp:HOST, dns:HOST, tcp:HOST:PORT (a connection each time), http://HOST/PATH
    or grpc://HOST:PORT/SERVICE/METHOD (without a method: the standard health check)."""
    namespace: str = ""
    """Network namespace from which the service is asked."""
    interval_s: float = Field(0.05, ge=0.002, le=60)
    """Time from one question to the next; the ends of an interruption are known to this."""
    wait_s: float = Field(0.5, gt=0, le=60)
    """Time to wait for an answer; one that comes later counts as none."""


def measure(work: Work[ServiceSettings]) -> None:
    """Asks while the course goes on. Raises EngineError if the host is not known, or a command fails."""
    settings = work.settings
    target = Target.parse(settings.target)
    Place(target.host, namespace_of(settings.namespace) or None).inside(lambda: _measure(work, target))


def _measure(work: Work[ServiceSettings], target: Target) -> None:
    settings = work.settings
    probing = Probing(target, settings.interval_s, settings.wait_s)
    kept: list[Question] = []
    good = bad = 0
    try:
        directory = work.begin({})
        with Course(settings) as course:

            def keep(questions: list[Question]) -> None:
                nonlocal good, bad
                kept.extend(questions)
                good += sum(one.outcome == ANSWERED for one in questions)
                bad += sum(one.outcome != ANSWERED for one in questions)
                elapsed_s = work.elapsed_s()
                said = plural("{count} answer", "{count} answers", count=good)
                said = phrase("{answers}, {bad} missing", answers=said, bad=bad)
                work.observer.came_to(elapsed_s, max(settings.length_s or 0.0, elapsed_s), said)
                if len(kept) >= _KEPT:
                    directory.append(TABLE, _table(kept))
                    kept.clear()

            probing.run(course.is_over, keep)
            marks = course.marks
        directory.append(TABLE, _table(kept))
        stops, skipped = probing.stops, probing.skipped
        directory.know(
            begun_ns=probing.begun_ns,
            asked=probing.questions,
            skipped=skipped,
            stops=stops,
            marks=marks,
            addresses=probing.addresses,
        )
    finally:
        probing.close()


def _table(questions: list[Question]) -> pa.Table:
    columns = ("number", "due_ns", "asked_ns", "done_ns", "outcome", "address")
    return pa.table({name: pa.array([int(getattr(one, name)) for one in questions], pa.int64()) for name in columns})


def outcome_of_questions(rows: Mapping[str, Any], facts: Mapping[str, Any], interval_ns: float) -> Outcome:
    """What the questions of a run say: columns of int64, times in ns of CLOCK_MONOTONIC."""
    number, asked, done = (np.asarray(rows[name], np.int64) for name in ("number", "asked_ns", "done_ns"))
    answered = np.asarray(rows["outcome"]) == ANSWERED
    begun_ns = int(facts.get("begun_ns", asked[0] if len(asked) else 0))
    stops = [tuple(stop) for stop in facts.get("stops", ())]
    address = np.asarray(rows.get("address", np.zeros(len(number))), np.int64)  # of earlier versions: always one
    found = list(_interruptions(asked, answered, address, begun_ns, stops))
    delays = (done - asked)[answered].astype(np.float64)
    times = (asked - begun_ns)[answered].astype(np.float64)
    skipped = sum(last - first + 1 for first, last in facts.get("skipped", ()))
    flow = FlowOutcome(
        flow=0,
        local="",
        sent=len(number),
        received=int(answered.sum()),
        lost=int((~answered).sum()),
        duplicated=0,
        reordered=0,
        held=0,
        unlisted=0,
        interruptions=found,
    )
    longest = max((until - since for since, until in stops), default=0)
    away = max((last - first + 1 for first, last in facts.get("skipped", ())), default=0)
    near = Ends(len(stops), float(longest), skipped, skipped * interval_ns, away * interval_ns, (), (), {})
    marks = [
        {**mark, "begun_ns": mark["begun_ns"] - begun_ns, "ended_ns": mark["ended_ns"] - begun_ns}
        for mark in facts.get("marks", ())
    ]
    length_ns = float(asked[-1] - begun_ns) if len(asked) else 0.0
    return Outcome(
        begun_ns, length_ns, interval_ns, {WAY: [flow]}, {"near": near}, {WAY: _buckets(times, delays)}, marks
    )


def _interruptions(asked: Any, answered: Any, address: Any, begun_ns: int, stops: list[Any]) -> Any:
    """Questions without an answer in a row. Nobody knows on which of both ways they or their answers were lost."""
    edges = np.flatnonzero(np.diff(np.concatenate(([True], answered, [True])).astype(np.int8)))
    for first, behind in zip(edges[::2], edges[1::2], strict=True):
        since = [float(time) - begun_ns for time in (asked[max(0, first - 1)], asked[first], asked[behind - 1])]
        begin = Between.from_ends(since[0], since[1])
        back = float(asked[behind]) - begun_ns if behind < len(asked) else math.inf
        end = Between.from_ends(since[2], back)
        length = end.since(begin).at_least(0.0)
        moved = first > 0 and behind < len(asked) and address[first - 1] != address[behind]
        away = any(stop[0] - begun_ns <= since[1] and stop[1] - begun_ns >= since[2] for stop in stops)
        yield Interruption(
            WAY,
            0,
            begin,
            end,
            length,
            int(behind - first),
            0,
            "near host" if away else "path",
            "never" if behind == len(asked) else "another address" if moved else "answered again",
            None,
            None,
        )


def _buckets(times: Any, delays: Any) -> Any:
    """Least, mean and largest time to an answer, above the least of all, in intervals of time."""
    if not len(times):
        return times, np.zeros((0, 3))
    place = np.minimum((times / (times[-1] + 1) * _BUCKETS).astype(int), _BUCKETS - 1)
    rows = [(times[place == one], delays[place == one]) for one in np.unique(place)]
    least = float(delays.min())
    table = np.array([(own.min(), own.mean(), own.max()) for _, own in rows]) - least
    return np.array([float(at.mean()) for at, _ in rows]), table


def analyse(directory: RunDirectory) -> Findings:
    """From a run's rows alone, finished or not. Raises PlanError if there are none."""
    settings = ServiceSettings.model_validate(directory.plan)
    rows = directory.rows(TABLE)
    columns = {name: rows[name].to_numpy() for name in rows.column_names}
    found = outcome_of_questions(columns, directory.facts, settings.interval_s * 1e9)
    result = result_of(found, settings, NAME, phrase("interruptions of {target}", target=settings.target))
    said = phrase("which of both ways was interrupted, or whether the service itself, cannot be known from here")
    result = result.model_copy(update={"remarks": [*result.remarks, said]})
    return Findings([result], outage_plots(found), {"interruptions": interruption_lines(found)})


def _from_afar(values: Mapping[str, Any]) -> None:
    """Raises PlanError for what would be the server's."""
    refuse_from_afar({**values, "markers": values.get("markers") or values.get("namespace")})


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Interruptions of a service"),
    settings=ServiceSettings,
    seconds=lambda settings: None if settings.length_s is None else settings.length_s + settings.wait_s,
    shortens=("duration_s", "watch_s"),
    measure=measure,
    analyse=analyse,
    figure="interruption",
    units=UNITS,
    same=("target", "interval_s"),
    summary="Measures for how long TARGET does not answer: a ping, a STAMP reflector, DNS, TCP, HTTP or gRPC.",
    help="""Nothing is needed at the other end. Which of both directions was interrupted is not known then.

    \b
    keisoku outage service icmp:192.0.2.7 --while './upgrade.sh' --budget 2s
    keisoku outage service http://192.0.2.7:8080/health --duration 1h --markers /tmp/marks
    keisoku outage service grpc://192.0.2.7:50051 --while './upgrade.sh'""",
    from_afar=_from_afar,
)
