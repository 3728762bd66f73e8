"""Drives the methods of a plan: on an engine, storing every trial, or on the recorded trials of a run.

The only place that connects a method and an engine. Recorded trials are replayed into the methods first: in this way a
run is resumed, and its results are computed again. It prints nothing and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import Protocol

from keisoku.device.calibration.bias import Bias
from keisoku.device.engine.engine import Engine, FrameSink, Progress
from keisoku.device.method.method import begin
from keisoku.device.plan.plan import Plan
from keisoku.device.record.capabilities import Capabilities
from keisoku.device.record.trial import Facts, Trial, TrialRecord
from keisoku.device.record.trial_log import TrialLog
from keisoku.device.record.validity import reasons
from keisoku.errors import EngineError, PlanError
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result

_STREAMS = 4096
"""Stream numbers reserved for a trial: the largest number of streams that a plan may have on a port."""
LOOK_S = 0.1
"""Interval at which the progress of a trial is read; no measured value depends on it."""


class Unobserved:
    """An observer that does nothing."""

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """Does nothing."""

    def trial_progress(self, progress: Progress) -> None:
        """Does nothing."""

    def trial_finished(self, record: TrialRecord) -> None:
        """Does nothing."""


class Observer(Protocol):
    """Receives the runner's progress, for a terminal or an API."""

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """A trial begins."""

    def trial_progress(self, progress: Progress) -> None:
        """A trial is under way."""

    def trial_finished(self, record: TrialRecord) -> None:
        """A trial ended and is on the disk."""


def run(plan: Plan, engine: Engine, bias: Bias, directory: RunDirectory, observer: Observer) -> None:
    """Carries out all the plan's methods in order; trials that the directory holds are not measured again.

    Raises KeyboardInterrupt after stopping the engine if interrupted; finished trials are kept.
    """
    plan.check(engine.capabilities)
    log = TrialLog(directory)
    log.repair()
    trials = _Trials(plan, engine, log, observer, iter(log.records()))
    proceed(plan, engine.capabilities, bias, trials.carry_out)


def results_of(plan: Plan, capabilities: Capabilities, bias: Bias, records: Sequence[TrialRecord]) -> list[Result]:
    """Results from recorded trials: one for each method whose trials are all there.

    Raises PlanError for trials that the plan does not ask for.
    """
    recorded = iter(records)

    def recall(index: int, method: str, trial: Trial) -> TrialRecord:
        record = next(recorded, None)
        if record is None:
            raise _NoMoreTrials
        return _same(record, index, method, trial)

    return proceed(plan, capabilities, bias, recall)


def proceed(
    plan: Plan, capabilities: Capabilities, bias: Bias, carry_out: Callable[[int, str, Trial], TrialRecord]
) -> list[Result]:
    """Drives the methods until they end, or until there are no more trials; `carry_out` gives the record of each.

    Results are those of the methods that ended.
    """
    results: dict[str, Result] = {}
    index = 0
    for name in plan.methods:
        method = begin(name, plan, capabilities, bias, results)
        reply: TrialRecord | None = None
        while True:
            try:
                trial = method.send(reply)  # type: ignore[arg-type]  # a fresh generator takes None
            except StopIteration as stop:
                results[name] = stop.value
                break
            try:
                reply = carry_out(index, name, trial)
            except _NoMoreTrials:
                return list(results.values())
            index += 1
    return list(results.values())


class _NoMoreTrials(Exception):
    """There are no more recorded trials."""


def _same(record: TrialRecord, index: int, method: str, trial: Trial) -> TrialRecord:
    """The record, if it is of this trial. Raises PlanError if not."""
    if (record.method, record.trial) != (method, trial):
        raise PlanError("run", f"recorded trial {index} is not the one that the plan asks for", "start a new run")
    return record


class _Trials:
    """Carries each trial out once: from the record if there is one, else on the engine."""

    def __init__(
        self,
        plan: Plan,
        engine: Engine,
        log: TrialLog,
        observer: Observer,
        recorded: Iterator[TrialRecord],
    ) -> None:
        self.plan, self.engine, self.log, self.observer = plan, engine, log, observer
        self.recorded = recorded

    def carry_out(self, index: int, method: str, trial: Trial) -> TrialRecord:
        old = next(self.recorded, None)
        if old is not None:
            return _same(old, index, method, trial)
        record = self._measure(index, method, trial)
        self.log.append(record)
        self.observer.trial_finished(record)
        return record

    def _measure(self, index: int, method: str, trial: Trial) -> TrialRecord:
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.observer.trial_started(index, method, trial)
        with ExitStack() as stack:
            frames = None
            if self.plan.frames:
                from keisoku.device.record.frames import FrameWriter  # Arrow takes a while to load

                frames = stack.enter_context(FrameWriter(self.log.frames_of(index), self.plan.frames_every))
            facts, engine_seconds = self._carry(index, trial, frames)
            if frames is not None:
                frames.finish(facts)
        return TrialRecord(
            index=index,
            method=method,
            trial=trial,
            facts=facts,
            started_at=started_at,
            engine_seconds=engine_seconds,
            invalid_because=reasons(trial, facts),
        )

    def _carry(self, index: int, trial: Trial, frames: FrameSink | None) -> tuple[Facts, float]:
        # Stream 0 is unused and 0xFFFF is that of the learning frames; a late frame of the last trial counts as
        # foreign.
        most = 0xFFFF - _STREAMS
        self.engine.start(trial, stream=index * _STREAMS % most + 1, seed=self.plan.seed + index, frames=frames)
        try:
            while not (progress := self.engine.wait(LOOK_S)).finished:
                self.observer.trial_progress(progress)
        except BaseException:
            self.engine.stop()
            with suppress(EngineError):
                self.engine.finish()
            raise
        return self.engine.finish()
