"""The demonstration behind `make demo`: a slowdown of 5 % found on a real Linux bridge, and two devices frame by frame.

Runs the same commands a user would type and prints each. Without root or network namespaces it
measures simulated devices instead and says what real ones would need.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from keisoku.ground.lab.available import available

ROOT = Path(__file__).parents[1]
KEISOKU = [sys.executable, "-m", "keisoku"]
DATA_PLANE = "examples/demo-bridge.sh"
OUT = Path("runs/demo")
RULES = 25, 30
"""Rules of the packet filter on both sides of the comparison: a frame takes about 5 % longer in the second one."""


def main() -> int:
    """Measures and writes one report."""
    began = time.monotonic()
    shutil.rmtree(ROOT / OUT, ignore_errors=True)
    hindrance = available()
    runs = []
    if hindrance is None:
        short = "--size 64,1518 --duration 0.2s --repetitions 3 --waits 0.05s"
        keisoku("calibrate", *short.split(), "--out", str(OUT / "cable"))
        if shutil.which("nft"):
            runs.append(slowdown())
        else:
            print("keisoku: no slowdown is looked for, because its packet filter needs nft (Debian: nftables)")
        plans = ["bridge", "router"]
    else:
        print(f"keisoku: real devices, what a frame costs in them and a slowdown cannot be measured here: {hindrance}")
        print("keisoku: measuring simulated devices instead")
        plans = ["gs908e", "catalyst2960g"]
    for plan in plans:
        runs.append(OUT / plan)
        keisoku("run", f"examples/demo-{plan}.toml", "--out", str(runs[-1]))
    report = OUT / "report.html"
    keisoku("report", *map(str, runs), "--out", str(report))
    print(f"\nkeisoku: done in {time.monotonic() - began:.0f} s; open {(ROOT / report).as_uri()}")
    return 0


def slowdown() -> Path:
    """Compares a bridge whose packet filter has some rules with one that has a few more."""
    out = OUT / "slowdown"
    few, more = (f"{DATA_PLANE} rules {rules}" for rules in RULES)
    print(f"\nkeisoku: a bridge of this host is made, whose packet filter gets {RULES[1] - RULES[0]} rules more")
    data_plane("up")
    try:
        data_plane("rules", str(RULES[0]))
        ports = ["--tx", "xdp:kdemo0", "--rx", "xdp:kdemo1", "--size", "64", "--within", "60s"]
        keisoku("ab", "cost", *ports, "--before-a", few, "--before-b", more, "--out", str(out))
    finally:
        data_plane("down")
    return out


def data_plane(*words: str) -> None:
    """Makes, changes or removes the bridge."""
    subprocess.run([DATA_PLANE, *words], cwd=ROOT, check=True)


def keisoku(*arguments: str) -> None:
    """Runs one command as a user would, showing it."""
    print(f"\n$ keisoku {shlex.join(arguments)}", flush=True)
    code = subprocess.run([*KEISOKU, *arguments], cwd=ROOT, check=False).returncode
    out = ROOT / arguments[arguments.index("--out") + 1]
    # A missed criterion (1) is a result. A run in which this machine was too busy for any figure (2) has a report too.
    if code == 2 and not (out.is_file() or (out / "report.html").exists()):
        sys.exit(code)


if __name__ == "__main__":
    sys.exit(main())
