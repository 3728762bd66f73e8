"""A step of a study in which clients request files of one or of many sizes from nginx, kept as a run of 'app load'.

The clients' lines limit them, so the number of bits that a request takes on the line is what decides their rate.
"""

from __future__ import annotations

from pathlib import Path

from keisoku.run.result import Result
from keisoku.study.file import WebStep
from keisoku.study.step import run_step
from keisoku.system.load.schedule import TOGETHER
from keisoku.system.simulated.model import ClientModel, log_normal_sizes


def measure_web(step: WebStep, path: Path) -> Result:
    """Measures and keeps the step. Raises PlanError where a lab is not possible."""
    files = ",".join(f"{size}:{share:g}" for size, share in sizes(step).items())
    outcome = run_step(
        "app load",
        path,
        target=[f"lab:system?clients={step.clients}&rates={step.line_bps}&file={files}"],
        concurrency=[step.concurrency],
        duration_s=step.duration_s,
        pattern=[TOGETHER],
        repetitions=step.repetitions,
        rest_s=0.5,
    )
    return with_line(outcome.results[0], step)


def sizes(step: WebStep) -> dict[int, float]:
    """Whole bytes with their shares."""
    if not step.size_variation:
        return {step.mean_bytes: 1.0}
    found: dict[int, float] = {}
    for size, share in log_normal_sizes(step.mean_bytes, step.size_variation, step.sizes):
        found[round(size)] = found.get(round(size), 0.0) + share
    return found


def with_line(result: Result, step: WebStep) -> Result:
    """`of_line` is the rate that the requests of a client should take on its line, in percent of the line.

    By the model of an answer of simulated systems, which knows headers, frames and the distribution of sizes.
    """
    mean = round(sum(size * share for size, share in sizes(step).items()))
    client = ClientModel("client", step.concurrency, step.line_bps, mean, sizes=tuple(sizes(step).items()))
    rows = []
    for row in result.rows:
        if (requests := row.figures.get("requests")) and row.case.partition(",")[0] != "all":
            share = requests.scaled(100 * client.answer_bits / step.line_bps, "%")
            row = row.model_copy(update={"figures": {**row.figures, "of_line": share}})
        rows.append(row)
    return result.model_copy(update={"rows": rows})
