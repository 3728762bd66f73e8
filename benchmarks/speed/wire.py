"""Which transmit and receive path: rates and precision of the wire engines, as a Markdown table.

Needs root. Makes network namespaces whose names begin with keisoku-bench-, and removes them.
Run: python benchmarks/speed/wire.py [--seconds 0.5]
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from keisoku._core import Wire
from keisoku.subjects.device.record.counts import Buckets
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S

TX, DUT, RX = (f"keisoku-bench-{name}" for name in ("tx", "dut", "rx"))
HEADER = bytes.fromhex("02000000000202000000000188b5") + bytes(28)
IMPOSSIBLE = 8_000_000.0
"""frames/s; more than any path carries."""
REPEATS = 3
"""The best of so many: other work on the machine only ever makes figures worse."""


def sh(command: str, namespace: str | None = None) -> None:
    """Runs a command, inside the namespace if one is named."""
    prefix = ["ip", "netns", "exec", namespace] if namespace else []
    subprocess.run([*prefix, "sh", "-c", command], check=True)


def veth(name: str, namespace: str, peer: str, peer_namespace: str) -> None:
    """Makes a pair of interfaces that accept XDP frames from each other."""
    sh(f"ip -n {namespace} link add {name} type veth peer name {peer} netns {peer_namespace}")
    for interface, place in ((name, namespace), (peer, peer_namespace)):
        sh(f"ip link set {interface} up", place)
    for interface, place in ((name, namespace), (peer, peer_namespace)):
        # Makes a veth poll, without which its peer takes no XDP frames; only once both are up.
        sh(f"ethtool -K {interface} gro on", place)


@contextmanager
def namespaces() -> Iterator[None]:
    """Three empty namespaces; they take their interfaces with them."""
    made = []
    try:
        for name in (TX, DUT, RX):
            sh(f"ip netns add {name}")
            made.append(name)
            sh("sysctl -qw net.ipv6.conf.default.disable_ipv6=1", name)
        yield
    finally:
        for name in made:
            sh(f"ip netns del {name}")


def cable() -> None:
    """The tester's two ports joined directly."""
    veth("t0", TX, "t1", RX)


def bridge() -> None:
    """A Linux bridge whose ports poll in threads on the last CPU, away from the sender's."""
    veth("t0", TX, "d0", DUT)
    veth("t1", RX, "d1", DUT)
    sh("ip link add br0 type bridge && ip link set br0 up", DUT)
    for port in ("d0", "d1"):
        sh(f"ip link set {port} master br0 && echo 1 > /sys/class/net/{port}/threaded", DUT)
    cpu = max(os.sched_getaffinity(0))
    for process in Path("/proc").glob("[0-9]*/comm"):
        if process.read_text().startswith(("napi/d0-", "napi/d1-")):
            os.sched_setaffinity(int(process.parent.name), {cpu})
    wire = opened("packet", "packet")
    wire.learn(1, HEADER[6:12] + HEADER[:6] + HEADER[12:] + bytes(18), 3)
    wire.close()


def opened(tx: str, rx: str, batch: int | None = None) -> Wire:
    """From port 0 to port 1; `batch` is how many frames an xdp port hands over at once, by the rate if None."""
    places = ((tx, "t0", TX, batch), (rx, "t1", RX, None))
    ports = [
        {"engine": engine, "interface": interface, "namespace": f"/run/netns/{namespace}", "batch": size}
        for engine, interface, namespace, size in places
    ]
    return Wire(json.dumps(ports), [0], [1])


def measure(wire: Wire, frame_bytes: int, frames_per_second: float, seconds: float) -> Facts:
    """One trial; it may fall short of the rate."""
    stream = {
        "transmit": 0,
        "receive": 1,
        "table": 0,
        "frame_bytes": [frame_bytes],
        "frames_per_second": frames_per_second,
        "frames": round(frames_per_second * seconds),
    }
    trial = {
        "first_stream": 1,
        "streams": [stream],
        "duration_ns": round(seconds * NS_PER_S),
        "drain_ns": 100_000_000,
        "interval_ns": NS_PER_S,
        "seed": 0,
    }
    frame = HEADER + bytes(frame_bytes - 4 - len(HEADER))
    wire.start(json.dumps(trial), [(frame, struct.pack("=H", len(frame)), len(HEADER), True, 0)])
    return Facts.model_validate_json(wire.finish())


def offered_fps(facts: Facts) -> float:
    """Offered load in frames/s, from the first to the last stamp."""
    sent = facts.sent
    return (sent.offered_frames - 1) * NS_PER_S / (sent.last_sent_ns - sent.first_sent_ns)


def quantile(buckets: Buckets, share: float) -> float:
    """In µs, of a histogram's lower bounds."""
    passed = np.cumsum(buckets.counts)
    return buckets.lower_ns[int(np.searchsorted(passed, share * passed[-1]))] / 1000


def row(device: str, tx: str, rx: str, batch: int | None, frame_bytes: int, seconds: float) -> str:
    """One line of the table."""
    wire = opened(tx, rx, batch)
    best = max((measure(wire, frame_bytes, IMPOSSIBLE, seconds) for _ in range(REPEATS)), key=offered_fps)
    forwarded = best.tracked.forwarded_frames / best.sent.offered_frames * offered_fps(best)
    cells = [device, tx, rx, str(batch or "by rate"), str(frame_bytes)]
    cells += [f"{offered_fps(best) / 1e6:.2f}", f"{forwarded / 1e6:.2f}", str(best.tester_dropped_frames)]
    for rate in (100e3, 500e3):
        trials = (measure(wire, frame_bytes, rate, seconds) for _ in range(REPEATS))
        # Of the trials that offered most: one that was stopped early is not late.
        calm = min(trials, key=lambda facts: (-facts.sent.offered_frames, facts.sent.lag_max_ns))
        gaps = calm.sent.gaps
        spread = "/".join(f"{quantile(gaps, share):.2f}" for share in (0.01, 0.5, 0.99, 0.999))
        error = (offered_fps(calm) / rate - 1) * 1e6
        cells.append(f"{spread}; {calm.sent.lag_max_ns / 1000:.0f}; {error:+.0f}")
    wire.close()
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=0.5, help="length of each trial")
    seconds = options.parse_args().seconds
    precision = "gap p1/p50/p99/p99.9 µs; latest frame µs late; rate error ppm"
    heads = ["device", "tx", "rx", "batch", "bytes", "offered M/s", "forwarded M/s", "dropped by tester"]
    heads += [f"100 k/s: {precision}", "500 k/s: the same"]
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for device, build in (("cable", cable), ("bridge", bridge)):
        with namespaces():
            build()
            for batch in (None, 1, 4, 16, 64):
                print(row(device, "xdp", "xdp", batch, 64, seconds), flush=True)
            for tx, rx in (("packet", "xdp"), ("packet", "packet"), ("xdp", "packet")):
                print(row(device, tx, rx, None, 64, seconds), flush=True)
            print(row(device, "xdp", "xdp", None, 1518, seconds), flush=True)


if __name__ == "__main__":
    main()
