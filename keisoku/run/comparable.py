"""Whether runs may be compared, and what of each may be: the same methods, sizes and traffic, on valid trials.

Raises where a comparison would say something false; settings that differ harmlessly are named. Compares nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.errors import PlanError
from keisoku.run.result import Result, Row
from keisoku.run.run import Run

_TRAFFIC = ("frame_bytes", "mix", "headers", "modify", "pacing", "streams", "stream", "pattern")
"""Keys of a plan that say what the device was given."""


def common_methods(runs: Sequence[Run], names: Sequence[str], same: bool = False) -> list[str]:
    """Methods that all runs have results of; with `same`, all must have exactly the same ones. Raises PlanError."""
    found = [list(dict.fromkeys(result.method for result in run.results)) for run in runs]
    common = [method for method in found[0] if all(method in methods for methods in found)]
    different = next((index for index, methods in enumerate(found) if sorted(methods) != sorted(found[0])), None)
    if not common or (same and different is not None):
        other = different if different is not None else len(runs) - 1
        raise PlanError(
            "runs",
            f"{names[0]} measured {_said(found[0])} and {names[other]} {_said(found[other])}",
            "compare runs of the same method",
        )
    return common


def check_traffic(runs: Sequence[Run], names: Sequence[str], methods: Sequence[str]) -> list[str]:
    """Sentences about settings that differ. Raises PlanError for different sizes, traffic or loads."""
    first, notes = runs[0].plan, []
    for run, name in zip(runs[1:], names[1:], strict=True):
        for key in _TRAFFIC:
            _same(key, first.get(key), run.plan.get(key), names[0], name)
        for method in methods:
            one, other = _settings(first, method), _settings(run.plan, method)
            for setting in sorted({*one, *other}):
                value, counterpart = one.get(setting), other.get(setting)
                if setting.endswith("_fps"):
                    _same(f"{method}.{setting}", value, counterpart, names[0], name)
                elif value != counterpart:
                    notes.append(f"{method}.{setting}: {value} of {names[0]}, {counterpart} of {name}")
    return notes


def result_of(run: Run, method: str) -> Result:
    """What the run found with one method."""
    return next(result for result in run.results if result.method == method)


def invalid_rows(run: Run, result: Result) -> list[Row]:
    """Rows that rest on a trial in which the tester itself fell short."""
    invalid = {record.index for record in run.records if not record.valid}
    return [row for row in result.rows if row.trial in invalid]


def check_valid(run: Run, name: str, result: Result) -> None:
    """Raises PlanError if a row rests on an invalid trial."""
    for row in invalid_rows(run, result)[:1]:
        record = next(record for record in run.records if record.index == row.trial)
        raise PlanError(
            "runs",
            f"in {name} the {result.method} of {row.frame_bytes}-byte frames rests on invalid trial {record.index}"
            f" ({'; '.join(record.invalid_because)})",
            "measure again at a load that the tester can offer",
        )


def _settings(plan: Mapping[str, Any], method: str) -> Mapping[str, Any]:
    found = plan.get(method)
    return found if isinstance(found, Mapping) else {}


def _same(field: str, one: object, other: object, name: str, counterpart: str) -> None:
    if one != other:
        raise PlanError(
            "runs", f"{field} differs: {one} of {name}, {other} of {counterpart}", "measure both with the same plan"
        )


def _said(methods: Sequence[str]) -> str:
    return ", ".join(methods) or "nothing"
