"""Where the time of this host went during the runs of a load: rows of CPU, run queue, softirq and retransmissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keisoku.ground.host.activity import SAMPLE_S
from keisoku.ground.run.result import Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Contribution, Quantity
from keisoku.language import phrase

GROUP = phrase("Host during")
_TICK_NS = 10_000_000
"""USER_HZ is 100 on every machine that Linux reports to user space from (time(7))."""
_KINDS = ("user", "system", "softirq", "idle", "steal")


def host_rows(titles: Mapping[str, Sequence[int]], activity: Sequence[Mapping[str, Any]]) -> list[Row]:
    """A row for each title, of the trials with these numbers; means over trials, retransmissions in all."""
    of_trial: dict[int, list[Mapping[str, Any]]] = {}
    for interval in activity:
        of_trial.setdefault(interval["trial"], []).append(interval)
    rows = []
    for title, trials in titles.items():
        known = [of_trial[trial] for trial in trials if trial in of_trial]
        if known:
            rows.append(Row(case=title, group=GROUP, figures=_figures(known)))
    return rows


def _figures(trials: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Quantity]:
    # The kernel counts in ticks, which of several CPUs need not add up to the time that passed.
    spent = [max(1, sum(one[f"{kind}_ns"] for one in trial for kind in _KINDS)) for trial in trials]
    tick = 100 * max(one["cpus"] for trial in trials for one in trial) * _TICK_NS / min(spent)
    figures = {
        f"cpu_{kind}": _mean(
            [100 * sum(one[f"{kind}_ns"] for one in trial) / whole for trial, whole in zip(trials, spent, strict=True)],
            "%",
            budget.rectangular(phrase("tick of the kernel's counts, of each CPU"), tick),
        )
        for kind in _KINDS
    }
    samples = min(sum(one["ended_ns"] - one["began_ns"] for one in trial) for trial in trials) / (SAMPLE_S * 1e9)
    resolution = budget.rectangular(phrase("number of samples"), 1 / max(1.0, samples))
    figures["runnable"] = _mean([_weighted(trial, "runnable") for trial in trials], "", resolution)
    waited = [
        100 * sum(one["waited_ns"] for one in trial) / sum(one["ended_ns"] - one["began_ns"] for one in trial)
        for trial in trials
        if all(one["waited_ns"] is not None for one in trial)
    ]
    if waited:
        figures["cpu_waited_for"] = _mean(waited, "%", budget.rectangular(phrase("steps of the kernel's count"), 0.1))
    for name in ("retransmitted", "squeezed", "backlog_drops"):
        total = sum(one[name] for trial in trials for one in trial)
        figures[name] = Quantity(value=total, unit="", uncertainty=0.0)
    return figures


def _weighted(trial: Sequence[Mapping[str, Any]], name: str) -> float:
    lengths = [one["ended_ns"] - one["began_ns"] for one in trial]
    return float(np.average([one[name] for one in trial], weights=lengths))


def _mean(values: Sequence[float], unit: str, resolution: Contribution) -> Quantity:
    """Of a single run the resolution only."""
    found = budget.mean_with(values, unit, phrase("scatter between the runs"), [resolution])
    return found if len(values) > 1 else found.model_copy(update={"covers": "resolution"})
