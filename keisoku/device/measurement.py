"""Carries out a plan from end to end: engine, bias, run directory, methods, verdicts. Prints nothing.

What the command, the Python API and the server have in common; each shows in its own way what came of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from keisoku.device.calibration.bias import Bias
from keisoku.device.calibration.store import bias_for, keep
from keisoku.device.engine.port_capture import next_free
from keisoku.device.plan.plan import Plan
from keisoku.device.plan_testbed import open_engine
from keisoku.device.runner import Observer, run
from keisoku.errors import KeisokuError
from keisoku.host.context import host_context
from keisoku.run.criterion import Verdict
from keisoku.run.criterion import parse as parse_criterion
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result

RUNS = Path("runs")
"""Where runs are kept that are given no directory."""


@dataclass(frozen=True)
class Measurement:
    """A finished run, and whether it met what the plan requires."""

    directory: RunDirectory
    results: list[Result]
    verdicts: list[Verdict]


def carry_out(
    plan: Plan,
    watching: AbstractContextManager[Observer],
    out: Path | None = None,
    resume: RunDirectory | None = None,
    tell: Callable[[str], None] = lambda line: None,
    begun: Callable[[RunDirectory], None] = lambda directory: None,
) -> Measurement:
    """Measures into the directory `out` (default: a new one in `runs`), or goes on with `resume`.

    `watching` sees the trials; `tell` is given what the user must know beside them, and `begun` the directory as soon
    as there is one. Raises PlanError for what cannot be measured as it is asked, EngineError if a port fails, and
    KeisokuError when interrupted, saying how to go on.
    """
    criteria = [parse_criterion(text, plan.methods) for text in plan.require]
    if resume is not None and plan.capture is not None:
        plan = plan.model_copy(update={"capture": next_free(plan.capture)})
    with ExitStack() as stack:
        engine = stack.enter_context(open_engine(plan, tell=tell))
        bias = bias_for(plan, engine)
        context = (
            host_context()
            | engine.context()
            | {
                "calibration": _calibration(bias),
                "clocks": _clocks(bias),
                "seed": plan.seed,
                "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        )
        directory = resume or RunDirectory.create(out or free_directory(plan), plan, context)
        begun(directory)
        observer = stack.enter_context(watching)
        try:
            results = run(plan, engine, bias, directory, observer)
        except KeyboardInterrupt:
            raise KeisokuError(
                f"interrupted: finished trials are kept; continue with 'keisoku run --resume {directory.path}'"
            ) from None
        for result in results:
            if result.method == "calibrate" and result.rows:
                tell(f"calibration kept: {keep(result, engine, plan.calibrate.length_m)}")
    return Measurement(directory, results, [criterion.judge(results) for criterion in criteria])


def free_directory(plan: Plan, folder: Path = RUNS) -> Path:
    """A directory in `folder` that is not there yet, named after the time, the device and the methods."""
    name = plan.dut or f"{plan.tx}-{plan.rx}"
    stem = (
        f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{re.sub(r'[^A-Za-z0-9]+', '-', Path(name).stem)}-{'-'.join(plan.methods)}"
    )
    path, number = folder / stem, 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}"
    return path


def _calibration(bias: Bias) -> dict[str, object] | None:
    """What was subtracted, for the record; None if nothing was."""
    if bias.calibration is None:
        return None
    return {
        "made_at": bias.calibration.made_at,
        "valid_for": bias.calibration.valid_for,
        "cable_m": bias.calibration.length_m,
        "cable_tolerance_m": bias.cable_tolerance_m,
        "sizes_byte": sorted({point.frame_bytes for point in bias.calibration.points}),
        "bias_ns": [
            min(point.bias_ns for point in bias.calibration.points),
            max(point.bias_ns for point in bias.calibration.points),
        ],
    }


def _clocks(bias: Bias) -> dict[str, object]:
    """How the ports' clocks are related, for the record, and what that adds to every uncertainty."""
    clocks = bias.clocks
    rate = {"rate": bias.rate.statement, "fast_ppb": bias.rate.fast * 1e9} if bias.rate.statement else {}
    if clocks.same_clock:
        return {"same_clock": True, **rate}
    return {**rate, "same_clock": False, "uncertainty_ns": clocks.uncertainty_ns(), "drift_ppb": clocks.drift_ppb}
