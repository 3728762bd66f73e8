"""Carries out a plan: drives each method on an engine, keeps every trial, collects the results.

The only place where a method and an engine meet. Recorded trials are replayed into the methods
first, which is how a run is resumed; it prints nothing (that is the observer's) and decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import Protocol

from keisoku.device.calibration.bias import Bias
from keisoku.device.engine.engine import Engine, FrameSink, Progress
from keisoku.device.method.table import begin
from keisoku.device.plan.plan import Plan
from keisoku.device.record.trial import Facts, Trial, TrialRecord
from keisoku.device.record.validity import reasons
from keisoku.errors import EngineError, PlanError
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result

_STREAMS = 4096
"""Numbers set aside for a trial's streams: the most that a plan may have on a port."""
LOOK_S = 0.1
"""How often a running trial is looked at; nothing measured depends on it."""


class Observer(Protocol):
    """Sees what the runner does, as it happens: a terminal, an API."""

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """A trial begins."""

    def trial_progress(self, progress: Progress) -> None:
        """A trial is under way."""

    def trial_finished(self, record: TrialRecord) -> None:
        """A trial ended and is on the disk."""


def run(plan: Plan, engine: Engine, bias: Bias, directory: RunDirectory, observer: Observer) -> list[Result]:
    """Results of all the plan's methods in order.

    Raises KeyboardInterrupt after stopping the engine if interrupted; finished trials are kept.
    """
    plan.check(engine.capabilities)
    directory.repair()
    recorded = iter(directory.records())
    trials = _Trials(plan, engine, directory, observer, recorded)
    results: dict[str, Result] = {}
    for name in plan.methods:
        method = begin(name, plan, engine.capabilities, bias, results)
        reply: TrialRecord | None = None
        while True:
            try:
                trial = method.send(reply)  # type: ignore[arg-type]  # a fresh generator takes None
            except StopIteration as stop:
                results[name] = stop.value
                break
            reply = trials.carry_out(name, trial)
    directory.finish(list(results.values()))
    return list(results.values())


class _Trials:
    """Numbers trials and carries each out once: from the record if there is one, else on the engine."""

    def __init__(
        self,
        plan: Plan,
        engine: Engine,
        directory: RunDirectory,
        observer: Observer,
        recorded: Iterator[TrialRecord],
    ) -> None:
        self.plan, self.engine, self.directory, self.observer = plan, engine, directory, observer
        self.recorded = recorded
        self.count = 0

    def carry_out(self, method: str, trial: Trial) -> TrialRecord:
        index = self.count
        self.count += 1
        old = next(self.recorded, None)
        if old is not None:
            if (old.method, old.trial) != (method, trial):
                raise PlanError(
                    "resume", f"recorded trial {index} is not the one that the plan asks for now", "start a new run"
                )
            return old
        record = self._measure(index, method, trial)
        self.directory.append(record)
        self.observer.trial_finished(record)
        return record

    def _measure(self, index: int, method: str, trial: Trial) -> TrialRecord:
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.observer.trial_started(index, method, trial)
        with ExitStack() as stack:
            frames = None
            if self.plan.frames:
                from keisoku.device.record.frames import FrameWriter  # Arrow takes a while to load

                frames = stack.enter_context(FrameWriter(self.directory.frames_of(index), self.plan.frames_every))
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
        # Streams 0 and 0xFFFF are nobody's and the learning frames'; a stale frame of the last trial is foreign.
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
