"""Drives the methods of a plan: on an engine, storing every trial, or on the recorded trials of a run.

The only place that connects a method and an engine. Recorded trials are replayed into the methods first: in this way a
run is resumed, and its results are computed again. It prints nothing and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from math import inf
from typing import Protocol, runtime_checkable

from keisoku.errors import EngineError, PlanError
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.seed import mixed
from keisoku.language import phrase, plural
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.engine import Engine, FrameSink, Progress
from keisoku.subjects.device.method.method import begin, so_far
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NoMoreTrials, Trial
from keisoku.subjects.device.record.trial_log import TrialLog
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import reasons

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


@runtime_checkable
class TrialObserver(Protocol):
    """Receives the runner's progress, for a terminal or an API."""

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """A trial begins."""

    def trial_progress(self, progress: Progress) -> None:
        """A trial is under way."""

    def trial_finished(self, record: TrialRecord) -> None:
        """A trial ended and is on the disk."""


CarryOut = Callable[[int, str, Trial], TrialRecord]
"""The record of the trial of this index that the method of this name asks for. Raises NoMoreTrials."""


def run(
    plan: Plan,
    engine: Engine,
    bias: Bias,
    directory: RunDirectory,
    observer: TrialObserver,
    elapsed_s: Callable[[], float] = lambda: 0.0,
    plan_of: Callable[[str, float], Plan] | None = None,
) -> bool:
    """Carries out all the plan's methods in order; trials that the directory holds are not measured again.

    `plan_of` gives the plan of a method, by its name and the seconds that are left of the time, as it begins.
    False if the time of the plan (`within_s`) did not suffice: no trial begins that would end after it. That time is
    the engine's, which is virtual for simulated devices, or what `elapsed_s` says if that is more.
    Raises KeyboardInterrupt after stopping the engine if interrupted; finished trials are kept.
    """
    check_ability(plan, engine.capabilities)
    log = TrialLog(directory)
    log.repair()
    trials = _Trials(plan, engine, log, observer, log.records(), elapsed_s)
    own = None if plan_of is None else lambda name: plan_of(name, trials.left_s())
    return len(proceed(plan, engine.capabilities, bias, trials.carry_out, own)) == len(plan.methods)


def results_of(
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    records: Sequence[TrialRecord],
    ended: str = "",
    plans: Mapping[str, Plan] | None = None,
) -> list[Result]:
    """Results from recorded trials, one for each method. Of a method whose trials are not all there, they are those of
    the frame sizes that are; rows of the others say so.

    `ended` is why no more was measured, if that is known: then methods without any finished size have a result as
    well. `plans` are those of methods that have one of their own. Raises PlanError for trials that the plan does not
    ask for.
    """

    def recall(index: int, method: str, trial: Trial) -> TrialRecord:
        if index >= len(records):
            raise NoMoreTrials
        return _same(records[index], index, method, trial)

    results: dict[str, Result] = {}
    index = 0
    for name in plan.methods:
        own = own_plan(plans or {}, name, plan)
        try:
            results[name], index = _driven(name, own, capabilities, bias, results, recall, index)
        except NoMoreTrials:
            part = _finished_sizes(name, own, capabilities, bias, results, recall, index, ended)
            if part is not None:
                results[name] = part
            if not ended:
                break
            index = len(records)
    return list(results.values())


def _finished_sizes(
    name: str,
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    earlier: Mapping[str, Result],
    recall: CarryOut,
    index: int,
    ended: str,
) -> Result | None:
    """What a method found for the sizes whose trials are all there: it is asked again, for those alone."""
    sizes = plan.frame_bytes
    found, measured = None, 0
    for count in range(len(sizes) - 1, 0, -1):
        fewer = plan.model_copy(update={"frame_bytes": sizes[:count]})
        # A method that looks at all sizes together asks for other trials than those of the whole plan.
        with suppress(NoMoreTrials, PlanError):
            found, _ = _driven(name, fewer, capabilities, bias, earlier, recall, index, len(sizes))
            measured = count
            break
    with suppress(NoMoreTrials):
        part, _ = _driven(name, plan, capabilities, bias, earlier, recall, index, cut=True)
        found = part if part.rows else found
    if found is None and not ended:
        return None
    why = ended or phrase("the run was ended before")
    found = found or Result(measurement=name, rows=[])
    said = plural(
        "{why}: {measured} of {count} size was measured",
        "{why}: {measured} of {count} sizes were measured",
        why=why,
        measured=measured,
        count=len(sizes),
    )
    rows = [Row(frame_bytes=size, figures={}, remark=why) for size in sizes[measured:]]
    return found.model_copy(update={"rows": [*found.rows, *rows], "remarks": [*found.remarks, said]})


