"""How long it takes until a slowdown of 5 % is sure: `keisoku ab cost` beside other testers, on the same program.

Run it by itself, with root, clang, trafgen (netsniff-ng) and xdp-trafficgen (xdp-tools): `python
benchmarks/detection/other_testers.py [--tries 5] [--seed 1]`; the table is in benchmarks/README.md. The device is the
bridge of `slowdown.py`, before which an XDP program takes 5 % longer in B. Another tester sends as fast as it can, the
kernel's counter of the receiving port says how many frames come out in a second, and A and B take turns. It is sure
once the 99 % interval of the pairs' differences excludes zero, looked at after each pair from the fourth on; no
correction is made for looking so often, which favours it. Sides are equal in half of the tries: what is sure then is a
false alarm.
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
from collections.abc import Callable
from pathlib import Path

from scipy.stats import t
from slowdown import PORTS, Made, Sides, bed, compared

PERCENT = 5.0
WINDOW_S, SETTLE_S = 1.0, 0.2
LIMIT_S = 120.0
LEAST_PAIRS = 4
FRAME = bytes.fromhex("020000000002 020000000001 0800") + bytes.fromhex("4500002e000000000a11") + bytes(36)


def _mac(port: str) -> str:
    return Path(f"/sys/class/net/{port}/address").read_text().strip()


def _trafgen(folder: Path) -> list[str]:
    macs = bytes.fromhex((_mac(PORTS[1]) + _mac(PORTS[0])).replace(":", ""))
    file = folder / "frame.cfg"
    file.write_text("{ " + ", ".join(f"0x{byte:02x}" for byte in macs + FRAME[12:]) + " }\n")
    # Without --notouch-irq it moves interrupts of the host and leaves them moved.
    return ["trafgen", "--notouch-irq", "--cpus", "1", "--no-cpu-stats", "--conf", str(file), "--out", PORTS[0]]


def _xdp_trafficgen(folder: Path) -> list[str]:
    return ["xdp-trafficgen", "udp", "-m", _mac(PORTS[0]), "-M", _mac(PORTS[1]), "-t", "1", PORTS[0]]


TESTERS: dict[str, Callable[[Path], list[str]]] = {"trafgen": _trafgen, "xdp-trafficgen": _xdp_trafficgen}


def _received() -> int:
    return int(Path(f"/sys/class/net/{PORTS[1]}/statistics/rx_packets").read_text())


def rate_fps(command: list[str]) -> float:
    """Frames/s that come out while the tester sends."""
    quiet = subprocess.DEVNULL
    sender = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)
    try:
        time.sleep(SETTLE_S)
        before, began_s = _received(), time.monotonic()
        time.sleep(WINDOW_S)
        return (_received() - before) / (time.monotonic() - began_s)
    finally:
        sender.send_signal(signal.SIGINT)
        try:
            sender.wait(3)
        except subprocess.TimeoutExpired:
            sender.kill()
            sender.wait()


def other(command: list[str], sides: Sides) -> tuple[str, float]:
    """What another tester finds of the sides, and after how many seconds."""
    began_s = time.monotonic()
    found: list[float] = []
    while time.monotonic() - began_s < LIMIT_S:
        rates = {}
        for name in ("ab", "ba")[len(found) % 2]:
            subprocess.run(["/bin/sh", "-c", getattr(sides, name)], check=True, capture_output=True)
            rates[name] = rate_fps(command)
        if not all(rates.values()):
            raise SystemExit(f"no frame comes out: {' '.join(command)}")
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
    missing = [name for name in TESTERS if shutil.which(name) is None]
    if missing:
        parser.error(f"not installed: {', '.join(missing)} (apt install netsniff-ng xdp-tools)")
    chance = random.Random(asked.seed)
    todo = [(name, percent) for name in ("keisoku ab cost", *TESTERS) for percent in (PERCENT, 0.0)] * asked.tries
    chance.shuffle(todo)
    found: dict[tuple[str, float], list[tuple[str, float]]] = {}
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        making = Made(folder, chance)
        for number, (name, percent) in enumerate(todo):
            with bed(router=False):
                sides = making.sides("xdp", percent or PERCENT)
                sides = sides if percent else Sides("equal", sides.a, sides.a)
                subprocess.run(["/bin/sh", "-c", sides.a], check=True, capture_output=True)
                if name in TESTERS:
                    verdict, took_s = other(TESTERS[name](folder), sides)
                else:
                    verdict, _, took_s = compared(sides, False, ("2min", "0%" if percent else "5%"), number, folder)
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
