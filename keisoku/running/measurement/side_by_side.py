"""Runs of the same measurement side by side: which figure of which run is better, and which cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.report.comparison import in_short, ranking_json, side_by_side
from keisoku.ground.report.finding import Finding
from keisoku.ground.run.comparison import compare, figures_by_key
from keisoku.ground.run.outcome import Outcome
from keisoku.language import phrase, plural
from keisoku.running.measurement.comparable import check_settings, common_results, machine_notes, result_of
from keisoku.running.measurement.table import find

_SIZES = "frame_bytes"


def side_by_side_findings(
    runs: Sequence[Outcome], names: Sequence[str]
) -> tuple[list[Finding], list[Finding], dict[str, Any]]:
    """The findings for a page, the shorter ones for a terminal, and their values. Of runs of different frame sizes they
    are those of the sizes that the runs have in common.

    Raises PlanError for runs that cannot be compared.
    """
    results = common_results(runs, names)
    entry = find(runs[0].directory.measurement)
    alike = len({_sizes(run) for run in runs}) == 1
    # Sizes in another order are said as any other harmless difference.
    same = [setting for setting in entry.same if setting != _SIZES]
    notes = [*check_settings(runs, names, results, same), *machine_notes(runs, names)]
    if not alike:
        notes.append(phrase("Only sizes that the runs have in common are compared, and no figure of a whole run."))
    of_all = [note for note in notes if not note.startswith(tuple(f"{name}." for name in results))]
    full, short, answer = [], [], []
    for name in results:
        found = [result_of(run, name) for run in runs]
        left_out = [sum(bool(row.invalid) for row in result.rows) for result in found]
        said = [
            plural(
                "{each}: {count} row of invalid trials is left out",
                "{each}: {count} rows of invalid trials are left out",
                each=each,
                count=count,
            )
            for each, count in zip(names, left_out, strict=True)
            if count
        ]
        tables = [figures_by_key(result) for result in found]
        # A line through other sizes is another line.
        rankings = [ranking for ranking in compare(tables) if alike or ranking.key is not None]
        if not rankings:
            raise PlanError("runs", f"no two runs have a usable figure of {name}", "measure again with the same plan")
        own = [note for note in notes if note.startswith(f"{name}.")] + (of_all if name == results[0] else [])
        title = found[0].title or name
        full.append(
            side_by_side(
                name, title, names, [result.line if alike else None for result in found], rankings, [*said, *own]
            )
        )
        short.append(in_short(full[-1], entry.figure_of(name, runs[0].directory.plan)))
        answer.append({"measurement": name, "figures": [ranking_json(ranking, names) for ranking in rankings]})
    return full, short, {"runs": list(names), "measurements": answer, "notes": notes}


def _sizes(run: Outcome) -> frozenset[object]:
    found = run.directory.plan.get(_SIZES)
    return frozenset(found if isinstance(found, list) else [found])
