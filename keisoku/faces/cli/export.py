"""`keisoku export`: a finished run, or its comparison with an earlier one, in a form that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.margin import margin_option, margins_of
from keisoku.faces.cli.out_file import write_out
from keisoku.ground.run.comparison import Judged
from keisoku.ground.run.names import names_of
from keisoku.running.measurement.carry_out import findings_of, load, page
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.regression import judged_against

FORMATS = ("junit", "markdown", "annotations", "openmetrics", "hdrhistogram", "pdf")


@click.command("export")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="form of the text")
@click.option(
    "--against", metavar="RUN", type=click.Path(path_type=Path), help="earlier run, to which figures are compared"
)
@margin_option
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="file to write (default: standard output)")
def command(
    run: Path,
    form: Literal["junit", "markdown", "annotations", "openmetrics", "hdrhistogram", "pdf"],
    against: Path | None,
    margins: tuple[str, ...],
    out: Path | None,
) -> None:
    """Writes RUN as a test report, a summary, annotations, metrics or histograms, for other programs.

    \b
    junit         XML that CI systems read
    markdown      a summary for GitHub and GitLab
    annotations   errors and warnings of GitHub Actions
    openmetrics   figures for Prometheus
    hdrhistogram  a log of HdrHistogram with the latencies of all trials of a device
    pdf           the report on paper, to sign: two pages and appendices; Chromium makes it

    A criterion that is not met, a regression, and a measurement that gave nothing are failures; what was not measured
    is skipped. The exit code is 0 in any case: the command that measured or compared has already said it.

    \b
    keisoku export runs/today --format junit --out keisoku.xml
    keisoku export runs/today --against runs/release --margin 5% --format markdown >> "$GITHUB_STEP_SUMMARY"
    """
    if against is None and margins:
        raise PlanError("--margin", "there is nothing to compare with", "add --against, or leave it out")
    if against is not None and form in ("openmetrics", "hdrhistogram", "pdf"):
        raise PlanError("--against", f"{form} has no comparison", "leave it out, or use another format")
    found = load(run)
    if form == "pdf":
        from keisoku.ground.report.paper import printed

        if out is None:
            raise PlanError("--out", "a PDF is no text for a terminal", "name a file, such as --out report.pdf")
        html = page([(found.directory, findings_of(found.directory))], found.verdicts, paper=True)
        write_out(out, printed(html))
        return
    name = names_of([found.directory], [found.results])[0]
    if form == "openmetrics":
        from keisoku.ground.report.openmetrics import measured, openmetrics

        text = openmetrics([measured(found.directory)])
    elif form == "hdrhistogram":
        from keisoku.subjects.device.record.trial_log import TrialLog
        from keisoku.subjects.device.report.hdr_log import hdr_log

        if found.directory.measurement != DEVICE:
            problem = f"{run} holds a run of {found.directory.measurement}"
            raise PlanError("--format", problem, "give a run of a device, whose trials have latencies")
        text = hdr_log(TrialLog(found.directory).records())
    else:
        from keisoku.ground.report.check import checks
        from keisoku.ground.report.github import markdown, workflow_commands
        from keisoku.ground.report.junit import junit

        judged: list[Judged] = []
        if against is not None:
            judged, _, _ = judged_against([found, load(against)], [str(run), str(against)], margins_of(margins))
        listed = checks(found.results, found.verdicts, judged)
        if form == "junit":
            sentences = [result.sentence for result in found.results if result.sentence]
            text = junit(name, listed, sentences, found.directory.about)
        else:
            text = (markdown if form == "markdown" else workflow_commands)(name, found.results, listed)
    if out is None:
        click.echo(text.encode(), nl=False)  # UTF-8 for programs, whatever this terminal has
    else:
        write_out(out, text)
