"""Carries out the steps of a study, each in a run directory of its own, and compares the figures.

Prints nothing; the command does.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.device import SimulatedDevice, find_device, write_device
from keisoku.language import phrase
from keisoku.running.measurement.carry_out import Outcome as RunOutcome
from keisoku.running.measurement.carry_out import carry_out as carry_out_run
from keisoku.running.measurement.table import DEVICE, find
from keisoku.running.study.cell import Cell, cells
from keisoku.running.study.file import Step, Study
from keisoku.running.study.step import Receivers
from keisoku.subjects.device.plan.plan import Plan

_KINDS = ("path", "stream", "transfer", "load", "web", "system")
"""Lists of steps of a study besides those on devices, in their order. Those of `load` are measured by `measure_load` of
`load_step.py`, which is imported with all that it loads when a study has such a step."""


@dataclass(frozen=True)
class Outcome:
    """A study that was carried out."""

    study: Study
    cells: list[Cell]
    runs: list[RunOutcome]
    """Of the steps on devices."""
    notes: list[str]
    """Differences from the experiment."""


def carry_out(study: Study, directory: Path, receivers: Receivers) -> Outcome:
    """Measures every step below `directory`. Raises PlanError or EngineError like any run."""
    device = find(DEVICE)
    runs: list[RunOutcome] = []
    results: dict[str, Result] = {}
    others = [(kind, step) for kind in _KINDS for step in getattr(study, kind)]
    count = len(study.step) + len(others)
    for number, step in enumerate(study.step):
        path = directory / f"{study.name}-{step.name}"
        within = _within(receivers, study, step.name, number, count)
        runs.append(carry_out_run(device, _plan(step, path), path, **within))
        results[step.name] = runs[-1].results[-1]
    for number, (kind, other) in enumerate(others, len(study.step)):
        within = _within(receivers, study, other.name, number, count)
        measure = getattr(import_module(f"keisoku.running.study.{kind}_step"), f"measure_{kind}")
        results[other.name] = measure(other, directory / f"{study.name}-{other.name}", within)
    deviations = [
        f"{study.name}-{step.name}: {text}" for step in study.transfer for text in results[step.name].deviations
    ]
    return Outcome(study, cells(study, results), runs, [*study.note, *_differences(study), *deviations])


def _within(receivers: Receivers, study: Study, name: str, number: int, count: int) -> Receivers:
    """The receivers of a step, whose progress is that of the study."""
    whole_came_to = receivers.get("came_to")
    if whole_came_to is None:
        return receivers
    said = phrase(
        "{study}: step {number} of {count}, {name}", study=study.name, number=number + 1, count=count, name=name
    )

    def came_to(done: float, whole: float, words: str) -> None:
        whole_came_to(number + (done / whole if whole else 0.0), count, f"{said}: {words}" if words else said)

    came_to(0.0, 1.0, "")
    return {**receivers, "came_to": came_to}


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
                said.setdefault(
                    phrase("{name} is {ours}; in the experiment it is {theirs}", name=name, ours=ours, theirs=theirs),
                    [],
                ).append(step.name)
    every = len(study.step)
    return [
        f"{study.name}: {text}" + ("" if len(steps) == every else f" ({', '.join(steps)})")
        for text, steps in said.items()
    ]
