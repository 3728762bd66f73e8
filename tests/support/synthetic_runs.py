"""Runs that nobody measured, for tests of the report: a bridge, a router, a simulated switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.frame.rates import maximum_frames_per_second
from keisoku.ground.report.finding import Finding
from keisoku.ground.report.page import render
from keisoku.ground.run.criterion import Verdict
from keisoku.ground.run.result import FittedLine, Result, Row
from keisoku.ground.statistics.line_fit import fit_line
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.analysis.percentile import latency_percentile, packet_delay_variation
from keisoku.subjects.device.record.counts import Buckets, Interval, IntervalLatency, Latency, Ranges, Sent, Tracked
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.report.part import part
from support.one_stream import facts_of

SIZES = [64, 128, 256, 512, 1024, 1280, 1518]
LINK = 10e9
NONE = Ranges(count=0, ranges=[], complete=True)


def page_of(
    runs: Sequence[DeviceRun], verdicts: Sequence[Verdict] = (), findings: Sequence[Finding] = (), title: str = ""
) -> str:
    """The page of runs of devices alone."""
    return render([part(runs)], verdicts, findings, title)


def buckets(values_ns: NDArray[np.float64]) -> Buckets:
    """The core's buckets: 1 ns up to 256 ns, then 128 for each doubling."""
    octaves = np.maximum(np.floor(np.log2(np.maximum(values_ns, 1))).astype(int) - 7, 0)
    lower = (values_ns.astype(np.int64) >> octaves) << octaves
    edges, counts = np.unique(lower, return_counts=True)
    widths = 1 << np.maximum(np.floor(np.log2(np.maximum(edges, 1))).astype(int) - 7, 0)
    return Buckets(lower_ns=edges.tolist(), upper_ns=(edges + widths).tolist(), counts=counts.tolist())


def latency(values_ns: NDArray[np.float64], histogram: Buckets | None = None) -> Latency:
    """Of these frames; their histogram is that of the core, or this one."""
    return Latency(
        count=values_ns.size,
        min_ns=float(values_ns.min()),
        max_ns=float(values_ns.max()),
        mean_ns=float(values_ns.mean()),
        deviation_ns=float(values_ns.std()),
        histogram=histogram or buckets(values_ns),
    )


