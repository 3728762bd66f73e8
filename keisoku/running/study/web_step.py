"""A step of a study in which clients request files of one or of many sizes from nginx, kept as a run of 'system load'.

The clients' lines limit them, so the number of bits that a request takes on the line is what decides their rate.
"""

from __future__ import annotations

import math
from pathlib import Path

from keisoku.ground.host.thread_watch import REQUESTS, ThreadWatch
from keisoku.ground.lab.system.web_server import NGINX
from keisoku.ground.observer import Observer
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.cpu_wanted import with_cpu
from keisoku.running.study.file import WebStep
from keisoku.running.study.step import run_step
from keisoku.running.study.truth import ETHERNET_BYTES, TCP_HEADERS
from keisoku.subjects.system.load.schedule import TOGETHER
from keisoku.subjects.system.simulated.model import HEADER_BYTES, log_normal_sizes

MTU = 1500
_CONTROL_FRAMES, _SYN_OPTIONS = 3, 8
"""Towards the client for each request: SYN-ACK, acknowledgement of the request, and acknowledgement of the other end's
FIN; more bytes of options in the first. The server's own FIN is in its last segment."""


def measure_web(step: WebStep, path: Path, observer: Observer) -> Result:
    """Measures and keeps the step. Raises PlanError where a lab is not possible."""
    files = ",".join(f"{size}:{share:g}" for size, share in sizes(step).items())
    with ThreadWatch(REQUESTS, NGINX.name) as watch:
        outcome = run_step(
            "system load",
            path,
            observer,
            target=[f"lab:system?clients={step.clients}&rates={step.line_bps}&file={files}"],
            concurrency=[step.concurrency],
            duration_s=step.duration_s,
            pattern=[TOGETHER],
            repetitions=step.repetitions,
            rest_s=0.5,
        )
    return with_cpu(with_line(outcome.results[0], step), watch.looks)


def sizes(step: WebStep) -> dict[int, float]:
    """Whole bytes with their shares."""
    if not step.size_variation:
        return {step.mean_bytes: 1.0}
    found: dict[int, float] = {}
    for size, share in log_normal_sizes(step.mean_bytes, step.size_variation, step.sizes):
        found[round(size)] = found.get(round(size), 0.0) + share
    return found


def frames(step: WebStep) -> float:
    """Of a request towards the client, the mean of all sizes: its segments and those without data."""
    segment = MTU - TCP_HEADERS
    data = sum(share * math.ceil((size + HEADER_BYTES) / segment) for size, share in sizes(step).items())
    return _CONTROL_FRAMES + data


def again(step: WebStep) -> float:
    """Bytes of the frame that is sent again: an answer's last segment, which waits in the line's queue for longer than
    the server expects (tail loss probe, RFC 8985 §7)."""
    segment = MTU - TCP_HEADERS
    last = sum(share * (size - (math.ceil(size / segment) - 1) * segment) for size, share in sizes(step).items())
    return last + ETHERNET_BYTES + TCP_HEADERS


def with_line(result: Result, step: WebStep) -> Result:
    """`of_line` is what the bytes that came take on a client's line with all their frames, and with segments that were
    sent again, in percent of the line.

    How many frames they take depends on the distribution of the sizes and not on their mean alone.
    """
    around = (ETHERNET_BYTES + TCP_HEADERS) * frames(step) + _SYN_OPTIONS
    repeated = sum(row.figures["retransmitted"].value for row in result.rows if "retransmitted" in row.figures)
    repeated_bps = 8 * again(step) * repeated / (step.repetitions * step.duration_s * step.clients)
    rows = []
    for row in result.rows:
        requests, received = row.figures.get("requests"), row.figures.get("received")
        if requests and received and row.case.partition(",")[0] != "all":
            share = 100 * (received.value + 8 * around * requests.value + repeated_bps) / step.line_bps
            relative = (received.uncertainty or 0.0) / received.value
            of_line = Quantity(value=share, unit="%", uncertainty=share * relative)
            row = row.model_copy(update={"figures": {**row.figures, "of_line": of_line}})
        rows.append(row)
    return result.model_copy(update={"rows": rows})
