"""Measuring, and reading what was measured, from Python. Returns `Measured`; prints nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from keisoku.api.asking import plan_of
from keisoku.api.measured import Measured
from keisoku.device.engine.engine import Progress
from keisoku.device.measurement import carry_out
from keisoku.device.plan.plan import Plan
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.device.runner import Observer
from keisoku.errors import PlanError
from keisoku.run.criterion import parse as parse_criterion
from keisoku.run.directory import RunDirectory


def measure(
    *what: str | Plan, out: Path | str | None = None, observer: Observer | None = None, **settings: Any
) -> Measured:
    """Measures and returns what was found: `ks.measure("throughput", dut="sim:gs908e", frame_bytes=64)`.

    `what` is one or several methods (names of docs/procedures.md), or a `Plan`. `settings` are the keys of a plan:
    `dut` ("lab:bridge", "sim:gs908e") or the ports `tx` and `rx` ("xdp:eth1", "packet:eth1@NAMESPACE",
    "fpga:/dev/ttyUSB0#0"), `frame_bytes` (a size, sizes, "64-1518:64", "imix"), and of a single method its own
    settings, such as `trial_s` and `rate_fps`. `out` is the directory of the run, by default a new one in `runs`;
    `observer` sees each trial as it begins, goes on and ends.

    Raises PlanError, naming the setting, for what cannot be measured as it is asked, and EngineError if a port fails.
    """
    plans = [each for each in what if isinstance(each, Plan)]
    methods = tuple(each for each in what if isinstance(each, str))
    if plans and (methods or settings or len(plans) > 1):
        raise PlanError("plan", "is not all that is given", "give a plan alone, or methods and settings")
    plan = plans[0] if plans else plan_of(methods, settings)
    found = carry_out(plan, _watching(observer), None if out is None else Path(out))
    return Measured(found.directory.run(), tuple(found.verdicts))


def resume(run: Path | str, observer: Observer | None = None) -> Measured:
    """Finishes a run that was cut off: recorded trials are not measured again. Raises as `measure` does."""
    directory = RunDirectory(Path(run))
    found = carry_out(directory.plan(), _watching(observer), resume=directory)
    return Measured(found.directory.run(), tuple(found.verdicts))


def load(run: Path | str) -> Measured:
    """What a finished run found, by its directory. Raises PlanError if there is none."""
    directory = RunDirectory(Path(run))
    found, plan = directory.run(), directory.plan()
    criteria = [parse_criterion(text, plan.methods) for text in plan.require]
    return Measured(found, tuple(criterion.judge(found.results) for criterion in criteria))


class _Nobody:
    """Looks away."""

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """Nothing."""

    def trial_progress(self, progress: Progress) -> None:
        """Nothing."""

    def trial_finished(self, record: TrialRecord) -> None:
        """Nothing."""


@contextmanager
def _watching(observer: Observer | None) -> Iterator[Observer]:
    yield observer or _Nobody()