def record(
    index: int,
    method: str,
    purpose: str,
    frame_bytes: int,
    rate: float,
    values_ns: NDArray[np.float64],
    *,
    lost: int = 0,
    duration_ns: int = 2 * NS_PER_S,
    invalid: list[str] | None = None,
) -> TrialRecord:
    """A trial at `rate` whose losses lie in at most 50 gaps; `values_ns` stand for all frames."""
    interval_ns = duration_ns // 20
    trial = Trial(
        purpose=purpose,
        frame_bytes=frame_bytes,
        frames_per_second=rate,
        duration_ns=duration_ns,
        interval_ns=interval_ns,
    )
    offered = trial.frames
    forwarded = offered - lost
    number = min(-(-lost // 3), 50)
    gaps = []
    for position in range(number):
        size = lost // number + (position < lost % number)
        first = position * offered // number
        after_ns = int(first / rate * NS_PER_S)
        before_ns = int((first + size + 1) / rate * NS_PER_S)
        gaps.append(Gap(first=first, last=first + size - 1, count=size, after_ns=after_ns, before_ns=before_ns))
    parts = np.array_split(values_ns, 20)
    shares = [forwarded // 20 + (part < forwarded % 20) for part in range(20)]
    series = [
        Interval(
            start_ns=number * interval_ns,
            forwarded_frames=int(share),
            latency=IntervalLatency(min_ns=float(part.min()), max_ns=float(part.max()), mean_ns=float(part.mean())),
        )
        for number, (share, part) in enumerate(zip(shares, parts, strict=True))
    ]
    return TrialRecord(
        index=index,
        method=method,
        trial=trial,
        facts=facts_of(
            Sent(
                offered_frames=offered,
                first_sent_ns=120,
                last_sent_ns=120 + int((offered - 1) / rate * NS_PER_S),
                lag_max_ns=900,
                postponed_ns=0,
                gaps=Buckets(),
            ),
            Tracked(
                received_frames=forwarded,
                forwarded_frames=forwarded,
                lost_frames=lost,
                corrupt=NONE,
                corrupt_arrivals=0,
                duplicated=NONE,
                reordered=NONE,
                foreign_frames=0,
                lost=gaps,
                lost_kept_as="list",
                tagged_latency_ns=None,
                latency=latency(values_ns),
                series=series,
            ),
            stamps=(
                "CLOCK_MONOTONIC in the XDP program that sends",
                "CLOCK_MONOTONIC in the XDP program that receives",
            ),
        ),
        started_at=f"2025-03-04T09:{10 + index // 60:02d}:{index % 60:02d}+00:00",
        engine_seconds=duration_ns / NS_PER_S + 0.5,
        invalid_because=invalid or [],
    )


def ns(value: float, uncertainty: float | None) -> Quantity:
    return Quantity(value=value, unit="ns", uncertainty=uncertainty)


def latency_row(found: TrialRecord, uncertainty: float) -> Row:
    measured = found.facts.tracked.latency
    assert measured is not None
    figures = {
        name: ns(getattr(measured, f"{name}_ns"), uncertainty if name == "mean" else 12.0)
        for name in ("min", "mean", "max")
    }
    for name, percent in (("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)):
        at = latency_percentile(measured, percent)
        assert at is not None
        figures[name] = ns(at.value_ns, at.bound_ns + 10)
    variation = packet_delay_variation(measured)
    assert variation is not None
    figures["pdv"] = ns(variation.value_ns, variation.bound_ns)
    figures["tagged"] = ns(measured.mean_ns * 1.02, None)
    return Row(frame_bytes=found.trial.frame_bytes, figures=figures, trial=found.index)


def host_run(
    name: str = "Linux bridge",
    engine: str = "xdp",
    capacity: float = 812_000,
    base_ns: float = 900,
    seed: int = 1,
) -> DeviceRun:
    """Throughput, latency and loss over the RFC's sizes, with noise and one invalid trial."""
    random = np.random.default_rng(seed)
    records: list[TrialRecord] = []
    throughput, delays, losses = [], [], []

    def noise(size: int) -> NDArray[np.float64]:
        values = base_ns + 0.35 * size + random.gamma(2.0, 90, 20_000)
        late = random.random(20_000) < 0.004
        return np.asarray(values + late * random.lognormal(9.3, 0.8, 20_000))

    for size in SIZES:
        rate = capacity * (1 - size / 9_000)
        maximum = maximum_frames_per_second(LINK, size)
        records.append(record(len(records), "throughput", "search", size, rate * 1.1, noise(size), lost=1731))
        records.append(record(len(records), "throughput", "final", size, rate, noise(size)))
        throughput.append(
            Row(
                frame_bytes=size,
                figures={
                    "throughput": Quantity(value=rate, unit="frames/s", uncertainty=rate * 0.004),
                    "line_share": Quantity(value=100 * rate / maximum, unit="%", uncertainty=0.05),
                    "bit_rate": Quantity(value=rate * size * 8, unit="bit/s", uncertainty=rate * size * 0.03),
                },
                trial=records[-1].index,
            )
        )
        records.append(record(len(records), "latency", "latency 1 of 1", size, rate, noise(size)))
        delays.append(latency_row(records[-1], 9.0))
        for load in (100, 80, 60, 40, 20, 10):
            offered = maximum * load / 100
            lost_share = max(0.0, 1 - rate / offered)
            frames = max(1, round(offered * 0.01))
            lost = round(frames * lost_share)
            records.append(
                record(
                    len(records),
                    "loss",
                    f"{load} % of the maximum",
                    size,
                    offered,
                    noise(size),
                    lost=lost,
                    duration_ns=10_000_000,
                )
            )
            losses.append(
                Row(
                    frame_bytes=size,
                    figures={
                        "offered": Quantity(value=offered, unit="frames/s", uncertainty=offered * 1e-4),
                        "load": Quantity(value=float(load), unit="%", uncertainty=0.01),
                        "loss": Quantity(value=100 * lost / frames, unit="%", uncertainty=0),
                    },
                    trial=records[-1].index,
                )
            )
    why = "offered 1 480 000 of 1 488 095 frames/s: the tester could not keep up"
    records.append(record(len(records), "throughput", "search", 64, capacity * 1.8, noise(64), lost=9, invalid=[why]))
    calibration = [
        Row(frame_bytes=size, figures={"bias": ns(210 + size / 9, 6), "spread": ns(35, 4)}) for size in SIZES
    ]
    results = [
        Result(
            measurement="throughput",
            title="Throughput",
            rows=throughput,
            deviations=["§24: trials of 2 s instead of 60 s", "§26.1: final trial once"],
        ),
        Result(
            measurement="latency",
            title="Latency",
            rows=delays,
            deviations=["§24: trials of 2 s instead of 60 s", "§26.2: one trial instead of twenty"],
            remarks=["Every frame was stamped, which is stricter than the RFC's one tagged frame."],
        ),
        Result(
            measurement="loss",
            title="Frame loss rate",
            rows=losses,
            deviations=["§24: trials of 0.01 s instead of 60 s"],
        ),
        Result(measurement="calibrate", title="Calibration", rows=calibration),
    ]
    context = {
        "device": name,
        "engine": engine,
        "host": "testbed",
        "kernel": "Linux 6.18.0",
        "cpu": "2 × 2.9 GHz",
        "governor": "performance",
        "clock_source": "tsc",
        "versions": {"keisoku": "0.1.0", "python": "3.11.7"},
        "ports": {"transmit": "xdp:tester0", "receive": "xdp:tester1"},
        "calibration": {"cable": "veth", "64.bias_ns": 217.1, "64.spread_ns": 35.0},
        "seed": seed,
        "started_at": "2025-03-04T09:10:00+00:00",
    }
    plan = {
        "dut": f"lab:{name.split()[-1]}",
        "method": ["throughput", "latency", "loss"],
        "sizes": SIZES,
        "duration": "2 s",
        "seed": seed,
        "phases": {"learning": True, "drain": "100 ms"},
    }
    return DeviceRun(Path("runs/20250304-0910"), plan, context, records, results)


def router_run() -> DeviceRun:
    return host_run("Linux router", capacity=655_000, base_ns=1350, seed=2)


def bounded_run() -> DeviceRun:
    """As `host_run`, but the throughput has only its resolution, at 128 byte it is only a bound, and at 512 it was not
    measured."""
    run = host_run()
    rows = []
    for row in run.results[0].rows:
        change: dict[str, object] = {"covers": "resolution"}
        remark = ""
        if row.frame_bytes == 128:
            change, remark = {"bound": "at least", "uncertainty": None}, "limited by the tester"
        figures = {name: figure.model_copy(update=change) for name, figure in row.figures.items()}
        if row.frame_bytes == 512:
            figures, remark = {}, "given up: the tester could not offer the load"
        rows.append(row.model_copy(update={"figures": figures, "remark": remark}))
    throughput = run.results[0].model_copy(update={"rows": rows})
    return replace(run, results=[throughput, *run.results[1:]])


def sweep_run(sizes: list[int] | None = None) -> DeviceRun:
    """A simulated GS908E: exact figures on 8 ns/byte + 811 ns, and frames lost above 9887 byte."""
    sizes = sizes or [64, *range(256, 9888, 256), 9887, 9952, 10_016]
    random = np.random.default_rng(3)
    records, rows, points = list[TrialRecord](), [], []
    for size in sizes:
        rate = maximum_frames_per_second(1e9, size)
        values = 8.0 * size + 811 + random.normal(0, 0.9, 400)
        works = size <= 9887
        frames = round(rate * 0.02)
        records.append(
            record(
                len(records),
                "sweep",
                f"{size} byte",
                size,
                rate,
                values,
                lost=0 if works else frames,
                duration_ns=20_000_000,
            )
        )
        figures = {"drop": Quantity(value=0.0 if works else 100.0, unit="%", uncertainty=0)}
        if works:
            figures["latency"] = ns(float(values.mean()), 0)
            points.append((float(size), float(values.mean())))
        remark = "" if works else "no frame came out"
        rows.append(Row(frame_bytes=size, figures=figures, trial=records[-1].index, remark=remark))
    fit = fit_line(*zip(*points, strict=True))
    line = FittedLine(
        slope=Quantity(value=fit.slope, unit="ns/byte", uncertainty=2 * fit.slope_error),
        constant=ns(fit.constant, 2 * fit.constant_error),
        slope_error=fit.slope_error,
        constant_error=fit.constant_error,
        points=points,
    )
    context = {
        "device": "gs908e (simulated)",
        "engine": "simulated",
        "seed": 3,
        "link_bits_per_second": 1e9,
        "started_at": "2025-03-04T10:00:00+00:00",
    }
    result = Result(measurement="sweep", title="Sweep of frame sizes", rows=rows, line=line)
    return DeviceRun(
        Path("runs/sweep"), {"dut": "sim:gs908e", "method": "sweep", "seed": 3}, context, records, [result]
    )
