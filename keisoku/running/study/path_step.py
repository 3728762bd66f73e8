"""A step of a study that compares sources of time over a link of the lab, kept as a run of 'path clocks'.

The link reports its true rate, with which every figure is compared: real packets and clocks, but no network card.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.lab.path.truth import DirectionTruth
from keisoku.ground.observer import Observer
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.file import PathStep
from keisoku.running.study.step import run_step
from keisoku.running.study.truth import with_share

_QUEUE_BYTES = 600_000
LATE_MOST = 0.1
"""Share of packets that a link may deliver late; beyond it the host was too busy and the step is repeated."""
LATE = "late"
"""Name of the figure: that share in percent."""
TRIES = 3


def measure_path(step: PathStep, path: Path, observer: Observer) -> Result:
    """Measures and keeps the step, and repeats it if the link itself reports late packets.

    The one of at most `TRIES` that counts is that with fewest of them, and its row 'link' says how many: where they are
    too many the host was too busy for a truth. Raises PlanError where a lab is not possible.
    """
    tried: list[tuple[float, Result]] = []
    for number in range(1, TRIES + 1):
        own = path if number == 1 else path.with_name(f"{path.name}-{number}")
        result, truth = _measure_once(step, own, observer)
        tried.append((truth.late_packets / truth.in_packets, result))
        if tried[-1][0] <= LATE_MOST:
            break
    return with_least_late(tried)


def with_least_late(tried: Sequence[tuple[float, Result]]) -> Result:
    """Of results with the share of packets that their link delivered late, that of the least share, which it states."""
    late, result = min(tried, key=lambda one: one[0])
    figures = {LATE: Quantity(value=100 * late, unit="%", uncertainty=0.0, covers="observed")}
    return result.model_copy(update={"rows": [*result.rows, Row(case="link", figures=figures)]})


def _measure_once(step: PathStep, path: Path, observer: Observer) -> tuple[Result, DirectionTruth]:
    hop = Hop(step.rate_bps, mtu=step.mtu, queue_bytes=_QUEUE_BYTES)
    with PathLab([hop]) as lab, FarEnd("path", Place(lab.target_address, lab.target_namespace)) as server:
        outcome = run_step(
            "path clocks",
            path,
            observer,
            host=f"{lab.target_address}@{lab.tester_namespace}",
            port=server.port,
            repetitions=step.repetitions,
            pairs=step.pairs,
            size_bytes=step.ip_bytes,
        )
        truth = lab.truth().hops[0].forward
        assert isinstance(truth, DirectionTruth)
    outcome.directory.write_text("truth.json", json.dumps(asdict(truth), indent=1) + "\n")
    return with_share(outcome.results[0], "median", 8e9 * truth.in_bytes / truth.busy_ns), truth
