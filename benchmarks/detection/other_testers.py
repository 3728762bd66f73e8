"""How long it takes until a slowdown of 5 % is sure: `keisoku ab cost` beside other testers, on the same program.

Run it by itself, with root, clang and dpdk-testpmd (apt install dpdk-dev): `python
benchmarks/detection/other_testers.py [--tries 5] [--seed 1]`; the table is in benchmarks/README.md. The device is the
bridge of `slowdown.py`, before which an XDP program takes 5 % longer in B. testpmd sends as fast as it can, by AF_XDP
or a packet socket, without a break; the kernel's counter of the receiving port says how many frames come out in a
second, and A and B take turns. It is sure once the 99 % interval of the pairs' differences excludes zero, looked at
after each pair from the fourth on; no correction is made for looking so often, which favours it. Sides are equal in
half of the tries: what is sure then is a false alarm.

Two more were tried on Linux 6.18. xdp-trafficgen (xdp-tools 1.3) is refused by the kernel: a tracepoint that it needs
is not there. trafgen 0.6.8 sends frames without their first 14 bytes, so none comes out.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scipy.stats import t
from slowdown import PORTS, Made, Sides, bed, compared

PERCENT = 5.0
BEGIN_S, SETTLE_S, WINDOW_S = 3.0, 0.2, 1.0
LIMIT_S = 120.0
LEAST_PAIRS = 4
TESTERS = {"testpmd, AF_XDP": "net_af_xdp0", "testpmd, packet socket": "net_af_packet0"}


@contextmanager
def sending(driver: str) -> Iterator[None]:
    """testpmd sends through this driver as fast as it can."""
    mac = Path(f"/sys/class/net/{PORTS[1]}/address").read_text().strip()
    command = ["dpdk-testpmd", "--no-huge", "-m", "128", "--no-pci", f"--vdev={driver},iface={PORTS[0]}", "-l", "0,1"]
    command += ["--", "--forward-mode=txonly", "--auto-start", "--txpkts=60", "--total-num-mbufs=8192"]
    command += [f"--eth-peer=0,{mac}", "--stats-period=60"]
    quiet = subprocess.DEVNULL
    sender = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        time.sleep(BEGIN_S)
        yield
    finally:
        sender.send_signal(signal.SIGINT)
        try:
            sender.wait(5)
        except subprocess.TimeoutExpired:
            sender.kill()
            sender.wait()


def _received() -> int:
    return int(Path(f"/sys/class/net/{PORTS[1]}/statistics/rx_packets").read_text())


def rate_fps() -> float:
    """Frames/s that come out."""
    time.sleep(SETTLE_S)
    before, began_s = _received(), time.monotonic()
    time.sleep(WINDOW_S)
    return (_received() - before) / (time.monotonic() - began_s)


def other(driver: str, sides: Sides) -> tuple[str, float]:
    """What another tester finds of the sides, and after how many seconds."""
    began_s = time.monotonic()
    found: list[float] = []
    with sending(driver):
        while time.monotonic() - began_s < LIMIT_S:
            rates = {}
            for name in ("ab", "ba")[len(found) % 2]:
                subprocess.run(["/bin/sh", "-c", getattr(sides, name)], check=True, capture_output=True)
                rates[name] = rate_fps()
            if not all(rates.values()):
                raise SystemExit(f"no frame comes out of the bridge by {driver}")
            found.append(math.log(rates["b"] / rates["a"]))
            if len(found) < LEAST_PAIRS:
                continue
            wide = t.ppf(0.995, len(found) - 1) * statistics.stdev(found) / math.sqrt(len(found))
            if abs(statistics.mean(found)) > wide:
                slower = statistics.mean(found) < 0
                return "worse" if slower else "better", time.monotonic() - began_s
    return "undecided", LIMIT_S


def main() -> None:
    """Compares with all testers in turn and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=5, help="of each tester, and as many equal ones")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if shutil.which("dpdk-testpmd") is None:
        parser.error("dpdk-testpmd is not installed (apt install dpdk-dev)")
    chance = random.Random(asked.seed)
    todo = [(name, percent) for name in ("keisoku ab cost", *TESTERS) for percent in (PERCENT, 0.0)] * asked.tries
    chance.shuffle(todo)
    found: dict[tuple[str, float], list[tuple[str, float]]] = {}
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        making = Made(folder, chance)
        for number, (name, percent) in enumerate(todo):
            with bed("xdp", folder):
                sides = making.sides("xdp", percent or PERCENT)
                sides = sides if percent else Sides("equal", sides.a, sides.a)
                subprocess.run(["/bin/sh", "-c", sides.a], check=True, capture_output=True)
                if name in TESTERS:
                    verdict, took_s = other(TESTERS[name], sides)
                else:
                    verdict, _, took_s = compared(sides, "xdp", ("2min", "0%" if percent else "5%"), number, folder)
            found.setdefault((name, percent), []).append((verdict, took_s))
            print(f"{name}, {percent:g} %: {verdict}, {took_s:.0f} s", flush=True)
    print("\n| tester | B slower by | tries | verdicts | median s |\n|---|---:|---:|---|---:|")
    for (name, percent), verdicts in sorted(found.items()):
        said = [verdict for verdict, _ in verdicts]
        counts = ", ".join(f"{said.count(each)} {each}" for each in dict.fromkeys(said))
        middle = statistics.median(took_s for _, took_s in verdicts)
        print(f"| {name} | {percent:g} % | {len(verdicts)} | {counts} | {middle:.0f} |")


if __name__ == "__main__":
    main()
