"""How many 64-byte frames a second: keisoku and each peer in alternation, on the same device in one run.

keisoku's frames are each stamped, signed, checked and tracked, the peers' are only counted. Both rates are read
from the kernel's counters of the two interfaces in the middle of a load that asks for more than there can be.
"""

from __future__ import annotations

import shutil
import socket
import statistics
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers.compiled import Compiled
from peers.keisoku_load import Driver, keisoku_load
from peers.observer import observer
from peers.pair import Pair, of_lab
from peers.senders import PROGRAMS, Sender

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.lab import Lab

SETTLE_S = 0.5
"""From the start of a load to the first look at the counters."""
_LONGER_S = 0.3
_LEARNING_FRAMES = 3

WAYS = (
    Sender("af_xdp"),
    Sender("trafgen"),
    Sender("trafgen", ("--qdisc-path",)),
    Sender("trafgen", ("--ring-size", "8MiB")),
    Sender("tcpreplay"),
)
"""How each peer may be run; the fastest way of each is what keisoku is compared with."""


@dataclass(frozen=True)
class Device:
    """What frames go through, and the ratios that keisoku is to reach."""

    title: str
    lab: dict[str, Any]
    goals: dict[str, float]


DEVICES = (
    Device("cable", {"device": "cable"}, {"af_xdp": 4.0}),
    Device("bridge", {"device": "bridge", "own_core": True}, {"trafgen": 3.0, "af_xdp": 1.5}),
    # What the kernel leaves to trafgen here is less than 3 (frame_cost.py).
    Device("bridge on the sender's core", {"device": "bridge", "own_core": False}, {"af_xdp": 1.5}),
)


@dataclass(frozen=True)
class Rates:
    """Frames/s that entered the device, and that came out."""

    offered: float
    received: float


@dataclass(frozen=True)
class Bench:
    """What all measurements of a run share."""

    compiled: Compiled
    folder: Path
    seconds: float
    repetitions: int


def compare(bench: Bench, device: Device) -> list[dict[str, Any]]:
    """One row for each peer: medians of both, and of the ratios of neighbouring trials."""
    with Lab(**device.lab) as lab:
        pair = of_lab(lab)
        return [_row(bench, device, pair, name, *fastest(bench, pair, name)) for name in _present()]


def _present() -> list[str]:
    names = dict.fromkeys(way.name for way in WAYS)
    return [name for name in names if name not in PROGRAMS or shutil.which(PROGRAMS[name])]


def fastest(bench: Bench, pair: Pair, name: str) -> tuple[Sender, bool]:
    """How to run a peer, and whether an XDP program swallows its frames at the far end, or the kernel's stack."""
    ways = [(way, swallowed) for way in WAYS if way.name == name for swallowed in (False, True)]
    rounds = [[peer(bench, pair, *way).received for way in ways] for _ in range(bench.repetitions)]
    medians = [statistics.median(tries) for tries in zip(*rounds, strict=True)]
    return ways[medians.index(max(medians))]


def _row(bench: Bench, device: Device, pair: Pair, name: str, sender: Sender, swallowed: bool) -> dict[str, Any]:
    own, others = [], []
    for _ in range(bench.repetitions):
        own.append(_keisoku(bench, pair))
        others.append(peer(bench, pair, sender, swallowed))
    ratios = [mine.received / its.received for mine, its in zip(own, others, strict=True)]
    return {
        "device": device.title,
        "peer": name,
        "command_options": list(sender.options),
        "peer_frames_end_in": "an XDP program" if swallowed else "the kernel's stack",
        "keisoku_offered_fps": [round(rates.offered) for rates in own],
        "keisoku_received_fps": [round(rates.received) for rates in own],
        "peer_offered_fps": [round(rates.offered) for rates in others],
        "peer_received_fps": [round(rates.received) for rates in others],
        "ratios": [round(ratio, 3) for ratio in ratios],
        "median_ratio": round(statistics.median(ratios), 3),
        "goal": device.goals.get(name),
    }


def _keisoku(bench: Bench, pair: Pair) -> Rates:
    return keisoku(bench, pair, "xdp", "xdp")[0]


def keisoku(bench: Bench, pair: Pair, sender: Driver, receiver: Driver) -> tuple[Rates, list[str]]:
    """The rates of keisoku with these engines, and what was said of their choice."""
    seconds = SETTLE_S + bench.seconds + _LONGER_S
    with keisoku_load(pair.near, pair.far, None, seconds, receiver, sender) as load:
        time.sleep(SETTLE_S)
        rates = Rates(*pair.rates(bench.seconds))
    if load.tester_dropped_frames:
        raise RuntimeError(f"keisoku could not account for {load.tester_dropped_frames} frames")
    return rates, load.remarks


def peer(bench: Bench, pair: Pair, sender: Sender, swallowed: bool) -> Rates:
    """The rates of a peer that is run in one way; `swallowed`: its frames end in an XDP program."""
    teach(pair)
    with (
        observer(bench.compiled, pair.far) if swallowed else nullcontext(),
        sender.running(bench.compiled, pair, bench.folder),
    ):
        time.sleep(SETTLE_S)
        return Rates(*pair.rates(bench.seconds))


def teach(pair: Pair) -> None:
    """Lets the device know where the far end is: a bridge would otherwise flood."""

    def send() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
            port.bind((pair.far.interface, 0))
            for _ in range(_LEARNING_FRAMES):
                port.send(pair.frame(reverse=True))

    run_in_namespace(pair.far.namespace, send)
