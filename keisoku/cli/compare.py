"""`keisoku compare`: compares runs of the same measurement, or a run with an earlier one.

Reads finished runs and measures nothing. Exit codes: 0 compared, and no regression; 1 a regression; 2 not comparable.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from keisoku.analysis.difference import Margin
from keisoku.errors import KeisokuError, PlanError
from keisoku.measurement.carry_out import Outcome, findings_of, load, page
from keisoku.measurement.comparable import check_settings, check_valid, common_results, result_of
from keisoku.measurement.table import find
from keisoku.report.comparison import (
    changes_only,
    figure_name,
    in_short,
    judged_json,
    ranking_json,
    regression,
    side_by_side,
)
from keisoku.report.finding import Finding, print_findings
from keisoku.run.comparison import compare, figures_by_key, judge, regressions
from keisoku.run.criterion import figure_units
from keisoku.run.names import names_of
from keisoku.units import quantity

_MARGIN = re.compile(r"(?:([\w.]+)=)?(.+)")


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--against",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="earlier run of the same device, path, stream or system",
)
@click.option(
    "--margin",
    "margins",
    metavar="[FIGURE=]MARGIN",
    multiple=True,
    help="how much worse a figure may become: 5%, p99=10%, mean=200ns (default: 0%)",
)
@click.option("--out", type=click.Path(path_type=Path), help="HTML file to write")
@click.option("--json", "as_json", is_flag=True, help="print every verdict as JSON on standard output")
def command(
    runs: tuple[Path, ...], against: Path | None, margins: Sequence[str], out: Path | None, as_json: bool
) -> None:
    """Compares RUNS of the same measurement; or one run with an earlier one.

    Two figures differ only if their intervals value ± uncertainty do not overlap. A regression is a figure that is
    worse than before by more than the margin even after the uncertainty of the difference is subtracted. The exit code
    is 1 for a regression, and 2 for runs that cannot be compared.

    \b
    keisoku compare runs/gs908e runs/ax3630s --out both.html
    keisoku compare runs/today --against runs/release --margin 5% --margin p99=10%
    """
    if against is not None and len(runs) != 1:
        raise PlanError("--against", f"{len(runs)} runs are given", "compare one run with one earlier run")
    if against is None and len(runs) < 2:
        raise PlanError("runs", "there is nothing to compare", "give two runs or more, or --against an earlier one")
    if against is None and margins:
        raise PlanError("--margin", "has no meaning for devices side by side", "add --against, or leave it out")
    paths = [*runs, *([against] if against is not None else [])]
    found = [load(path) for path in paths]
    if against is None:
        names = names_of([run.directory for run in found], [run.results for run in found])
        findings, short, answer = _side_by_side(found, names)
        code = 0
    else:
        findings, answer = _regression(found, [str(path) for path in paths], _margins(margins))
        short, code = [changes_only(one) for one in findings], int(answer["regressions"] > 0)
    if out is not None:
        try:
            runs_shown = [(run.directory, findings_of(run.directory)) for run in found]
            out.write_text(page(runs_shown, findings=findings), encoding="utf-8")
        except OSError as error:
            raise KeisokuError(f"--out: cannot write {out}: {error.strerror}; choose another file") from error
    if as_json:
        click.echo(json.dumps(answer, indent=1))
    else:
        print_findings(short, Console())
        if out is not None:
            click.echo(f"report: {out}")
    sys.exit(code)


def _side_by_side(runs: Sequence[Outcome], names: Sequence[str]) -> tuple[list[Finding], list[Finding], dict[str, Any]]:
    """The findings for a page, the shorter ones for a terminal, and their values."""
    results = common_results(runs, names)
    notes = check_settings(runs, names, results)
    full, short, answer = [], [], []
    for name in results:
        found = [result_of(run, name) for run in runs]
        left_out = [sum(bool(row.invalid) for row in result.rows) for result in found]
        said = [
            f"{each}: {count} rows of invalid trials are left out"
            for each, count in zip(names, left_out, strict=True)
            if count
        ]
        rankings = compare([figures_by_key(result) for result in found])
        if not rankings:
            raise PlanError("runs", f"no two runs have a usable figure of {name}", "measure again with the same plan")
        own = [note for note in notes if note.startswith(f"{name}.") or len(results) == 1]
        title = found[0].title or name
        full.append(side_by_side(name, title, names, [result.line for result in found], rankings, [*said, *own]))
        short.append(in_short(full[-1], find(runs[0].directory.measurement).figure_of(name, runs[0].directory.plan)))
        answer.append({"measurement": name, "figures": [ranking_json(ranking, names) for ranking in rankings]})
    return full, short, {"runs": list(names), "measurements": answer, "notes": notes}


def _regression(
    both: Sequence[Outcome], names: Sequence[str], margins: Mapping[str, Margin]
) -> tuple[list[Finding], dict[str, Any]]:
    """Compares the new run with the old one."""
    results = common_results(both, names, same=True)
    notes = check_settings(both, names, results)
    devices = [str(run.directory.context.get("device", "")) for run in both]
    if devices[0] != devices[1]:
        raise PlanError("--against", f"it is a run of {devices[1]}, not of {devices[0]}", "leave out --against")
    judged, missing = [], []
    for name in results:
        found = [result_of(run, name) for run in both]
        for place, result in zip(names, found, strict=True):
            check_valid(place, result)
        new, old = (figures_by_key(result) for result in found)
        some, lacking = judge(name, new, old, margins, margins.get("", Margin()))
        judged += some
        missing += [figure_name(name, *place) for place in lacking]
    unknown = sorted(set(margins) - {"", *(one.figure for one in judged)})
    if unknown:
        known = ", ".join(dict.fromkeys(one.figure for one in judged))
        raise PlanError("--margin", f"there is no figure '{unknown[0]}' in these runs", f"use one of {known}")
    if all(one.change == "cannot be judged" for one in judged):
        raise PlanError(
            "runs", "no figure has a known uncertainty, so none can be judged", "calibrate the tester before both runs"
        )
    answer = {
        "new": names[0],
        "old": names[1],
        "regressions": len(regressions(judged)),
        "figures": [judged_json(one) for one in judged],
        "only_in_one": missing,
        "notes": notes,
    }
    return [regression(judged, missing, notes)], answer


def _margins(texts: Sequence[str]) -> dict[str, Margin]:
    """Margins by figure, '' for all others."""
    found: dict[str, Margin] = {}
    for text in texts:
        match = _MARGIN.fullmatch(text.replace(" ", ""))
        if match is None:
            raise PlanError("--margin", f"'{text}' is not a margin", "write 5%, p99=10% or mean=200ns")
        name, amount = match[1] or "", match[2]
        if amount.endswith("%"):
            value = Margin(share=quantity("--margin", amount, {"%": 0.01}))
        elif name:
            value = Margin(amount=quantity("--margin", amount, figure_units()))
        else:
            raise PlanError(
                "--margin", f"'{text}' has a unit that some figures do not have", "name the figure: mean=200ns"
            )
        if value.share < 0 or value.amount < 0:
            raise PlanError("--margin", f"'{text}' is negative", "give zero or more")
        if name in found:
            raise PlanError("--margin", f"there are two margins for {name or 'all figures'}", "give one")
        found[name] = value
    return found
