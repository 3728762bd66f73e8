"""A session of trains over a synthetic path: what decides which trains are sent meets a path of known truth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.subjects.path.train.log import TrainLog
from keisoku.subjects.path.train.probe import ROW, Rows, TrainPlan
from support.synthetic_path import SyntheticPath


class SyntheticSession:
    """Sends plans one after the other; `log` keeps all trains."""

    def __init__(self, path: SyntheticPath) -> None:
        self._path = path
        self.log = TrainLog()

    def run(self, plans: Sequence[TrainPlan], gap_s: float, watch: bool = False) -> TrainLog:
        seen = TrainLog()
        for plan in plans:
            number = len(self._path.trains) + 1
            self._path.send(plan.stage, plan.ip_bytes, plan.count, 1, gap_s * 1e9, plan.direction)
            train = self._path.trains[-1]
            seen.add(number, [plan], _rows(number, train.sent_ns, 0), _rows(number, train.received_ns, train.ttl))
        self.log.extend(seen)
        return seen


def _rows(number: int, stamps: np.ndarray, ttl: int) -> Rows:
    rows = np.zeros(len(stamps), ROW)
    rows["train"], rows["index"], rows["ttl"] = number, np.arange(len(stamps)), ttl
    for name in ("realtime_ns", "monotonic_ns", "kernel_ns"):
        rows[name] = stamps
    return rows
