"""How true `keisoku cost` is: differences of XDP programs against the kernel's own figure, and how runs repeat.

Run it by itself, with root and clang: `python benchmarks/accuracy/cost.py [--programs 10] [--runs 12] [--seed 1]`. A
program between the ports of `examples/ci` gets a number of steps more a frame, drawn at random; BPF_PROG_TEST_RUN says
what a program takes by itself. Then the bare program and a bridge are measured again and again: the interval of a run
should contain the median of all, as it is and at one pace of the core, whose clock rate may change from minute to
minute. At last the device works on the second core (threaded NAPI): what that core carries then is compared with what
`cost` says of it, there and on the sender's core.

A processor works at a short program and at what comes before and after it at the same time. So 20 steps that take 101
ns by themselves make a frame 76 ns longer. Here each program reads the clock before and after its steps, for which the
processor waits until all earlier work is done; --overlapping leaves that out.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.xdp_run import run_ns

import keisoku as ks
from keisoku.ground.statistics.quantity import Quantity

EXAMPLE = Path(__file__).parents[2] / "examples" / "ci"
SCRIPT = str(EXAMPLE / "dataplane.sh")
SOURCE = r"""
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("xdp") int forward(struct xdp_md *frame)
{
    __u64 begun_ns = APART ? bpf_ktime_get_ns() : 0;
    __u32 left = 0;
    for (int step = 0; step < WORK; step++)
        left += bpf_get_prandom_u32();
    if (WORK && left == 1)
        return XDP_DROP;
    if (APART && bpf_ktime_get_ns() == begun_ns + 1000000000)
        return XDP_DROP;
    return bpf_redirect(OUT, 0);
}
char _license[] SEC("license") = "GPL";
"""
PORTS = {"tx": "xdp:kci0", "rx": "xdp:kci1"}
INSIDE = ["ip", "netns", "exec", "keisoku-ci"]


def loaded(folder: Path, steps: int, apart: bool) -> float:
    """Builds and loads the program with so many steps; what the kernel says of it, in ns a frame."""
    source, built = folder / "forward.c", str(folder / f"{steps}.o")
    source.write_text(SOURCE)
    subprocess.run([SCRIPT, "build", source, built, f"-DWORK={steps}", f"-DAPART={int(apart)}"], check=True)
    subprocess.run([SCRIPT, "load", built], check=True)
    return run_ns("keisoku-ci", "dut0")


def cost(folder: Path, name: str, **what: str) -> Quantity | None:
    """One run of the measurement; None where the host left no calm moment."""
    return figures(folder, name, **what).get("cost")


def figures(folder: Path, name: str, **what: str) -> Mapping[str, Quantity]:
    """Of one run of the measurement; none where the host left no calm moment."""
    return ks.measure("cost", frame_bytes=64, out=folder / name, **what).results[0].rows[0].figures


def repeated(folder: Path, name: str, runs: int, **what: str) -> str:
    """A row of the second table."""
    every = [figures(folder, f"{name}-{number}", **what) for number in range(runs)]
    found = [each for each in every if "cost" in each and each["cost"].bounds is not None]
    if not found:
        return f"| {name} | 0 |"
    usual_ns = statistics.median(each["pace"].value for each in found)
    said = []
    for factors in ([1.0] * len(found), [usual_ns / each["pace"].value for each in found]):
        costs = [each["cost"].scaled(factor, "ns") for each, factor in zip(found, factors, strict=True)]
        middle = statistics.median(each.value for each in costs)
        ends = [100 * (end(each.value for each in costs) / middle - 1) for end in (min, max)]
        within = sum(each.bounds[0] <= middle <= each.bounds[1] for each in costs if each.bounds)
        said.append(f"{middle:.1f} | {ends[0]:+.1f} to {ends[1]:+.1f} | {within}")
    return f"| {name} | {len(found)} | {' | '.join(said)} |"


def second_core(folder: Path, steps: int) -> str:
    """A row of the third table."""
    loaded(folder, steps, apart=False)
    shared = ks.measure("cost", frame_bytes=64, out=folder / f"shared-{steps}", **PORTS)
    subprocess.run([*INSIDE, "sh", "-c", "echo 1 > /sys/class/net/dut0/threaded"], check=True)
    try:
        for thread in Path("/proc").glob("[0-9]*/comm"):
            if thread.read_text().startswith("napi/dut0"):
                subprocess.run(["taskset", "-pc", "1", thread.parent.name], check=True, stdout=subprocess.DEVNULL)
        own = ks.measure("cost", frame_bytes=64, out=folder / f"second-{steps}", **PORTS)
    finally:
        subprocess.run([*INSIDE, "sh", "-c", "echo 0 > /sys/class/net/dut0/threaded"], check=True)
    carried = [
        trial.facts.tracked.forwarded_frames / trial.trial.duration_ns * 1e6
        for trial in own.trials
        if not trial.trial.on_cable
    ]
    cores = [one.results[0].rows[0].figures.get("core") for one in (own, shared)]
    there, here = ("no calm moment" if core is None else f"{core.value / 1e3:.0f}" for core in cores)
    return f"| {steps} | {statistics.median(carried):.0f} | {there} | {here} |"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=10)
    parser.add_argument("--runs", type=int, default=12, help="of each device that is measured again and again")
    parser.add_argument("--second", type=int, default=4, help="programs that work on the second core")
    parser.add_argument("--overlapping", dest="apart", action="store_false", help="see above")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        subprocess.run([SCRIPT, "up"], check=True)
        try:
            print("| steps | the kernel's figure more, ns | `cost` more, ns | difference, ns |\n|---:|---:|---:|---:|")
            for number in range(asked.programs):
                steps = chance.choice([1, 2, 5, 10, 20, 50, 100, 200])
                bare_ns, bare = loaded(folder, 0, asked.apart), cost(folder, f"bare-{number}", **PORTS)
                more_ns, more = loaded(folder, steps, asked.apart), cost(folder, f"more-{number}", **PORTS)
                if bare is None or more is None:
                    print(f"| {steps} | no calm moment |")
                    continue
                truth_ns, found_ns = more_ns - bare_ns, more.value - bare.value
                print(f"| {steps} | {truth_ns:.0f} | {found_ns:.1f} | {found_ns - truth_ns:+.1f} |", flush=True)
            loaded(folder, 0, apart=False)
            print(
                "\n| device | runs | median, ns | range, % | intervals with the median "
                "| at one pace, ns | range, % | intervals with the median |\n|---|---:|---:|---|---:|---:|---|---:|"
            )
            for name, what in (("XDP program", PORTS), ("bridge", {"dut": "lab:bridge"})):
                print(repeated(folder, name, asked.runs, **what), flush=True)
            print("\n| steps | carried on the second core, kframes/s | `core` there | `core` on the sender's core |")
            print("|---:|---:|---:|---:|")
            for steps in chance.sample([0, 20, 50, 100, 200], asked.second):
                print(second_core(folder, steps), flush=True)
        finally:
            subprocess.run([SCRIPT, "down"], check=True)


if __name__ == "__main__":
    main()
