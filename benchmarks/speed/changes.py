"""What it costs an xdp port to compare the headers of every frame: nanoseconds a frame in the receiving BPF program.

Needs root. Run it by itself: `python benchmarks/speed/changes.py [REPETITIONS]`; prints a Markdown table. The kernel
itself times the program (kernel.bpf_stats_enabled, which is put back), in pairs of trials with and without `changes` on
one lab device, of which each is first in turn. Medians; the difference is that of pairs, with an interval of at least
95 % from 6 of them on. It asserts nothing; the figures depend on the machine.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from accounting import added

from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan_testbed import wanted_testbed, wanted_traffic
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial
from keisoku.subjects.device.testbed.lab import LabTestbed

STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
FRAMES = 200_000
FPS = 100_000.0
CASES = {
    "64 byte": (64, ()),
    "1518 byte": (1518, ()),
    "64 byte, 1000 headers": (64, ("IP.dst=increment(198.19.0.1, count=1000)",)),
    "64 byte, 65 536 headers": (64, ("UDP.sport=random(1024-65535)",)),
}


def programs() -> dict[str, tuple[int, int]]:
    """Nanoseconds and runs so far of each BPF program that this process holds."""
    found = {}
    for entry in Path("/proc/self/fdinfo").iterdir():
        try:
            fields = dict(line.split(":\t", 1) for line in entry.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue  # the descriptor of this listing itself
        if "run_time_ns" in fields:
            found[fields["prog_id"].strip()] = int(fields["run_time_ns"]), int(fields["run_cnt"])
    return found


def cost_ns(engine: Engine, frame_bytes: int, changes: bool, number: int) -> float:
    """Of a run of the program that ran once for each frame."""
    wanted = Trial(
        purpose="benchmark",
        frame_bytes=frame_bytes,
        frames_per_second=FPS,
        duration_ns=round(FRAMES / FPS * NS_PER_S),
        phases=Phases(learning=False, learning_wait_ns=0, drain_ns=NS_PER_S // 10, rest_ns=0),
        changes="changed" if changes else None,
    )
    before = programs()
    engine.start(wanted, stream=1 + 8 * number, seed=1)
    facts, _ = engine.finish()
    runs = {name: (time - before[name][0], count - before[name][1]) for name, (time, count) in programs().items()}
    # The sender's program runs for many frames at a time.
    time, count = max(runs.values(), key=lambda own: own[1])
    assert count >= facts.tracked.received_frames > 0
    return time / count


def plan_of(frame_bytes: int, modify: tuple[str, ...]) -> Plan:
    """On a wire between two veth pairs."""
    return parse({"methods": ["changes"], "dut": "lab:faulty", "frame_bytes": [frame_bytes], "modify": modify})


def main() -> None:
    """Prints the table."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    before = STATISTICS.read_text()
    STATISTICS.write_text("1\n")
    print("| frames | without (ns) | with (ns) | difference (ns) |\n|---|---|---|---|")
    try:
        for name, (frame_bytes, modify) in CASES.items():
            plan = plan_of(frame_bytes, modify)
            with Lab("faulty") as lab:
                engine = LabTestbed(wanted_testbed(plan), lab).engine(wanted_traffic(plan))
                try:
                    found: dict[bool, list[float]] = {False: [], True: []}
                    for number in range(2 * repetitions + 2):
                        changes = number % 4 in (1, 2)
                        ns = cost_ns(engine, frame_bytes, changes, number)
                        if number >= 2:  # the first of each warms up
                            found[changes].append(ns)
                finally:
                    engine.close()
            off, on = statistics.median(found[False]), statistics.median(found[True])
            print(f"| {name} | {off:.1f} | {on:.1f} | {added(found[False], found[True])} |", flush=True)
    finally:
        STATISTICS.write_text(before)


if __name__ == "__main__":
    main()
