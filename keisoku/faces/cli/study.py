"""`keisoku study`: repeats a published experiment and compares its figures with the published ones.

Exit codes: 0 every cell agrees or an explanation was not refuted, 1 one differs without such, 2 could not measure.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisoku.errors import KeisokuError, PlanError
from keisoku.faces.cli.amount import PLAIN, VERBOSE, amount
from keisoku.faces.cli.columns import columns
from keisoku.faces.cli.outcome import DRY_RUN, is_dry_run, say
from keisoku.faces.cli.watching import watching
from keisoku.ground.run.directory import free_path
from keisoku.language import join_texts, phrase, plural, translated

if TYPE_CHECKING:
    from keisoku.running.study.run import Outcome


@click.command("study")
@click.argument("name", metavar="STUDY", required=False)
@click.option("--out", type=click.Path(path_type=Path), help="directory to make (default: runs/DATE-study-STUDY)")
@click.option("--json", "as_json", is_flag=True, help="print every cell as JSON on standard output")
@DRY_RUN
@VERBOSE
@PLAIN
def command(name: str | None, out: Path | None, as_json: bool) -> None:
    """Repeats a published experiment and prints its figures beside the published ones.

    Most studies use simulated devices; e2, e5 and e4-bulk use this host and links of the lab, which needs root.

    STUDY is an experiment (e1), a part of one (e1-l2), or a study file; without STUDY, all studies are listed.

    \b
    keisoku study e1-l2
    keisoku study e3 --out runs/e3
    """
    from keisoku.running.study.file import find_studies, shipped  # with every measurement that a study may contain

    if name is None:
        rows = [(study.name, study.title, study.source) for study in shipped().values()]
        click.echo(columns(("study", "about", "published by"), rows))
        return
    if is_dry_run():
        from keisoku.running.study.run import outlined

        say([line for study in find_studies(name) for line in outlined(study)], as_json)
        return
    from rich.console import Console

    from keisoku.faces.cli.summary import Summary, print_summary, report_line
    from keisoku.ground.report.finding import print_findings
    from keisoku.running.measurement.carry_out import findings_of, page
    from keisoku.running.study.report import (
        VERDICT,
        cell_table,
        study_findings,
        study_json,
        study_verdicts,
        write_study_csv,
    )
    from keisoku.running.study.run import carry_out

    studies = find_studies(name)
    directory = out or free_path(f"study {Path(name).stem}")
    if (directory / "study.json").exists():
        raise PlanError("--out", f"{directory} already holds a study", "choose another directory")
    with watching() as display:
        try:
            outcomes = [carry_out(study, directory, display) for study in studies]
        except KeyboardInterrupt:
            raise KeisokuError(f"interrupted: finished runs are kept in {directory}") from None
    findings = [finding for outcome in outcomes for finding in study_findings(outcome)]
    notes = [note for outcome in outcomes for note in outcome.notes]
    title = phrase("Study {name}: {title}", name=name, title=join_texts(", ", (study.title for study in studies)))
    runs = [run.directory for outcome in outcomes for run in outcome.runs]
    # Steps on a path have their own page in their directories.
    report = directory / "study.html" if runs else directory
    answer = study_json(outcomes) | {"report": str(report)}
    try:
        if runs:
            measured = [(run, findings_of(run)) for run in runs]
            noted = [*findings[:-1], findings[-1].with_notes(notes)]
            report.write_text(page(measured, findings=noted, title=title), encoding="utf-8")
        write_study_csv(outcomes, directory / "study.csv")
        (directory / "study.json").write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise KeisokuError(f"study: cannot write in {directory}: {error.strerror}; choose another --out") from error
    if as_json:
        click.echo(json.dumps(answer, indent=1))
    elif amount().verbose:
        print_findings(findings, Console())
        for note in notes:
            click.echo(translated(phrase("note: {note}", note=note)))
        click.echo(translated(report_line(report)))
    else:
        table = cell_table(outcomes)
        more = sum(len(finding.tables) for finding in findings) - len(findings)
        explanations = {one.text for outcome in outcomes for cell in outcome.cells for one in cell.explained}
        counts = [*([_explained(len(explanations))] if explanations else []), *([_noted(len(notes))] if notes else [])]
        print_summary(
            Summary([title, *study_verdicts(outcomes)], str(report), (), table, VERDICT, more, counts), Console()
        )
    sys.exit(_code(outcomes))


def _explained(count: int) -> str:
    return plural("{count} explanation", "{count} explanations", count=count)


def _noted(count: int) -> str:
    return plural("{count} note", "{count} notes", count=count)


def _code(outcomes: list[Outcome]) -> int:
    from keisoku.running.study.cell import FAILED

    return int(any(cell.agreement in FAILED for outcome in outcomes for cell in outcome.cells))
