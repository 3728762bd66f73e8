"""A step of a study that limits one client of a simulated system: the whole curve, and the result of a search.

The curve is swept without the host's variation, so it is the model's truth; the search sees that variation. Both are
kept as runs of 'system limit'. The system is that of E4, a published experiment (KAKENHI report, 2012–14).
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from keisoku.ground.observer import Observer
from keisoku.ground.run.outcome import Outcome
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.study.file import SystemStep
from keisoku.running.study.step import run_step
from keisoku.subjects.system.interval_log import kept_intervals
from keisoku.subjects.system.objective import Goal
from keisoku.subjects.system.search.analysis import NAME
from keisoku.subjects.system.search.asking import again
from keisoku.subjects.system.search.limit_curve import CurvePoint, curve
from keisoku.subjects.system.search.search import LimitFound
from keisoku.subjects.system.settings import LimitSettings
from keisoku.subjects.system.simulated.file import Timetable, write_system
from keisoku.subjects.system.simulated.model import SystemModel, e4, log_normal_sizes

LEAST_GAIN = 1.0
"""Gain over no limit, in percent, below which a curve counts as having no inner maximum."""
_CHANCE = 4.0
"""Standard deviations of counting that the best of all limits may reach by chance."""
_INTERVAL_S, _SETTLE_S = 3.0, 5.0


def measure_system(step: SystemStep, path: Path, observer: Observer) -> Result:
    """Sweeps and searches, each kept as a run of its own; the figures of both in one row."""
    system = model(step)
    steady = replace(system, server=replace(system.server, unsteady=0.0))
    swept = _limit(
        step, steady, path, observer, sweep=step.limits, repetitions=1, interval_s=_INTERVAL_S, settle_s=_SETTLE_S
    ).directory
    settings = LimitSettings.model_validate(swept.plan)
    points = curve(kept_intervals(swept), settings.weighted_objective, settings.client)
    search = _limit(step, system, path.with_name(f"{path.name}-search"), observer).directory
    found = again(LimitSettings.model_validate(search.plan), kept_intervals(search))
    assert isinstance(found, LimitFound)
    return Result(measurement=NAME, rows=[Row(frame_bytes=step.file_bytes, figures=figures(points, found))])


def model(step: SystemStep) -> SystemModel:
    """E4's system with the changes of the step."""
    system = e4(step.file_bytes, step.slow_clients, step.slow_connections, step.fast_connections)
    server = system.server
    crowd = server.crowd if step.crowd is None else step.crowd
    request_s = server.request_s if step.request_s is None else step.request_s
    sizes = log_normal_sizes(step.file_bytes, step.size_variation) if step.size_variation else ()
    clients = tuple(replace(client, sizes=sizes) for client in system.clients)
    return replace(system, server=replace(server, request_s=request_s, crowd=crowd), clients=clients)


def figures(points: list[CurvePoint], found: LimitFound) -> dict[str, Quantity]:
    """Of a curve whose last point is no limit, and of the search; `best_limit` is missing where none is the best.

    A gain that chance in counting can make, over so many limits, does not count.
    """
    totals, fast = ([float(np.mean(values)) for values in column] for column in _columns(points))
    slow = [total - own for total, own in zip(totals, fast, strict=True)]
    best = int(np.argmax(totals))
    gain = 100 * (totals[best] / totals[-1] - 1)
    said = {
        "total_without": _simulated(totals[-1], "requests/s"),
        "total_at_best": _simulated(totals[best], "requests/s"),
        "gain": _simulated(gain, "%"),
        "slow_at_best": _simulated(100 * slow[best] / max(slow), "%"),
        "fast_at_best": _simulated(100 * fast[best] / max(fast), "%"),
    }
    limit = points[best].limit
    by_chance = 100 * _CHANCE * math.sqrt(2 / max(1.0, _INTERVAL_S * totals[-1]))
    if limit is not None and gain >= max(LEAST_GAIN, by_chance):
        said["best_limit"] = _simulated(limit / 1e6, "Mb/s")
    if found.limit is not None and found.gain is not None:
        said["advised"] = _simulated(found.limit / 1e6, "Mb/s")
        said["advised_gain"] = Quantity(
            value=found.gain.percent, unit="%", uncertainty=(100 + found.gain.percent) * found.gain.error
        )
    return said


def _columns(points: list[CurvePoint]) -> tuple[list[list[float]], list[list[float]]]:
    return [point.requests for point in points], [point.governed for point in points]


def _limit(step: SystemStep, system: SystemModel, path: Path, observer: Observer, **settings: object) -> Outcome:
    """One run of 'system limit' on this system, whose description is kept beside the run's directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    described = path.with_name(f"{path.name}.toml")
    write_system(described, Timetable(f"published system, {step.name}", system))
    return run_step(
        NAME,
        path,
        observer,
        system=f"sim:{described}",
        client=["fast"],
        floor_bps=step.floor_bps,
        objective=Goal.SUM_REQUESTS,
        **settings,
    )


def _simulated(value: float, unit: str) -> Quantity:
    return Quantity(value=value, unit=unit, uncertainty=0.0)
