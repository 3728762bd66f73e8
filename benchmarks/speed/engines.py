"""keisoku's engines beside each other: AF_XDP against the neutral AF_XDP sender, and the chosen one against all.

Every cell is measured in turn with the others of its row, in one run; ratios are of neighbouring trials. A bare name
of a port lets keisoku choose its engine, and the frames/s that it then forwards are compared with the best engine's.
"""

from __future__ import annotations

import statistics
from typing import Any

from peers.keisoku_load import Driver
from peers.pair import Pair, of_lab
from peers.senders import Sender
from throughput import DEVICES, Bench, Device, fastest, keisoku, peer

from keisoku.ground.lab.device.lab import Lab

ENGINES: tuple[Driver, ...] = ("xdp", "afxdp", "packet")
NEUTRAL_GOAL = 1.0
"""AF_XDP of keisoku, which stamps, signs and tracks every frame, to the sender that does none of this."""
CHOSEN_GOAL = 0.95
"""The chosen engine to the fastest."""


def compare(bench: Bench) -> list[dict[str, Any]]:
    """Rows of both kinds, through each device."""
    rows = []
    for device in DEVICES:
        with Lab(**device.lab) as lab:
            pair = of_lab(lab)
            rows += [_against_neutral(bench, device, pair), _chosen(bench, device, pair)]
    return rows


def _against_neutral(bench: Bench, device: Device, pair: Pair) -> dict[str, Any]:
    """With what receives fastest at the far end of each."""
    sender, swallowed = fastest(bench, pair, "af_xdp")
    own, others = [], []
    for _ in range(bench.repetitions):
        own.append(keisoku(bench, pair, "afxdp", "xdp")[0].received)
        others.append(peer(bench, pair, sender, swallowed).received)
    return _row(device, "afxdp", str(Sender("af_xdp")), own, others, NEUTRAL_GOAL)


def _chosen(bench: Bench, device: Device, pair: Pair) -> dict[str, Any]:
    rates: dict[Driver, list[float]] = {engine: [] for engine in (*ENGINES, "auto")}
    said: list[str] = []
    for _ in range(bench.repetitions):
        for engine, found in rates.items():
            measured, remarks = keisoku(bench, pair, engine, engine)
            found.append(measured.received)
            said += remarks
    medians = {engine: statistics.median(rates[engine]) for engine in ENGINES}
    best = max(ENGINES, key=lambda engine: medians[engine])
    row = _row(device, "chosen", best, rates["auto"], rates[best], CHOSEN_GOAL)
    return row | {"all": {engine: [round(rate) for rate in found] for engine, found in rates.items()}, "said": said}


def _row(device: Device, engine: str, other: str, own: list[float], others: list[float], goal: float) -> dict[str, Any]:
    ratios = [mine / its for mine, its in zip(own, others, strict=True)]
    return {
        "device": device.title,
        "engine": engine,
        "beside": other,
        "own_fps": [round(rate) for rate in own],
        "others_fps": [round(rate) for rate in others],
        "ratios": [round(ratio, 3) for ratio in ratios],
        "median_ratio": round(statistics.median(ratios), 3),
        "goal": goal,
    }


def table(rows: list[dict[str, Any]]) -> str:
    """In Markdown; rates in million frames/s."""
    lines = [
        "| through | engine | beside | M frames/s | M frames/s beside | ratio (lowest to highest) | goal |",
        "|---" * 7 + "|",
    ]
    for row in rows:
        own, others = (statistics.median(row[name]) / 1e6 for name in ("own_fps", "others_fps"))
        spread = f"({min(row['ratios']):.2f} to {max(row['ratios']):.2f})"
        cells = [row["device"], row["engine"], row["beside"], f"{own:.2f}", f"{others:.2f}"]
        lines.append("| " + " | ".join([*cells, f"**{row['median_ratio']:.2f}** {spread}", f"{row['goal']:g}"]) + " |")
    return "\n".join(lines)
