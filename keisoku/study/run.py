"""Carries out the steps of a study, each in a run directory of its own, and sets the figures beside each other.

Prints nothing; the command does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from keisoku.device.calibration.store import bias_for
from keisoku.device.plan_testbed import open_engine
from keisoku.device.runner import Observer, run
from keisoku.host.context import host_context
from keisoku.report.csv import write_csv
from keisoku.run.directory import RunDirectory
from keisoku.run.run import Run
from keisoku.study.cell import Cell, cells
from keisoku.study.file import Step, Study
from keisoku.study.path_step import measure_path
from keisoku.study.stream_step import measure_stream
from keisoku.study.transfer_step import measure_transfer


@dataclass(frozen=True)
class Outcome:
    """A study that was carried out."""

    study: Study
    cells: list[Cell]
    runs: list[Run]
    notes: list[str]
    """What was done in another way than in the experiment."""


def carry_out(study: Study, directory: Path, observer: Observer) -> Outcome:
    """Measures every step below `directory`. Raises PlanError or EngineError like any run."""
    runs = [_measure(step, directory / f"{study.name}-{step.name}", observer) for step in study.step]
    results = {step.name: run.results[-1] for step, run in zip(study.step, runs, strict=True)}
    results |= {step.name: measure_path(step, directory / f"{study.name}-{step.name}") for step in study.path}
    results |= {step.name: measure_stream(step, directory / f"{study.name}-{step.name}") for step in study.stream}
    results |= {step.name: measure_transfer(step, directory / f"{study.name}-{step.name}") for step in study.transfer}
    if study.load:
        from keisoku.study.load_step import measure_load  # what loads is loaded by nothing else

        results |= {one.name: measure_load(one, directory / f"{study.name}-{one.name}") for one in study.load}
    if study.system:
        from keisoku.study.system_step import measure_system  # likewise: what searches and simulates

        results |= {one.name: measure_system(one, directory / f"{study.name}-{one.name}") for one in study.system}
    return Outcome(study, cells(study, results), runs, [*study.note, *_differences(study)])


def _measure(step: Step, path: Path, observer: Observer) -> Run:
    plan = step.plan
    with open_engine(plan) as engine:
        context = host_context() | engine.context()
        context |= {
            "calibration": None,
            "seed": plan.seed,
            "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        directory = RunDirectory.create(path, plan, context)
        run(plan, engine, bias_for(plan, engine), directory, observer)
    finished = directory.run()
    write_csv(finished, path)
    return finished


def _differences(study: Study) -> list[str]:
    """Settings that are not those of the experiment, each once with its steps."""
    said: dict[str, list[str]] = {}
    for step in study.step:
        settings = getattr(step.plan, step.plan.methods[-1])
        for name, theirs in step.experiment.items():
            ours = getattr(settings, name)
            if ours != theirs:
                said.setdefault(f"{name} is {ours}, in the experiment {theirs}", []).append(step.name)
    every = len(study.step)
    return [
        f"{study.name}: {text}" + ("" if len(steps) == every else f" ({', '.join(steps)})")
        for text, steps in said.items()
    ]
