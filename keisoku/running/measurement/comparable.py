"""Whether runs can be compared: they need the same measurements, the same sizes, traffic and loads, and valid rows.

It raises PlanError where a comparison would be wrong, and names settings and properties of the machines that differ. It
compares nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.result import Result
from keisoku.language import phrase

_SAID = ("require", "about", "seed", "host", "dut", "system", "tx", "rx", "ports")
"""Settings that name what was measured, or on which no figure depends: differences are not reported."""
_LOADS = ("_fps",)
"""Endings of the names of settings that are loads."""
_MACHINE = ("cpu", "cpus")
"""On another machine, figures are other ones for that reason alone."""
_TOLD = ("host", "kernel", "system", "governor", "clock_source", "python", "engine", "versions")
"""May be what is compared, and may be why figures differ: a difference is said."""


def common_results(runs: Sequence[Outcome], names: Sequence[str], same: bool = False) -> list[str]:
    """Names of results that all runs have; with `same`, all must have exactly the same ones. Raises PlanError."""
    found = [list(dict.fromkeys(result.measurement for result in run.results)) for run in runs]
    common = [name for name in found[0] if all(name in others for others in found)]
    different = next((index for index, others in enumerate(found) if sorted(others) != sorted(found[0])), None)
    if not common or (same and different is not None):
        other = different if different is not None else len(runs) - 1
        raise PlanError(
            "runs",
            f"{names[0]} measured {_listed(found[0])} and {names[other]} {_listed(found[other])}",
            "compare runs of the same measurement",
        )
    return common


def check_settings(
    runs: Sequence[Outcome], names: Sequence[str], results: Sequence[str], same: Sequence[str]
) -> list[str]:
    """Sentences about settings that differ. Raises PlanError for different sizes, traffic or loads, and where one of
    `same` differs."""
    first, notes = runs[0].directory.plan, []
    for run, name in zip(runs[1:], names[1:], strict=True):
        plan = run.directory.plan
        for key in same:
            _check(key, first.get(key), plan.get(key), names[0], name)
        groups = [("", _plain(first), _plain(plan))]
        groups += [(f"{each}.", _settings(first, each), _settings(plan, each)) for each in results]
        for prefix, one, other in groups:
            for setting in sorted({*one, *other} - {*same, *_SAID}):
                value, counterpart = one.get(setting), other.get(setting)
                if setting.endswith(_LOADS):
                    _check(f"{prefix}{setting}", value, counterpart, names[0], name)
                elif value != counterpart:
                    notes.append(
                        phrase(
                            "{prefix}{setting}: {value} of {one}, {counterpart} of {other}",
                            prefix=prefix,
                            setting=setting,
                            value=value,
                            one=names[0],
                            counterpart=counterpart,
                            other=name,
                        )
                    )
    return notes


def check_machine(name: str, then: Mapping[str, Any], now: Mapping[str, Any], remedy: str) -> None:
    """Raises PlanError if `name`, with the context `then`, was measured on another machine than `now`."""
    for key in _MACHINE:
        if then.get(key) != now.get(key):
            what = f"{key}: {_text(then.get(key))} then, {_text(now.get(key))} now"
            raise PlanError("--against", f"{name} was measured on another machine ({what})", remedy)


def machine_notes(runs: Sequence[Outcome], names: Sequence[str]) -> list[str]:
    """Sentences about machines, versions and engines that differ from the first run's."""
    return [
        phrase(
            "{key} is {value} for {one} and {counterpart} for {other}: a difference may come from it.",
            key=key,
            value=value,
            one=names[0],
            counterpart=counterpart,
            other=name,
        )
        for run, name in zip(runs[1:], names[1:], strict=True)
        for key, value, counterpart in differences_of_machines(runs[0].directory.context, run.directory.context)
    ]


def differences_of_machines(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What differs of all that two contexts say: its name, and both values as texts."""
    found = []
    for key in (*_MACHINE, *_TOLD):
        if key not in one or key not in other:  # of results that others published
            continue
        mine, its = one[key], other[key]
        if isinstance(mine, Mapping) and isinstance(its, Mapping):
            parts = [(f"{key}.{part}", mine.get(part), its.get(part)) for part in sorted({*mine, *its})]
        else:
            parts = [(key, mine, its)]
        found += [
            (name, _text(value), _text(counterpart)) for name, value, counterpart in parts if value != counterpart
        ]
    return found


def _text(value: object) -> str:
    return phrase("not known") if value is None else str(value)


def result_of(run: Outcome, name: str) -> Result:
    """The run's result of one measurement."""
    return next(result for result in run.results if result.measurement == name)


def check_valid(name: str, result: Result) -> None:
    """Raises PlanError if a row is invalid."""
    for row in result.rows:
        if row.invalid:
            place = f"{row.frame_bytes}-byte frames" if row.frame_bytes else row.case
            trial = "" if row.trial is None else f" invalid trial {row.trial}"
            raise PlanError(
                "runs",
                f"in {name} the {result.measurement} of {place} rests on{trial} ({row.invalid})",
                "measure again at a load that the tester can offer",
            )


def _plain(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings of the whole run, without those of single results."""
    return {name: value for name, value in plan.items() if not isinstance(value, Mapping)}


def _settings(plan: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = plan.get(name)
    return found if isinstance(found, Mapping) else {}


def _check(field: str, one: object, other: object, name: str, counterpart: str) -> None:
    if one != other:
        raise PlanError(
            "runs", f"{field} differs: {one} of {name}, {other} of {counterpart}", "measure both with the same plan"
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