def proceed(
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    carry_out: CarryOut,
    plan_of: Callable[[str], Plan] | None = None,
) -> list[Result]:
    """Drives the methods until they end, or until there are no more trials; `carry_out` gives the record of each.

    `plan_of` gives the plan of a method as it begins, if that is not `plan` without its time. Results are those of the
    methods that ended.
    """
    results: dict[str, Result] = {}
    index = 0
    for name in plan.methods:
        try:
            own = own_plan({}, name, plan) if plan_of is None else plan_of(name)
            results[name], index = _driven(name, own, capabilities, bias, results, carry_out, index)
        except NoMoreTrials:
            break
    return list(results.values())


def own_plan(plans: Mapping[str, Plan], name: str, plan: Plan) -> Plan:
    """The plan of a method: its own one, whose `within_s` is the method's time, or the run's, whose time is not."""
    return plans[name] if name in plans else plan.model_copy(update={"within_s": None})


def _driven(
    name: str,
    plan: Plan,
    capabilities: Capabilities,
    bias: Bias,
    earlier: Mapping[str, Result],
    carry_out: CarryOut,
    index: int,
    sizes: int | None = None,
    cut: bool = False,
) -> tuple[Result, int]:
    """The result of one method, whose first trial has this index, and the index after its last. Raises NoMoreTrials; if
    `cut`, only of a method that has nothing by itself before its end."""
    method = begin(name, plan, capabilities, bias, earlier, sizes)
    reply: TrialRecord | None = None
    while True:
        try:
            trial = method.send(reply)  # type: ignore[arg-type]  # a fresh generator takes None
            reply = carry_out(index, name, trial)
            index += 1
        except StopIteration as stop:
            return stop.value, index
        except NoMoreTrials as over:
            if not cut:
                raise
            return so_far(method, over), index


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
        observer: TrialObserver,
        recorded: Sequence[TrialRecord],
        elapsed_s: Callable[[], float],
    ) -> None:
        self.plan, self.engine, self.log, self.observer = plan, engine, log, observer
        self.recorded = recorded
        self.before_s = sum(record.engine_seconds for record in recorded)
        self.engine_s, self.elapsed_s = 0.0, elapsed_s
        self.longer_s = 0.0
        """By how much the last trial took longer than its phases: a busy host is slow to count and to keep it."""

    def carry_out(self, index: int, method: str, trial: Trial) -> TrialRecord:
        if index < len(self.recorded):
            return _same(self.recorded[index], index, method, trial)
        if trial.seconds + self.longer_s > self.left_s():
            raise NoMoreTrials
        begun_s = self.elapsed_s()
        record = self._measure(index, method, trial)
        self.engine_s += record.engine_seconds
        self.log.append(record)
        self.observer.trial_finished(record)
        self.longer_s = max(0.0, self.elapsed_s() - begun_s - trial.seconds)
        return record

    def left_s(self) -> float:
        """What is left of the plan's time; infinite without one."""
        if self.plan.within_s is None:
            return inf
        return self.plan.within_s - self.before_s - max(self.engine_s, self.elapsed_s())

    def _measure(self, index: int, method: str, trial: Trial) -> TrialRecord:
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.observer.trial_started(index, method, trial)
        with ExitStack() as stack:
            frames = None
            if self.plan.frames or trial.changes is not None:
                from keisoku.subjects.device.record.frames import FrameWriter  # Arrow takes a while to load

                frames = stack.enter_context(
                    FrameWriter(self.log.frames_of(index), self.plan.frames_every, trial.changes == "changed")
                )
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
        self.engine.start(trial, stream=index * _STREAMS % most + 1, seed=mixed(self.plan.seed, index), frames=frames)
        try:
            while not (progress := self.engine.wait(LOOK_S)).finished:
                self.observer.trial_progress(progress)
        except BaseException:
            self.engine.stop()
            with suppress(EngineError):
                self.engine.finish()
            raise
        return self.engine.finish()
