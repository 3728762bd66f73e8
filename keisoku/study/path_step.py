"""A step of a study that compares sources of time over a link of the lab; its answer in the form of a result.

The link tells what it did, so every rate is set beside its truth: real packets on real clocks, but no network card.
"""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from keisoku.analysis.quantity import Quantity
from keisoku.host.context import host_context
from keisoku.host.place import Place
from keisoku.lab.path.hop import Hop
from keisoku.lab.path.lab import PathLab
from keisoku.lab.path.truth import DirectionTruth
from keisoku.path.sources.analysis import KIND, SourceComparisonSettings
from keisoku.path.sources.run import analyse, measure
from keisoku.path.train.run import TrainRun
from keisoku.path.train.serve import Server
from keisoku.path.train.session import TrainSession
from keisoku.report.observation import render_observation
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result, Row
from keisoku.study.file import PathStep

_QUEUE_BYTES = 600_000
LATE_MOST = 0.1
"""Of its packets, that a link may deliver late: beyond it the host was too busy to be a path; the step is repeated."""
TRIES = 3


def measure_path(step: PathStep, path: Path) -> Result:
    """Measures and keeps the step as a run of 'path clocks', again if the link itself says that it came late.

    The last of `TRIES` counts, however late. Raises PlanError where there can be no lab.
    """
    for number in range(1, TRIES + 1):
        result, truth = _measure_once(step, path if number == 1 else path.with_name(f"{path.name}-{number}"))
        if truth.late_packets <= LATE_MOST * truth.in_packets:
            break
    return result


def _measure_once(step: PathStep, path: Path) -> tuple[Result, DirectionTruth]:
    hop = Hop(step.rate_bps, mtu=step.mtu, queue_bytes=_QUEUE_BYTES)
    with PathLab([hop]) as lab:
        server = Server(Place(lab.target_address, lab.target_namespace), 0)
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            settings = SourceComparisonSettings(
                host=lab.target_address,
                port=server.port,
                repetitions=step.repetitions,
                pairs=step.pairs,
                ip_bytes=step.ip_bytes,
            )
            context = {**host_context(), **lab.context(), "started_at": datetime.now(UTC).isoformat(timespec="seconds")}
            with TrainSession(Place(lab.target_address, lab.tester_namespace), server.port) as session:
                directory = RunDirectory.create(path, KIND, settings.model_dump(), context)
                run = TrainRun(directory)
                session.keep = run.append
                run.end(measure(session, settings, know=run.know))
            truth = lab.truth().hops[0].forward
            assert isinstance(truth, DirectionTruth)
        finally:
            server.stop()
            thread.join()
    directory.write_text("truth.json", json.dumps(asdict(truth), indent=1) + "\n")
    observation, plots = analyse(directory)
    directory.finish(observation)
    directory.write_text("report.html", render_observation(observation, directory.plan, directory.context, plots))
    return as_result(observation, step.ip_bytes or step.mtu, 8e3 * truth.in_bytes / truth.busy_ns), truth


def as_result(observation: Result, ip_bytes: int, true_mbps: float) -> Result:
    """Rows whose case is 'group: name'; `of_truth` is their median in percent of what the link did, in Mb/s."""
    rows = []
    for row in observation.rows:
        figures = dict(row.figures)
        if median := figures.get("median"):
            scale = 100 / true_mbps
            error = None if median.uncertainty is None else median.uncertainty * scale
            figures["of_truth"] = Quantity(value=median.value * scale, unit="%", uncertainty=error)
        rows.append(Row(frame_bytes=ip_bytes, case=f"{row.group}: {row.name}", figures=figures))
    return Result(method=observation.kind, rows=rows, remarks=list(observation.remarks))
