"""The highest load that comes out whole: bisection for keisoku and for the senders that can hold a rate.

Where the device has a CPU of its own, what it forwards under overload says little of this. A peer's loss is the
difference of the interfaces' counters over a whole run, keisoku's is its own account.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from peers.keisoku_load import keisoku_load
from peers.observer import observer
from peers.pair import Pair, of_lab
from peers.senders import Sender
from throughput import SETTLE_S, Bench, Device, teach

from keisoku.ground.lab.device.lab import Lab

SENDERS = (None, Sender("af_xdp"))
"""None is keisoku. trafgen and tcpreplay cannot hold a rate in this range (gaps.py)."""
HIGHEST_FPS = 4e6
STEPS = 7
_DRAIN_S = 0.1


def compare(bench: Bench, device: Device) -> list[dict[str, Any]]:
    """The highest lossless load of each sender, one bisection after the other in turn."""
    with Lab(**device.lab) as lab:
        pair = of_lab(lab)
        rounds = [[_highest(bench, pair, sender) for sender in SENDERS] for _ in range(bench.repetitions)]
    found = list(zip(*rounds, strict=True))
    own = found[0]
    return [
        {
            "device": device.title,
            "sender": str(sender or "keisoku"),
            "lossless_fps": [round(rate) for rate in rates],
            "median_ratio": round(statistics.median(a / b for a, b in zip(own, rates, strict=True) if b), 3)
            if any(rates)
            else None,
        }
        for sender, rates in zip(SENDERS, found, strict=True)
    ]


def _highest(bench: Bench, pair: Pair, sender: Sender | None) -> float:
    """Offered frames/s of the fastest run without loss; 0 if there was none."""
    low, high, best = 0.0, HIGHEST_FPS, 0.0
    for _ in range(STEPS):
        rate = (low + high) / 2
        offered, lost = _keisoku(bench, pair, rate) if sender is None else _peer(bench, pair, sender, rate)
        if lost:
            high = rate
        else:
            low, best = rate, max(best, offered)
        # What it cannot offer at all is no loss, but asking for more makes no sense.
        high = min(high, max(low, offered * 1.1)) if offered < 0.9 * rate else high
    return best


def _keisoku(bench: Bench, pair: Pair, rate: float) -> tuple[float, int]:
    with keisoku_load(pair.near, pair.far, rate, bench.seconds) as load:
        pass
    return load.offered_fps, load.lost_frames + load.tester_dropped_frames


def _peer(bench: Bench, pair: Pair, sender: Sender, rate: float) -> tuple[float, int]:
    teach(pair)
    with observer(bench.compiled, pair.far):
        before = pair.counters()
        with sender.running(bench.compiled, pair, bench.folder, rate):
            time.sleep(SETTLE_S)
            offered, _ = pair.rates(bench.seconds)
        time.sleep(_DRAIN_S)
        after = pair.counters()
    return offered, (after[1] - before[1]) - (after[2] - before[2])
