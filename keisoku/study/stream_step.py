"""A step of a study that measures TCP by message size over a link of the lab; its answer in the form of a result.

The link's rate is known, so that a throughput stands beside what it can be at most.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from keisoku.analysis.quantity import Quantity
from keisoku.host.context import host_context
from keisoku.host.place import Place
from keisoku.lab.path.bare_path import TARGET_ADDRESS
from keisoku.lab.path.hop import Hop
from keisoku.lab.path.lab import PathLab
from keisoku.report.observation import render_observation
from keisoku.report.plot import Plot
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result, Row
from keisoku.stream.measure import bare_server, measure
from keisoku.stream.run import KINDS, StreamRun, analyse
from keisoku.stream.serve import StreamServer
from keisoku.stream.settings import NONE, StreamSettings
from keisoku.study.file import StreamStep

_BUCKET_S, _QUEUE_S = 0.002, 0.02
"""A bucket that is empty soon, and a queue that TCP keeps full without long waits."""
_TCP_HEADERS = 20 + 20 + 12
"""IPv4, TCP, and its stamps (RFC 7323)."""
_ETHERNET_BYTES = 14
"""As a token bucket of the kernel counts them."""


def measure_stream(step: StreamStep, path: Path) -> Result:
    """Measures and keeps the step as a run of 'stream tcp'. Raises PlanError where there can be no lab."""
    with _way(step) as (place, port):
        settings = StreamSettings(
            protocol="tcp",
            host=place.host,
            port=port,
            sizes=step.sizes,
            refinements=0,
            duration_s=step.duration_s,
            most_runs=step.most_runs,
            ceiling=NONE,
        )
        context = {**host_context(), "started_at": datetime.now(UTC).isoformat(timespec="seconds")}
        directory = RunDirectory.create(path, KINDS["tcp"], settings.model_dump(), context)
        run = StreamRun(directory)
        try:
            measure(settings, place, run)
        finally:
            run.flush()
    observation, plots = analyse(directory)
    publish_quietly(directory, observation, plots)
    return as_result(observation, step.mtu, None if step.rate_bps is None else most_bps(step.rate_bps, step.mtu))


def most_bps(rate_bps: float, mtu: int) -> float:
    """Of TCP's payload in full frames on a line of that rate."""
    return rate_bps * (mtu - _TCP_HEADERS) / (mtu + _ETHERNET_BYTES)


def as_result(observation: Result, mtu: int, true_bps: float | None) -> Result:
    """Rows whose case is 'group: name', rates in Mb/s; `of_truth` is throughput in percent of the most it can be."""
    rows = []
    for row in observation.rows:
        figures = {name: _in_mega(figure) for name, figure in row.figures.items()}
        if true_bps and (found := row.figures.get("throughput")):
            error = None if found.uncertainty is None else 100 * found.uncertainty / true_bps
            figures["of_truth"] = Quantity(value=100 * found.value / true_bps, unit="%", uncertainty=error)
        rows.append(Row(frame_bytes=mtu, case=f"{row.group}: {row.name}", figures=figures))
    return Result(method=observation.kind, rows=rows, remarks=list(observation.remarks))


def publish_quietly(directory: RunDirectory, observation: Result, plots: list[Plot]) -> None:
    """Result and page of a step, without printing."""
    directory.finish(observation)
    directory.write_text("report.html", render_observation(observation, directory.plan, directory.context, plots))


def _in_mega(figure: Quantity) -> Quantity:
    if figure.unit != "bit/s":
        return figure
    error = None if figure.uncertainty is None else figure.uncertainty / 1e6
    return Quantity(value=figure.value / 1e6, unit="Mb/s", uncertainty=error)


@contextmanager
def _way(step: StreamStep) -> Iterator[tuple[Place, int]]:
    if step.rate_bps is None:
        with bare_server(step.mtu) as (bare, server):
            yield Place(TARGET_ADDRESS, bare.tester_namespace), server.port
        return
    bucket = max(round(step.rate_bps / 8 * _BUCKET_S), 2 * (step.mtu + _ETHERNET_BYTES))
    hop = Hop(step.rate_bps, mtu=step.mtu, bucket_bytes=bucket, queue_bytes=round(step.rate_bps / 8 * _QUEUE_S))
    with PathLab([hop]) as lab:
        server = StreamServer(Place(lab.target_address, lab.target_namespace), 0)
        thread = threading.Thread(target=server.serve)
        thread.start()
        try:
            yield Place(lab.target_address, lab.tester_namespace), server.port
        finally:
            server.stop()
            thread.join()
