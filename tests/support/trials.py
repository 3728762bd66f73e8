"""Trials of tests: the one maker of their records, and trials that are repeated while the tester was disturbed.

A host with other guests stops any thread for 20 to 100 ms at any moment. What a test then does again is decided by what
the tester says of itself alone (`device/record/validity.py`, how late its threads woke), never by what the device did.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest

from keisoku.ground.run.result import Result
from keisoku.subjects.device.engine.engine import Engine, FrameSink
from keisoku.subjects.device.method.method import Method
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import disturbed, reasons

ATTEMPTS = 30
"""Where stalls are so frequent that three trials of four are spoiled, one in 5000 is given up."""
CALM_ATTEMPTS = 8
"""Trials that a calm host may see spoiled: a stall may fall between what the tester watches."""
HICCUP_NS = 2_000_000
"""A thread that only sleeps wakes sooner on a calm host."""
Spoiled = Callable[[Trial, Facts], bool]
"""Whether the tester itself was disturbed so much that a trial is to be repeated."""


def of_no_use(trial: Trial, facts: Facts) -> bool:
    """The tester did not do what it should. Mere signs that others wanted the CPU are no reason: counts are right."""
    return bool(reasons(trial, facts.model_copy(update={"interference": None})))


def incomplete(trial: Trial, facts: Facts) -> bool:
    """Not every frame was offered, or some were dropped between the port and the account."""
    meant = sum(trial.frames_of(transmitter.port) for transmitter in facts.transmitters)
    return facts.sent.offered_frames != meant or facts.tester_dropped_frames > 0


def later_than(limit_ns: int) -> Spoiled:
    """Incomplete, or a thread on one of the CPUs woke later than this: a queue ran full, a latency is the host's."""
    return lambda trial, facts: incomplete(trial, facts) or lateness_ns(facts) > limit_ns


def lateness_ns(facts: Facts) -> int:
    """How late a thread that only slept woke at most, on any CPU; also how late the sender was."""
    cores = facts.interference.cores if facts.interference else []
    return max([facts.sent.lag_max_ns, *(core.lateness.max_ns for core in cores if core.lateness)])


def hindered(facts: Facts) -> bool:
    """The host took CPUs from the tester: others ran there, or threads that only slept woke late."""
    cores = facts.interference.cores if facts.interference else []
    late = any(core.lateness and core.lateness.max_ns > HICCUP_NS for core in cores)
    return late or (facts.interference is not None and bool(disturbed(facts.interference)))


def never(trial: Trial, facts: Facts) -> bool:
    """Whatever happened, the trial is used."""
    return False


def carried(
    engine: Engine,
    trial: Trial,
    again: Spoiled = incomplete,
    *,
    stream: int = 1,
    streams: int = 0,
    seed: int = 0,
    sink: Callable[[], FrameSink | None] = lambda: None,
) -> tuple[Facts, float]:
    """Facts and seconds of a trial; done again while it is spoiled, with numbers `streams` higher and a new sink.

    Skips the test by name if all of `ATTEMPTS` were spoiled and the host is seen to have had a hand in each; fails if
    one was spoiled on a calm host.
    """
    calm = 0
    for attempt in range(ATTEMPTS):
        engine.start(trial, stream=stream + attempt * streams, seed=seed, frames=sink())
        facts, seconds = engine.finish()
        if not again(trial, facts):
            return facts, seconds
        calm += not hindered(facts)
        assert calm < CALM_ATTEMPTS, f"spoiled on a calm host: {reasons(trial, facts)}, {lateness_ns(facts)} ns late"
    pytest.skip(f"the host disturbed {ATTEMPTS} trials running: {reasons(trial, facts)}")


def without_interference(_: int, __: Trial, facts: Facts) -> Facts:
    """For `drive`: other programs may delay a frame here; counts, and times with their bounds, are what is tested."""
    return facts.model_copy(update={"interference": None})


def record_of(trial: Trial, facts: Facts, *, index: int = 0, method: str = "test", seconds: float = 0.0) -> TrialRecord:
    """The record that the runner would make of it."""
    return TrialRecord(
        index=index,
        method=method,
        trial=trial,
        facts=facts,
        started_at="",
        engine_seconds=seconds,
        invalid_because=reasons(trial, facts),
    )


def drive(
    name: str,
    method: Method,
    engine: Engine,
    again: Spoiled = never,
    *,
    seed: Callable[[int], int] = lambda index: 1,
    streams: int = 64,
    change: Callable[[int, Trial, Facts], Facts] = lambda index, trial, facts: facts,
    first: int = 0,
    most: int | None = None,
) -> tuple[Result | None, list[TrialRecord]]:
    """Result and records of a method that was begun, as the runner would have them; or its first `most` trials alone.

    Each trial, and each repetition of one, gets `streams` numbers of its own, unless that is 0. `change` may say
    something else of what the tester did. `first` is the number of the first record.
    """
    records: list[TrialRecord] = []
    numbers = count(1, streams)
    reply: TrialRecord | None = None
    while most is None or len(records) < most:
        try:
            trial = method.send(reply)  # type: ignore[arg-type]  # a fresh generator takes None
        except StopIteration as stop:
            return stop.value, records
        index = first + len(records)
        facts, seconds = carried(engine, trial, again, stream=next(numbers), streams=streams, seed=seed(index))
        reply = record_of(trial, change(index, trial, facts), index=index, method=name, seconds=seconds)
        records.append(reply)
    return None, records
