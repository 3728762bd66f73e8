"""Carries out a plan for the command line: run directory, engine, progress, files, verdict, exit code."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console

from keisoku.calibration.bias import Bias
from keisoku.calibration.store import bias_for, keep
from keisoku.cli.progress import Display
from keisoku.cli.standard_output import told
from keisoku.engine.opening import open_engine
from keisoku.engine.port_capture import next_free
from keisoku.errors import KeisokuError
from keisoku.plan.criterion import Verdict
from keisoku.plan.criterion import parse as parse_criterion
from keisoku.plan.plan import Plan
from keisoku.record.context import host_context
from keisoku.record.directory import RunDirectory
from keisoku.record.result import Result
from keisoku.report import digits
from keisoku.report.csv import write_csv
from keisoku.report.html import render_html
from keisoku.report.text import print_results
from keisoku.runner import run

MEASURED, MISSED, FAILED = 0, 1, 2
"""Exit codes: every criterion met; a criterion missed; could not measure."""


def measure(
    plan: Plan, out: Path | None, as_json: bool, resume: RunDirectory | None = None
) -> tuple[int, list[Result]]:
    """Measures, writes the run directory, prints the result; the exit code and the results."""
    criteria = [parse_criterion(text, plan.methods) for text in plan.require]
    if resume is not None and plan.capture is not None:
        plan = plan.model_copy(update={"capture": next_free(plan.capture)})
    with ExitStack() as stack:
        engine = stack.enter_context(open_engine(plan, tell=_tell))
        bias = bias_for(plan, engine)
        context = (
            host_context()
            | engine.context()
            | {
                "calibration": _calibration(bias),
                "clocks": _clocks(bias),
                "seed": plan.seed,
                "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
        )
        directory = resume or RunDirectory.create(out or _default_directory(plan), plan, context)
        display = stack.enter_context(Display())
        try:
            results = run(plan, engine, bias, directory, display)
        except KeyboardInterrupt:
            raise KeisokuError(
                f"interrupted: finished trials are kept; continue with 'keisoku run --resume {directory.path}'"
            ) from None
        for result in results:
            if result.method == "calibrate" and result.rows:
                click.echo(f"calibration kept: {keep(result, engine, plan.calibrate.length_m)}", err=True)
    verdicts = [criterion.judge(results) for criterion in criteria]
    finished = directory.run()
    directory.write_text("report.html", render_html([finished], shown(verdicts)))
    try:
        write_csv(finished, directory.path)
    except OSError as error:
        raise directory.disk_error("*.csv", error) from error
    with told(directory.path):
        _print(results, verdicts, directory, as_json)
    return (MEASURED if all(verdict.met for verdict in verdicts) else MISSED), results


def shown(verdicts: list[Verdict]) -> list[tuple[str, bool, str]]:
    """Criteria as a report shows them: text, whether met, what was measured."""
    return [
        (verdict.text, verdict.met, digits.text(verdict.measured) if verdict.measured else "nothing")
        for verdict in verdicts
    ]


def _print(results: list[Result], verdicts: list[Verdict], directory: RunDirectory, as_json: bool) -> None:
    if as_json:
        click.echo(
            json.dumps(
                {
                    "run": str(directory.path),
                    "results": [result.model_dump(mode="json") for result in results],
                    "criteria": [
                        {"criterion": v.text, "met": v.met, "measured": v.measured and v.measured.model_dump()}
                        for v in verdicts
                    ],
                },
                indent=1,
            )
        )
        return
    print_results(results, Console())
    for text, met, measured in shown(verdicts):
        click.echo(f"{'met   ' if met else 'MISSED'}  {text}   (measured: {measured})")
    click.echo(f"report: {directory.path / 'report.html'}")


def _calibration(bias: Bias) -> dict[str, object] | None:
    """What was subtracted, for the record; None if nothing was."""
    if bias.calibration is None:
        return None
    return {
        "made_at": bias.calibration.made_at,
        "valid_for": bias.calibration.valid_for,
        "cable_m": bias.calibration.length_m,
        "cable_tolerance_m": bias.cable_tolerance_m,
        "sizes_byte": sorted({point.frame_bytes for point in bias.calibration.points}),
        "bias_ns": [
            min(point.bias_ns for point in bias.calibration.points),
            max(point.bias_ns for point in bias.calibration.points),
        ],
    }


def _clocks(bias: Bias) -> dict[str, object]:
    """How the ports' clocks are related, for the record, and what that adds to every uncertainty."""
    clocks = bias.clocks
    rate = {"rate": bias.rate.statement, "fast_ppb": bias.rate.fast * 1e9} if bias.rate.statement else {}
    if clocks.same_clock:
        return {"same_clock": True, **rate}
    return {**rate, "same_clock": False, "uncertainty_ns": clocks.uncertainty_ns(), "drift_ppb": clocks.drift_ppb}


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _default_directory(plan: Plan) -> Path:
    name = plan.dut or f"{plan.tx}-{plan.rx}"
    stem = (
        f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{re.sub(r'[^A-Za-z0-9]+', '-', Path(name).stem)}-{'-'.join(plan.methods)}"
    )
    path, number = Path("runs") / stem, 1
    while path.exists():
        number += 1
        path = Path("runs") / f"{stem}-{number}"
    return path
