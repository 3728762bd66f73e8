"""Whether a run in virtual time is the same to the bit, on the host as it is and beside programs that never sleep.

    python benchmarks/accuracy/virtual_repeats.py [--hogs 12] [--seed 1] [DEVICE …]

Needs root and the kernel of `keisoku vlab kernel`. Each device is measured three times with the same seed, in a process
of its own each time. What is compared is `trials.jsonl` with the record of each trial: every count, every statistic of
latency, every lost frame. The table goes to the terminal; that of benchmarks/README.md was made by it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
CONVERGENCE = ("convergence", "--rate", "1kpps", "--profile", "quick")
LOAD = ("trial", "--rate", "1kpps", "--duration", "1s", "--waits", "0.5s", "--profile", "quick")
OVERLOAD = ("trial", "--rate", "5kpps", "--duration", "1s", "--waits", "5s", "--profile", "quick")
CASES: dict[str, tuple[str, ...]] = {
    "router": LOAD,
    "nat": LOAD,
    "mpls": LOAD,
    "vxlan": LOAD,
    "netem?delay=10ms&jitter=1ms&loss=1%": LOAD,
    "tbf?rate=1Mbps&bucket=3kB&queue=50kB": OVERLOAD,
    "fq_codel?rate=1Mbps&limit=300": OVERLOAD,
    "diamond": (*CONVERGENCE, "--event", "link-down"),
    "vrrp": (*CONVERGENCE, "--ports", "1,2,3", "--pattern", "either", "--event", "master-killed"),
    "ecmp": (*CONVERGENCE, "--ports", "1,2,3", "--pattern", "either", "--event", "member-lost"),
    "stp": (*CONVERGENCE, "--event", "port-blocked", "--watch", "6s"),
    "examples/virtual/ospf.toml": (*CONVERGENCE, "--event", "cut"),
    "examples/virtual/bfd.toml": (*CONVERGENCE, "--event", "cut"),
}
"""Words of the command for each device behind `vlab:`."""


def main() -> int:
    """A row for each device; 0 if all records are the same."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hogs", type=int, default=12, help="programs that never sleep, beside the third run")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("devices", nargs="*", metavar="DEVICE", help=f"of these (default: all): {', '.join(CASES)}")
    chosen = options.parse_args()
    print("| device | frames | not forwarded | records | seconds, quiet | seconds, loaded | load average |")
    print("|---|---:|---:|---|---:|---:|---:|", flush=True)
    different = 0
    for device in chosen.devices or CASES:
        with TemporaryDirectory() as folder:
            runs = [run(device, chosen.seed, Path(folder) / "first"), run(device, chosen.seed, Path(folder) / "second")]
            with hogs(chosen.hogs):
                runs.append(run(device, chosen.seed, Path(folder) / "third"))
                load = os.getloadavg()[0]
            records = {hashlib.sha256(path.joinpath("trials.jsonl").read_bytes()).hexdigest()[:8] for path, _ in runs}
            offered, forwarded = counts(runs[0][0])
        same = f"same ({records.pop()})" if len(records) == 1 else "**different**"
        different += same.startswith("*")
        seconds = [f"{taken:.1f}" for _, taken in runs[1:]]
        print(
            f"| {device} | {offered} | {offered - forwarded} | {same} | {' | '.join(seconds)} | {load:.0f} |",
            flush=True,
        )
    return 1 if different else 0


def run(device: str, seed: int, out: Path) -> tuple[Path, float]:
    """The run directory, and the host's seconds that it took. Raises CalledProcessError."""
    command = [sys.executable, "-m", "keisoku", *CASES[device], "--dut", f"vlab:{device}", "--size", "64"]
    began = time.monotonic()
    subprocess.run([*command, "--seed", str(seed), "--out", str(out)], cwd=ROOT, check=True, capture_output=True)
    return out, time.monotonic() - began


def counts(path: Path) -> tuple[int, int]:
    """Frames that were offered and forwarded in all trials of a run."""
    facts = [json.loads(line)["facts"] for line in path.joinpath("trials.jsonl").read_text().splitlines()]
    streams = [stream for one in facts for stream in one["streams"]]
    offered = sum(stream["offered_frames"] for stream in streams)
    return offered, sum(stream["tracked"]["forwarded_frames"] for stream in streams)


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """So many programs that never sleep, until the load average shows them."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        while os.getloadavg()[0] < min(10, 0.8 * count):
            time.sleep(1)
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


if __name__ == "__main__":
    sys.exit(main())
