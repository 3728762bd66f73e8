"""What a frame costs in CPU time, and the highest ratio to each peer that the kernel's own cost leaves.

A tester that costs nothing itself still pays what the kernel takes for one frame into the device, through it and out
of it. The bare sender (`peers/bare.c`) pays just that. So `bare` against a peer is the limit of keisoku's ratio to that
peer; a keisoku that costs less than `bare` refutes it. Times are of CPU, not of a wall clock: other programs on the
machine disturb them little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from peers.compiled import compiled
from peers.cpu_time import SoftirqClock, charged, softirq_clock
from peers.keisoku_load import keisoku_load
from peers.observer import observer
from peers.pair import Pair, of_lab
from peers.senders import Sender
from throughput import DEVICES, SETTLE_S, WAYS, Bench, Device, teach

from keisoku.ground.lab.device.lab import Lab

SHARE = 0.85
"""Of the limit, that keisoku is to reach through a device."""
LOOK_S = 0.5
_PATIENCE_S = 10.0
_LONGER_S = 3.0
BARE = Sender("bare")
PEERS = [way for way in WAYS if way.name in ("af_xdp", "trafgen")]


@dataclass(frozen=True)
class Cost:
    """ns of CPU time: on the sender's CPU of a frame that enters, on the device's own of one that comes out."""

    sender_ns: float
    device_ns: float
    received_fps: float

    @property
    def busier_ns(self) -> float:
        """On the CPU that limits the rate: no more frames than 1e9 / `busier_ns` come out in a second."""
        return max(self.sender_ns, self.device_ns)


def compare(bench: Bench, device: Device) -> list[dict[str, Any]]:
    """One row for each way of sending through the device, in turn: medians."""
    ways: list[tuple[Sender | None, bool]] = [(BARE, True), (None, True)]
    ways += [(peer, swallowed) for peer in PEERS for swallowed in (False, True)]
    with Lab(**device.lab) as lab:
        pair, own_core = of_lab(lab), cast("int | None", lab.context()["dut_core"])
        rounds = [[cost(bench, pair, own_core, *way) for way in ways] for _ in range(bench.repetitions)]
    return [
        _row(device, sender, swallowed, list(costs))
        for (sender, swallowed), costs in zip(ways, zip(*rounds, strict=True), strict=True)
    ]


def _row(device: Device, sender: Sender | None, swallowed: bool, costs: list[Cost]) -> dict[str, Any]:
    parts = ("sender_ns", "device_ns", "received_fps")
    row: dict[str, Any] = {name: round(statistics.median(getattr(cost, name) for cost in costs)) for name in parts}
    row["busier_ns"] = sorted(round(cost.busier_ns) for cost in costs)
    name = sender.name if sender else "keisoku"
    return {"device": device.title, "sender": str(sender or name), "name": name, "swallowed": swallowed, **row}


def cost(bench: Bench, pair: Pair, own_core: int | None, sender: Sender | None, swallowed: bool) -> Cost:
    """Of one load that asks for more than there can be; None is keisoku. `own_core` is the device's, if it has one."""
    if sender is None:
        with keisoku_load(pair.near, pair.far, None, SETTLE_S + 2 * bench.seconds + _LONGER_S):
            return _watched(bench, pair, own_core, os.getpgrp())
    teach(pair)
    end = observer(bench.compiled, pair.far, 0) if swallowed else nullcontext()
    with end, sender.running(bench.compiled, pair, bench.folder) as group:
        return _watched(bench, pair, own_core, group)


def _watched(bench: Bench, pair: Pair, own_core: int | None, group: int) -> Cost:
    _flows(pair)
    near = min(os.sched_getaffinity(0))
    sender_ns, offered, received, seconds = _spent(bench, pair, lambda: charged(group, near).total())
    device_ns = 0.0
    if own_core is not None:
        # Apart from the first look: the clock makes the soft interrupts of a sender of single frames longer.
        with softirq_clock(bench.compiled) as clock:
            softirqs_ns, _, arrived, _ = _spent(bench, pair, lambda: _of_device(clock, group, own_core))
        device_ns = softirqs_ns / arrived
    return Cost(sender_ns / offered, device_ns, received / seconds)


