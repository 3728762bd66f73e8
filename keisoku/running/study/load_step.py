"""A step of a study in which clients send bulk TCP through a switch of the lab: alone, the slow ones, all.

It is kept as a run of 'system load --with stream' and knows no published figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keisoku.ground.host.thread_watch import STREAMS, Look, ThreadWatch
from keisoku.ground.observer import Observer
from keisoku.ground.run.result import Result
from keisoku.running.study.cpu_wanted import CPU, wanted_percent
from keisoku.running.study.file import LoadStep
from keisoku.running.study.step import run_step
from keisoku.running.study.truth import most_bps, with_share
from keisoku.subjects.system.load.analysis import group_title
from keisoku.subjects.system.load.rows import RUNS
from keisoku.subjects.system.load.schedule import ALONE, TOGETHER

MTU = 1500


def measure_load(step: LoadStep, path: Path, observer: Observer) -> Result:
    """Measures and keeps the step. Raises PlanError where a lab is not possible."""
    rates = ",".join([str(step.slow_bps)] * step.slow_clients + ["none"])
    line = "" if step.server_bps is None else f"&server-rate={step.server_bps}"
    slow = "+".join(f"client{number}" for number in range(1, step.slow_clients + 1))
    with ThreadWatch(STREAMS) as watch:
        outcome = run_step(
            "system load",
            path,
            observer,
            target=[f"lab:system?rates={rates}&servers={step.servers}{line}"],
            with_=step.by,
            duration_s=step.duration_s,
            pattern=[ALONE, slow, TOGETHER],
            repetitions=step.repetitions,
            rest_s=step.rest_s,
        )
    runs = outcome.directory.rows(RUNS).to_pylist()
    return with_cpus(with_lines(outcome.results[0], step), runs, watch.looks)


def with_cpus(result: Result, runs: Sequence[Mapping[str, Any]], looks: Sequence[Look]) -> Result:
    """`cpu` is the time in which streams wanted a CPU while a row's client sent, in %; `runs` are the raw rows."""
    spans: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for run in runs:
        spans.setdefault((group_title(run["pattern"]), run["client"]), []).append((run["began_ns"], run["ended_ns"]))
    rows = []
    for row in result.rows:
        cpu = wanted_percent(looks, spans.get((row.group, row.case.partition(",")[0]), []))
        rows.append(row if cpu is None else row.model_copy(update={"figures": {**row.figures, CPU: cpu}}))
    return result.model_copy(update={"rows": rows})


def with_lines(result: Result, step: LoadStep) -> Result:
    """`of_line` is what a slow client gets in percent of what its line can carry."""
    slow = {f"client{number}" for number in range(1, step.slow_clients + 1)}
    most = most_bps(step.slow_bps, MTU)
    return with_share(result, "received", most, "of_line", lambda row: row.case.partition(",")[0] in slow)
