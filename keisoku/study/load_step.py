"""A step of a study in which E4's clients send TCP in bulk through a switch of the lab: alone, the slow ones, all.

It is kept as a run of 'app load --with stream' and knows no published figure.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from keisoku.analysis.quantity import Quantity
from keisoku.host.context import host_context
from keisoku.lab.system.lab import SystemLab
from keisoku.lab.system.shape import SystemShape
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result, Row
from keisoku.study.file import LoadStep
from keisoku.study.stream_step import as_result, most_bps, publish_quietly
from keisoku.system.load import run as load_run
from keisoku.system.load.analysis import analyse
from keisoku.system.load.bulk_servers import bulk_aims
from keisoku.system.load.schedule import ALONE, TOGETHER, LoadSchedule

MTU = 1500
SLOW_AT_ONCE = "slow"
"""How cases call the pattern in which all clients but the fast one send."""


def measure_load(step: LoadStep, path: Path) -> Result:
    """Measures and keeps the step. Raises PlanError where there can be no lab."""
    shape = SystemShape(
        (step.slow_bps,) * step.slow_clients + (None,), servers=step.servers, server_bps=step.server_bps
    )
    slow = "+".join(f"client{number}" for number in range(1, step.slow_clients + 1))
    with SystemLab(shape) as lab, bulk_aims(lab) as aims:
        campaign = LoadSchedule(
            client=step.by,
            loads=tuple(aim.load(seconds=step.duration_s) for aim in aims),
            patterns=(ALONE, slow, TOGETHER),
            concurrencies=(1,),
            repetitions=step.repetitions,
            rest_s=step.rest_s,
        )
        settings = {"target": "lab:system", "client": step.by, **step.model_dump()}
        context = {
            **host_context(),
            "lab": lab.context(),
            "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        directory = RunDirectory.create(path, load_run.KIND, settings, context)
        campaign.run(lambda trial, runs: load_run.append(directory, trial, runs), lambda _: None)
    observation, plots = analyse(directory)
    publish_quietly(directory, observation, plots)
    fast = f"client{step.slow_clients + 1}"
    return with_truth(as_result(observation, MTU, None), most_bps(step.slow_bps, MTU), slow, fast)


def with_truth(result: Result, most: float, slow: str, fast: str) -> Result:
    """Cases as a study names them; `of_line` is what a slow client gets in percent of what its line can carry."""
    rows = []
    for row in result.rows:
        case = row.case.replace(f"{slow}: ", f"{SLOW_AT_ONCE}: ").replace(f"{fast},", "fast,")
        figures = dict(row.figures)
        received = figures["received"]
        if ": client" in case:
            error = None if received.uncertainty is None else 1e8 * received.uncertainty / most
            figures["of_line"] = Quantity(value=1e8 * received.value / most, unit="%", uncertainty=error)
        rows.append(Row(frame_bytes=row.frame_bytes, case=case, figures=figures))
    return Result(method=result.method, rows=rows, remarks=result.remarks)