def _flows(pair: Pair) -> None:
    """Waits until frames come out; on a busy machine a program takes its time to start."""
    _, _, before = pair.counters()
    for _ in range(round(_PATIENCE_S / SETTLE_S)):
        time.sleep(SETTLE_S)
        if pair.counters()[2] > before:
            return
    raise RuntimeError(f"no frame came out in {_PATIENCE_S} s")


def _spent(bench: Bench, pair: Pair, read_ns: Callable[[], int]) -> tuple[int, int, int, float]:
    """What a reading grows by, frames that entered and that came out, and the time, of one look."""
    counted, before_ns = pair.counters(), read_ns()
    time.sleep(bench.seconds)
    counted_then, spent_ns = pair.counters(), read_ns() - before_ns
    seconds, offered, received = (then - now for then, now in zip(counted_then, counted, strict=True))
    if min(spent_ns, offered, received) <= 0:
        raise RuntimeError("the load ended while it was watched")
    return spent_ns, int(offered), int(received), seconds


def _of_device(clock: SoftirqClock, group: int, core: int) -> int:
    """ns of the soft interrupts there, and of the accounting, which shares the core."""
    softirqs = clock.read()
    within = {thread: took_ns for (_, thread), took_ns in softirqs.items()}
    accounting = {
        thread: charged_ns for thread, charged_ns in charged(group, core).items() if os.getpgid(thread) == group
    }
    outside_ns = sum(charged_ns - within.get(thread, 0) for thread, charged_ns in accounting.items())
    return outside_ns + sum(took_ns for (cpu, _), took_ns in softirqs.items() if cpu == core)


def limits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each device and peer, in its cheapest way: the ratio of CPU times to keisoku, and to `bare`, its limit."""
    found = []
    for device in dict.fromkeys(row["device"] for row in rows):
        own = [row for row in rows if row["device"] == device]
        cheapest = {name: min(_busier(row) for row in own if row["name"] == name) for name in {r["name"] for r in own}}
        found += [
            {
                "device": device,
                "peer": name,
                "ratio": round(cheapest[name] / cheapest["keisoku"], 2),
                "limit": round(cheapest[name] / cheapest["bare"], 2),
            }
            for name in sorted(cheapest)
            if name not in ("bare", "keisoku")
        ]
    return found


def _busier(row: dict[str, Any]) -> float:
    return float(statistics.median(row["busier_ns"]))


def table(rows: list[dict[str, Any]]) -> str:
    """Costs, then limits, as Markdown."""
    heads = ["through", "sender", "its frames end in", "sender's CPU, ns", "device's own CPU, ns"]
    heads += ["busier CPU, ns (lowest to highest)", "received, M/s"]
    lines = [heads, ["---"] * len(heads)]
    for row in rows:
        times = row["busier_ns"]
        lines.append(
            [
                row["device"],
                row["sender"],
                "an XDP program" if row["swallowed"] else "the kernel's stack",
                f"{row['sender_ns']}",
                f"{row['device_ns']}" if row["device_ns"] else "",
                f"**{statistics.median(times):.0f}** ({times[0]} to {times[-1]})",
                f"{row['received_fps'] / 1e6:.2f}",
            ]
        )
    heads = [
        "through",
        "peer",
        "peer's CPU time to keisoku's",
        "to the bare sender's: the limit",
        "of the limit",
        "goal",
    ]
    last = [heads, ["---"] * len(heads)]
    last += [
        [
            row["device"],
            row["peer"],
            f"{row['ratio']:.2f}",
            f"{row['limit']:.2f}",
            f"{row['ratio'] / row['limit']:.0%}",
            f"{SHARE:.0%}",
        ]
        for row in limits(rows)
    ]
    return "\n\n".join("\n".join("| " + " | ".join(line) + " |" for line in part) for part in (lines, last))


def main() -> None:
    """Prints both tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=LOOK_S, help="length of each look")
    options.add_argument("--repetitions", type=int, default=5)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="keisoku-bench-") as folder:
        bench = Bench(compiled(Path(folder)), Path(folder), chosen.seconds, chosen.repetitions)
        print(table([row for device in DEVICES[1:] for row in compare(bench, device)]))


if __name__ == "__main__":
    main()
