"""Whether the report of changed frames is the list of frames that a device rewrote, frame by frame, at full rate.

Needs root. Run it by itself: `nice python benchmarks/accuracy/rewritten.py [FRAMES] [FRAMES_PER_SECOND]`; prints a
table. The lab's `faulty` device rewrites the frames whose sequence number leaves a known remainder, so that the list is
known before the first frame is sent. Of each frame of the list its row must be there, with the right fields and values.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from keisoku.ground.frame.expectation import applied, expectations
from keisoku.ground.lab.device.faults import Faults, patches
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.analysis.changes import findings
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan_testbed import wanted_testbed, wanted_traffic
from keisoku.subjects.device.record.arrival import ENTRY
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Flow, Phases, Trial
from keisoku.subjects.device.record.validity import disturbed
from keisoku.subjects.device.testbed.lab import LabTestbed

EVERY = 1000
"""Of so many frames, those with the remainders of `RULES` are rewritten."""
RULES = {
    17: (("IP.dscp=0",), "IP.dscp 46 to 0"),
    5: (("Ether.dst=02:00:00:00:00:99",), "Ether.dst {dst} to 02:00:00:00:00:99"),
    400: (("IP.ecn=3", "IP.ttl=-1"), "IP.ecn 0 to 3, IP.ttl 10 to 9"),
    733: (("UDP.chksum=0",), "UDP.chksum right to zero"),
    999: (("push=Dot1Q(vlan=9, prio=5)",), "Dot1Q(prio=5, dei=0, vlan=9) added"),
}
"""What is rewritten, and the words for it in a report."""
Entries = np.ndarray[tuple[int], np.dtype[np.void]]


class Kept:
    """The rows of frames that the core hands over."""

    def __init__(self) -> None:
        self.entries = b""

    def append(self, entries: bytes) -> None:
        """Takes what the core has ready."""
        self.entries += entries


def carry(lab: Lab, plan: Plan, wanted: Trial) -> tuple[Facts, Entries]:
    """The trial, and a row of each changed frame."""
    engine = LabTestbed(wanted_testbed(plan), lab).engine(wanted_traffic(plan))
    kept = Kept()
    try:
        engine.start(wanted, stream=1, seed=1, frames=kept)
        facts, _ = engine.finish()
    finally:
        engine.close()
    return facts, np.frombuffer(kept.entries, ENTRY)


def sent_header(plan: Plan, wanted: Trial) -> bytes:
    """What is in front of the payload of every frame: the same on each lab, whose addresses are its own."""
    with Lab("faulty") as lab:
        traffic = wanted_traffic(plan)
        table = traffic.on(LabTestbed(wanted_testbed(plan), lab).routes(traffic)).tables(wanted)[0]
        return table.frame(0)[: table.checked_from]


def compared(engine: str, frame_bytes: int, frames: int, rate: float) -> str:
    """A row of the table."""
    source = {"methods": ["changes"], "dut": "lab:faulty", "engine": engine, "headers": "Ether()/IP(tos=184)/UDP()"}
    plan = parse({**source, "frame_bytes": [frame_bytes]})
    load_ns = round(frames / rate * NS_PER_S)
    wanted = Trial(
        purpose="benchmark",
        frame_bytes=frame_bytes,
        frames_per_second=rate,
        # A sender that was held up has time to send all of it.
        duration_ns=2 * load_ns,
        phases=Phases(learning=False, learning_wait_ns=0, drain_ns=NS_PER_S // 2, rest_ns=0),
        flows=(Flow(transmit=0, receive=1, duration_ns=load_ns),),
        changes="changed",
    )
    before = sent_header(plan, wanted)
    named = {rest: words.format(dst=before[:6].hex(":")) for rest, (_, words) in RULES.items()}
    known = {sequence: named[sequence % EVERY] for sequence in range(frames) if sequence % EVERY in RULES}
    written = {
        rest: patches(before, applied(expectations(edits), before, frame_bytes - 4))
        for rest, (edits, _) in RULES.items()
    }
    faults = Faults(rewrite=tuple((sequence, written[sequence % EVERY]) for sequence in known))
    with Lab("faulty", faults=faults) as lab:
        facts, entries = carry(lab, plan, wanted)
        done = lab.applied(1)  # stream 0 is what warms the ports up
    texts = {kind: one.text for one in findings(facts) for kind in one.kinds}
    told = Counter((int(row["sequence"]), texts.get(int(row["flags"]) >> 8, "?")) for row in entries)
    reported = {sequence for sequence, _ in told}
    missed = sum(sequence not in reported for sequence in known)
    invented = sum(sequence not in known for sequence in reported)
    wrong = sum(sequence in known and known[sequence] != text for sequence, text in told)
    twice = sum(told.values()) - len(reported)
    tracked, sent = facts.tracked, facts.sent
    reached = sent.offered_frames / sent.going_ns * NS_PER_S
    of_host = "; ".join(disturbed(facts.interference)) if facts.interference else ""
    if of_host:
        print(f"{engine}, {frame_bytes} byte: {of_host}", file=sys.stderr)
    return (
        f"| {engine} | {frame_bytes} | {sent.offered_frames} | {reached:,.0f} | {tracked.lost_frames} |"
        f" {done.rewritten} | {len(reported)} | {missed} | {invented} | {wrong} | {twice} |"
    )


def main() -> None:
    """Prints the table."""
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    rate = float(sys.argv[2]) if len(sys.argv) > 2 else 50_000.0
    print("| port | byte | frames | frames/s | lost | rewritten | reported | missed | invented | wrong value | twice |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for engine in ("xdp", "packet"):
        for frame_bytes in (64, 1518):
            print(compared(engine, frame_bytes, frames, rate), flush=True)


if __name__ == "__main__":
    main()
