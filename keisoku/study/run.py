"""Carries out the steps of a study, each in a run directory of its own, and compares the figures.

Prints nothing; the command does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from keisoku.device.plan.plan import Plan
from keisoku.device.runner import Observer
from keisoku.measurement.carry_out import Outcome as RunOutcome
from keisoku.measurement.carry_out import carry_out as carry_out_run
from keisoku.measurement.table import DEVICE, find
from keisoku.simulated_device.device import SimulatedDevice, find_device, write_device
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
    runs: list[RunOutcome]
    """Of the steps on devices."""
    notes: list[str]
    """Differences from the experiment."""


def carry_out(study: Study, directory: Path, observer: Observer) -> Outcome:
    """Measures every step below `directory`. Raises PlanError or EngineError like any run."""
    device = find(DEVICE)
    runs = [
        carry_out_run(device, _plan(step, path), path, observer=observer)
        for step in study.step
        for path in [directory / f"{study.name}-{step.name}"]
    ]
    results = {step.name: run.results[-1] for step, run in zip(study.step, runs, strict=True)}
    results |= {step.name: measure_path(step, directory / f"{study.name}-{step.name}") for step in study.path}
    results |= {step.name: measure_stream(step, directory / f"{study.name}-{step.name}") for step in study.stream}
    results |= {step.name: measure_transfer(step, directory / f"{study.name}-{step.name}") for step in study.transfer}
    if study.load:
        from keisoku.study.load_step import measure_load  # what loads is loaded by nothing else

        results |= {one.name: measure_load(one, directory / f"{study.name}-{one.name}") for one in study.load}
    if study.web:
        from keisoku.study.web_step import measure_web  # likewise

        results |= {one.name: measure_web(one, directory / f"{study.name}-{one.name}") for one in study.web}
    if study.system:
        from keisoku.study.system_step import measure_system  # likewise: what searches and simulates

        results |= {one.name: measure_system(one, directory / f"{study.name}-{one.name}") for one in study.system}
    deviations = [
        f"{study.name}-{step.name}: {text}" for step in study.transfer for text in results[step.name].deviations
    ]
    return Outcome(study, cells(study, results), runs, [*study.note, *_differences(study), *deviations])


def device_of(step: Step) -> SimulatedDevice:
    """The step's simulated device, with the scatter of the experiment's samples. Raises PlanError if it is unknown."""
    found = find_device((step.plan.dut or "").removeprefix("sim:"))
    return found if step.scatter is None else found.model_copy(update={"scatter": step.scatter})


def _plan(step: Step, path: Path) -> Plan:
    """The step's plan; with scatter, of a copy of its device that has it, in a file beside the run's directory."""
    if step.scatter is None:
        return step.plan
    described = path.with_name(f"{path.name}.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_device(described, device_of(step))
    return step.plan.model_copy(update={"dut": f"sim:{described}"})


def _differences(study: Study) -> list[str]:
    """Settings that are not those of the experiment, each once with its steps."""
    said: dict[str, list[str]] = {}
    for step in study.step:
        settings = getattr(step.plan, step.plan.methods[-1])
        for name, theirs in step.experiment.items():
            ours = getattr(settings, name)
            if ours != theirs:
                said.setdefault(f"{name} is {ours}; in the experiment it is {theirs}", []).append(step.name)
    every = len(study.step)
    return [
        f"{study.name}: {text}" + ("" if len(steps) == every else f" ({', '.join(steps)})")
        for text, steps in said.items()
    ]
