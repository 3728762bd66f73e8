"""Carries out the steps of a study, each in a run directory of its own, and compares the figures.

Prints nothing; the command does.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from keisoku.ground.entry import Work
from keisoku.ground.observer import Observer, PartObserver
from keisoku.ground.run.outcome import Outcome as RunOutcome
from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.device import SimulatedDevice, find_device, write_device
from keisoku.language import join_texts, phrase, plural
from keisoku.running.measurement.carry_out import carry_out as carry_out_run
from keisoku.running.measurement.dry_run import outlined as outlined_run
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import find
from keisoku.running.study.cell import Cell, cells
from keisoku.running.study.file import Step, Study
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.uri import without_scheme

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


def carry_out(study: Study, directory: Path, observer: Observer) -> Outcome:
    """Measures every step below `directory`. Raises PlanError or EngineError like any run."""
    device = find(DEVICE)
    runs: list[RunOutcome] = []
    results: dict[str, Result] = {}
    others = [(kind, step) for kind in _KINDS for step in getattr(study, kind)]
    count = len(study.step) + len(others)

    def watched(number: int, name: str) -> Observer:
        """The observer of a step, whose progress is that of the study."""
        said = phrase(
            "{study}: step {number} of {count}, {name}", study=study.name, number=number + 1, count=count, name=name
        )
        return PartObserver(observer, number, number + 1, count, said)

    for number, step in enumerate(study.step):
        path = directory / f"{study.name}-{step.name}"
        runs.append(carry_out_run(Work(device, _plan(step, path), path, observer=watched(number, step.name))))
        results[step.name] = runs[-1].results[-1]
    for number, (kind, other) in enumerate(others, len(study.step)):
        measure = getattr(import_module(f"keisoku.running.study.{kind}_step"), f"measure_{kind}")
        results[other.name] = measure(other, directory / f"{study.name}-{other.name}", watched(number, other.name))
    deviations = [
        f"{study.name}-{step.name}: {text}" for step in study.transfer for text in results[step.name].deviations
    ]
    return Outcome(study, cells(study, results), runs, [*study.note, *_differences(study), *deviations])


def outlined(study: Study) -> list[str]:
    """What would be measured: a sentence about the study, and one about each of its steps, as far as is known
    beforehand. Raises PlanError for what cannot be carried out."""
    device = find(DEVICE)
    said = [
        join_texts(": ", [join_texts("-", [study.name, step.name]), outlined_run(device, step.plan)[0]])
        for step in study.step
    ]
    said += [
        phrase(
            "{study}-{step}: on this host, with links of the lab (root); how long it takes is not known beforehand",
            study=study.name,
            step=step.name,
        )
        if kind != "system"
        else phrase("{study}-{step}: a simulated system", study=study.name, step=step.name)
        for kind in _KINDS
        for step in getattr(study, kind)
    ]
    steps = plural("{count} step", "{count} steps", count=len(said))
    return [phrase("{study}: {title}, {steps}", study=study.name, title=study.title, steps=steps), *said]


def device_of(step: Step) -> SimulatedDevice:
    """The step's simulated device, with the scatter of the experiment's samples. Raises PlanError if it is unknown."""
    found = find_device(without_scheme(step.plan.dut or ""))
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
        settings = step.plan.own(step.plan.methods[-1])
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
