"""How evenly frames leave: gaps at the far end of a bare veth pair, keisoku and the peers in turn.

One neutral observer, an XDP program that stamps whatever arrives, sees them all alike; keisoku's own stamps and
histograms have no part in it. What is asked of each is a constant rate.
"""

from __future__ import annotations

import shutil
import statistics
import time
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from peers.keisoku_load import keisoku_load
from peers.observer import Times, observer
from peers.pair import Pair, two_hosts
from peers.senders import PROGRAMS, Sender
from throughput import SETTLE_S, Bench

RATES_FPS = (1_000, 10_000, 100_000)
SENDERS = (
    Sender("af_xdp"),
    Sender("trafgen"),
    Sender("tcpreplay", ("--timer=gtod",)),
    Sender("tcpreplay", ("--timer=nano",)),
    Sender("iperf3"),
    Sender("iperf3", ("--pacing-timer", "1")),
)
_QUANTILES = {"p1_us": 0.01, "p50_us": 0.5, "p99_us": 0.99, "p99_9_us": 0.999}
_WARM_UP_FRAMES = 4_000_000
"""Room for what keisoku sends before its load begins."""
_FEWEST_FRAMES = 5_000
_LONGER_S = 0.3
_LONGEST_FACTOR = 5


def compare(bench: Bench) -> list[dict[str, Any]]:
    """One row for each rate and sender, keisoku first: medians over the repetitions."""
    senders = [None, *(way for way in SENDERS if way.name not in PROGRAMS or shutil.which(PROGRAMS[way.name]))]
    rows = []
    with two_hosts() as pair:
        for rate in RATES_FPS:
            rounds = [[_look(bench, pair, sender, rate) for sender in senders] for _ in range(bench.repetitions)]
            for sender, looks in zip(senders, zip(*rounds, strict=True), strict=True):
                medians = {key: round(statistics.median(look[key] for look in looks), 3) for key in looks[0]}
                rows.append({"sender": str(sender or "keisoku"), "asked_fps": rate, **medians})
    return rows


def _look(bench: Bench, pair: Pair, sender: Sender | None, rate: float) -> dict[str, float]:
    seconds = min(max(bench.seconds, _FEWEST_FRAMES / rate), _LONGEST_FACTOR * bench.seconds)
    capacity = _WARM_UP_FRAMES + round(2 * rate * (SETTLE_S + seconds + _LONGER_S))
    load: AbstractContextManager[object]
    if sender is None:
        load = keisoku_load(pair.near, pair.far, rate, SETTLE_S + seconds + _LONGER_S, receiver="packet")
    else:
        load = sender.running(bench.compiled, pair, bench.folder, rate)
    with observer(bench.compiled, pair.far, capacity) as seen, load:
        time.sleep(SETTLE_S)
        begin_ns = time.monotonic_ns()
        time.sleep(seconds)
        end_ns = time.monotonic_ns()
    return _evenness(seen.times_ns[(seen.times_ns >= begin_ns) & (seen.times_ns < end_ns)], rate)


def _evenness(times_ns: Times, rate: float) -> dict[str, float]:
    """Quantiles of the gaps, and by how much the rate between the first and the last frame is off."""
    if len(times_ns) < 2:
        raise RuntimeError("the observer saw no frames")
    gaps_us = np.diff(times_ns.astype(np.int64)) / 1000
    span_s = float(times_ns[-1] - times_ns[0]) / 1e9
    error_ppm = ((len(times_ns) - 1) / span_s / rate - 1) * 1e6
    figures = {name: float(np.quantile(gaps_us, share)) for name, share in _QUANTILES.items()}
    return figures | {"rate_error_ppm": error_ppm}
