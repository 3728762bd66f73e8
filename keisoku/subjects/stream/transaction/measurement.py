"""`stream rr`, `stream crr` and `stream udp-rr` as entries of the table of measurements, but for what differs."""

from __future__ import annotations

from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from keisoku.errors import EngineError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.transaction.analysis import analyse as analyse_trials
from keisoku.subjects.stream.transaction.analysis import outcome
from keisoku.subjects.stream.transaction.near import carry_out_trial
from keisoku.subjects.stream.transaction.plot import latency_plot
from keisoku.subjects.stream.transaction.rows import FAILURES, TRANSACTIONS, TRIALS
from keisoku.subjects.stream.transaction.settings import TransactionSettings

_BETWEEN_S = 0.3
"""From the end of a trial to the start of the next, on two cores, besides opening connections."""
_OPENING_S = 0.0005
"""For each connection, on two cores."""
_Settings = TypeVar("_Settings", bound=TransactionSettings)


def transaction_measurement(kind: type[_Settings], title: str, summary: str, help_: str) -> Measurement[_Settings]:
    """The entry of a kind of transactions."""

    def analyse(directory: RunDirectory) -> Findings:
        """From a run's rows alone, finished or not. Raises PlanError if there are none."""
        settings = kind.model_validate(directory.plan)
        trials = {row["number"]: row for row in directory.rows(TRIALS).to_pylist()}
        found = []
        for part in directory.batches(TRANSACTIONS):
            # A part without the row of its trial is of a run that was killed between the two.
            if part["number"][0].as_py() in trials:
                found.append(outcome(part, trials[part["number"][0].as_py()]))
        result, curves = analyse_trials(settings, found)
        return Findings([result], [latency_plot(settings, curves)] if curves else [])

    return Measurement(
        name=f"stream {kind.kind}",
        title=title,
        settings=kind,
        seconds=_seconds,
        shortens=("repetitions", "duration_s"),
        measure=_measure,
        analyse=analyse,
        figure="p50",
        units={
            "requests/s": "requests",
            "ns": "p50 p90 p99 p99.9 median max mean",
            "%": "of_time",
            "": "answered failed connections",
        },
        same=("connections", "request_bytes", "response_bytes", "rate_rps", "poisson"),
        summary=summary,
        help=help_,
        resumes=True,
        from_afar=lambda values: None,
    )


def _measure(work: Work[_Settings]) -> None:
    """A trial to warm up, which is kept and does not count, and the others. Raises EngineError if none is answered."""
    settings = work.settings
    with StreamSession(settings.place, settings.port) as session:
        directory = work.directory
        first, counted = (0, 0) if directory is None else _held(directory)
        if directory is not None:
            work.begin({})
        for number in range(first, max(first, 1) + settings.repetitions - counted):
            rows, trial = carry_out_trial(session, settings.trial(number), number)
            _check(rows, settings.address)
            if directory is None:
                directory = work.begin({})
                directory.know(far=session.server)
            directory.append(TRANSACTIONS, rows)
            directory.append(TRIALS, trial)
            counted += number > 0
            _show(work.observer, rows)
            work.observer.came_to(
                counted,
                settings.repetitions,
                phrase("{counted} of {repetitions} trials", counted=counted, repetitions=settings.repetitions),
            )


def _held(directory: RunDirectory) -> tuple[int, int]:
    """The number after the last of the trials that a directory holds, complete or not, and how many of them count."""
    numbers = {
        table: [pc.max(part["number"]).as_py() for part in directory.batches(table, ["number"])]
        for table in (TRANSACTIONS, TRIALS)
    }
    last = max((number for found in numbers.values() for number in found), default=-1)
    return last + 1, sum(number > 0 for number in numbers[TRIALS])


def _show(observer: Observer, rows: pa.Table) -> None:
    """The mean time from the start of a transaction to its end, and the share of those that failed."""
    answered = rows.filter(pc.equal(rows["failure"], 0))
    took_ns = pc.mean(pc.subtract(answered["ended_ns"], answered["begun_ns"])).as_py()
    if rows.num_rows:
        observer.saw(loss_percent=100 * (1 - answered.num_rows / rows.num_rows), latency_ns=took_ns)


def _check(rows: pa.Table, address: str) -> None:
    """Raises EngineError if nothing was answered."""
    reasons = pc.value_counts(rows["failure"]).to_pylist()
    if any(one["values"] == 0 for one in reasons):
        return
    if not reasons:
        raise EngineError("no transaction was due in the time of a trial; give a longer --duration or a higher --rate")
    worst = FAILURES[max(reasons, key=lambda one: one["counts"])["values"]]
    raise EngineError(
        f"none of {rows.num_rows} transactions was answered by {address}: {worst}; check the path between both hosts"
    )


def _seconds(settings: TransactionSettings) -> float:
    """With the trial to warm up, where nothing fails."""
    return (settings.repetitions + 1) * (settings.duration_s + _BETWEEN_S + _OPENING_S * settings.connections)
