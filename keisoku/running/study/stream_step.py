"""A step of a study that measures TCP by message size over a link of the lab, kept as a run of 'stream tcp'.

The link's rate is known, so that a throughput can be compared with its upper limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keisoku.ground.host.place import Place
from keisoku.ground.host.thread_watch import STREAMS, ThreadWatch
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.bare_path import TARGET_ADDRESS
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.observer import Observer
from keisoku.ground.run.result import Result
from keisoku.running.study.cpu_wanted import with_cpu
from keisoku.running.study.file import StreamStep
from keisoku.running.study.step import run_step
from keisoku.running.study.truth import ETHERNET_BYTES, most_bps, with_share
from keisoku.subjects.stream.measure import bare_server
from keisoku.subjects.stream.settings import NONE

_BUCKET_S, _QUEUE_S = 0.002, 0.02
"""A token bucket that is soon empty, and a queue that TCP keeps full without long delays."""


def measure_stream(step: StreamStep, path: Path, observer: Observer) -> Result:
    """Measures and keeps the step. Raises PlanError where a lab is not possible."""
    with _way(step) as (host, port), ThreadWatch(STREAMS) as watch:
        outcome = run_step(
            "stream tcp",
            path,
            observer,
            host=host,
            port=port,
            size_bytes=step.sizes,
            duration_s=step.duration_s,
            most_repetitions=step.most_repetitions,
            ceiling=NONE,
        )
    (result,) = outcome.results
    result = with_cpu(result, watch.looks)
    return result if step.rate_bps is None else with_share(result, "throughput", most_bps(step.rate_bps, step.mtu))


@contextmanager
def _way(step: StreamStep) -> Iterator[tuple[str, int]]:
    """The far end, as 'HOST@NAMESPACE', and its port."""
    if step.rate_bps is None:
        with bare_server(step.mtu) as (bare, server):
            yield f"{TARGET_ADDRESS}@{bare.tester_namespace}", server.port
        return
    bucket = max(round(step.rate_bps / 8 * _BUCKET_S), 2 * (step.mtu + ETHERNET_BYTES))
    hop = Hop(step.rate_bps, mtu=step.mtu, bucket_bytes=bucket, queue_bytes=round(step.rate_bps / 8 * _QUEUE_S))
    with PathLab([hop]) as lab, FarEnd("stream", Place(lab.target_address, lab.target_namespace)) as far:
        yield f"{lab.target_address}@{lab.tester_namespace}", far.port
