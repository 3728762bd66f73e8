"""A run against an earlier one of the same device: every figure that both have, judged by its margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keisoku.errors import PlanError
from keisoku.ground.run.comparison import Judged, Key, figures_by_key, judge
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.statistics.difference import Margin
from keisoku.running.measurement.comparable import (
    check_machine,
    check_settings,
    check_valid,
    common_results,
    machine_notes,
    result_of,
)
from keisoku.running.measurement.table import find


def judged_against(
    both: Sequence[Outcome], names: Sequence[str], margins: Mapping[str, Margin]
) -> tuple[list[Judged], list[tuple[str, Key | None, str]], list[str]]:
    """The new run and the old one: the figures that both have, the measurement, row and name of those that only one
    has, and sentences about settings that differ.

    `margins` by figure, '' for all others. Raises PlanError for runs that cannot be compared.
    """
    results = common_results(both, names, same=True)
    notes = check_settings(both, names, results, find(both[0].directory.measurement).same)
    new_context, old_context = (run.directory.context for run in both)
    remedy = "measure both on one machine, or leave out --against, and see them side by side"
    check_machine(names[1], old_context, new_context, remedy)
    notes += machine_notes(both, names)
    devices = [str(run.directory.context.get("device", "")) for run in both]
    if devices[0] != devices[1]:
        raise PlanError("--against", f"it is a run of {devices[1]}, not of {devices[0]}", "leave out --against")
    judged: list[Judged] = []
    lacking: list[tuple[str, Key | None, str]] = []
    for name in results:
        found = [result_of(run, name) for run in both]
        for place, result in zip(names, found, strict=True):
            check_valid(place, result)
        new, old = (figures_by_key(result) for result in found)
        some, only_one = judge(name, new, old, margins, margins.get("", Margin()))
        judged += some
        lacking += [(name, *each) for each in only_one]
    unknown = sorted(set(margins) - {"", *(one.figure for one in judged)})
    if unknown:
        known = ", ".join(dict.fromkeys(one.figure for one in judged))
        raise PlanError("--margin", f"there is no figure '{unknown[0]}' in these runs", f"use one of {known}")
    if all(one.change == "cannot be judged" for one in judged):
        raise PlanError(
            "runs", "no figure has a known uncertainty, so none can be judged", "calibrate the tester before both runs"
        )
    return judged, lacking, notes
