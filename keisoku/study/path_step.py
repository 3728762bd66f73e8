"""A step of a study that compares sources of time over a link of the lab; its answer in the form of a result.

The link's rate is known, so it is real packets on real clocks, but no network card.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

from keisoku.lab.hop import Hop
from keisoku.lab.path import PathLab
from keisoku.path.place import Place
from keisoku.path.serve import Server
from keisoku.path.session import Session
from keisoku.path.source_comparison import KIND, SourceComparisonSettings
from keisoku.path.source_run import analyse, measure
from keisoku.path.train_run import TrainRun
from keisoku.record.context import host_context
from keisoku.record.observation import Observation
from keisoku.record.observation_directory import ObservationDirectory
from keisoku.record.result import Result, Row
from keisoku.report.observation import render_observation
from keisoku.study.file import PathStep

_QUEUE_BYTES = 600_000


def measure_path(step: PathStep, path: Path) -> Result:
    """Measures and keeps the step as a run of 'path clocks'. Raises PlanError where there can be no lab."""
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
            with Session(Place(lab.target_address, lab.tester_namespace), server.port) as session:
                directory = ObservationDirectory.create(path, KIND, settings.model_dump(), context)
                run = TrainRun(directory)
                session.keep = run.append
                run.end(measure(session, settings, know=run.know))
        finally:
            server.stop()
            thread.join()
    observation, plots = analyse(directory)
    directory.finish(observation)
    directory.write_text("report.html", render_observation(observation, directory.settings, directory.context, plots))
    return as_result(observation, step.ip_bytes or step.mtu)


def as_result(observation: Observation, ip_bytes: int) -> Result:
    """Rows whose case is 'group: name'."""
    rows = [Row(frame_bytes=ip_bytes, case=f"{row.group}: {row.name}", figures=row.figures) for row in observation.rows]
    return Result(method=observation.kind, rows=rows, remarks=list(observation.remarks))
