"""Whether interruptions between two ends are recovered: seeded interruptions of known length on a path of namespaces.

    python benchmarks/accuracy/outage.py [CASES] [FIRST] [SEED] [TCP] [CAUSE…]
    python benchmarks/accuracy/outage.py quiet SECONDS
    python benchmarks/accuracy/outage.py most FLOWS INTERVAL_MS

A case has 1 to 100 flows of UDP or TCP, IPv4 or IPv6, an interval of 1 to 20 ms, and an interruption of 2 ms to 20 s by
a route, nftables, a link, a moved port or address, by a far end that is killed and started again, or by a stop of it,
which is none of the path. The truth is known to the time that the kernel's call took. `most` has one interruption of
0.5 s at a rate of your choice. docs/how-we-know/paths-and-streams.md has the tables; their
seed is not that of the test ladder.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.outage_bed import FAR, FAR6, PORT, Bed, FarEnd, FlowWatch, Truth, frozen
from support.outage_routers import SERVICE, BgpBed, VrrpBed

from keisoku.subjects.stream.outage.analysis import Interruption, Outcome, outcome_of
from keisoku.subjects.stream.outage.measure import last_record
from keisoku.subjects.stream.outage.session import OutageSession
from keisoku.subjects.stream.outage.settings import OutageSettings

BEFORE_S, AFTER_S = 0.4, 0.6
MOST_PER_SECOND = 5000
"""In each direction: both ends and the path share two cores with other programs."""
SLACK_NS = 50_000_000
MOST_TCP_S = 4.0
"""TCP waits as long again before it sends again."""
STAMP_NS = 2_000_000
"""By which the clock of the kernel's stamps is read off at most, and a program is woken late."""
STOPPED, FROZEN, KILLED = "far end stopped", "far end frozen", "far end killed"
OF_HOST = (STOPPED, FROZEN)
"""Of the far end's host, and none of the path."""
BEDS = {"VRRP": VrrpBed, "BGP withdrawal": BgpBed}
"""Causes with a bed of their own, in which daemons decide when the way is there again."""
CAUSES = (
    "blackhole forward",
    "blackhole reverse",
    "blackhole both",
    "blackhole IPv6",
    "nftables",
    "link down",
    "interface moved",
    "address moved",
    STOPPED,
    FROZEN,
    KILLED,
    *BEDS,
)
DIRECTIONS = {
    "blackhole forward": ("forward",),
    "blackhole reverse": ("reverse",),
    "BGP withdrawal": ("forward",),
    STOPPED: (),
    FROZEN: (),
}
"""Where a cause interrupts only these."""


@dataclass
class Case:
    """One interruption, and how it was found."""

    cause: str
    tcp: bool
    flows: int
    interval_s: float
    length_s: float
    truth: Truth | None = None
    compared: int = 0
    covered: int = 0
    missed: int = 0
    blind: int = 0
    invented: int = 0
    width_ns: float = 0.0

    @property
    def seen(self) -> bool:
        """Whether the truth is what another program sees at the receiving host."""
        return self.tcp or self.cause in BEDS


def drawn(number: int, seed: str, causes: Sequence[str], share_of_tcp: float) -> Case:
    """The case of this number, of one of these causes."""
    chance = random.Random(f"{seed} {number}")
    flows = round(10 ** chance.uniform(0, 2))
    interval_s = max(chance.choice((0.001, 0.005, 0.01, 0.02)), flows / MOST_PER_SECOND)
    tcp = chance.random() < share_of_tcp
    length_s = 10 ** chance.uniform(math.log10(0.002), math.log10(MOST_TCP_S if tcp else 20))
    cause = chance.choice(causes)
    return Case(cause, tcp, flows, interval_s, length_s)


Progress = dict[str, dict[int, list[int]]]


def measured(bed: Bed, far: FarEnd, case: Case) -> tuple[Outcome, Progress]:
    """Carries it out; with TCP also when data came on at each host, by the flow."""
    address = {"blackhole IPv6": FAR6, "BGP withdrawal": SERVICE}.get(case.cause, FAR)
    settings = OutageSettings(host=f"{address}@{bed.name('near')}", flows=case.flows, interval_s=case.interval_s)
    watches = {}
    if case.seen:
        port = PORT + case.tcp
        watches = {name: FlowWatch(bed, key, port) for name, key in (("forward", "far"), ("reverse", "near"))}
    session = OutageSession(settings, tcp=case.tcp)
    try:
        kept_up(session, BEFORE_S)
        with frozen(far.child.pid) as freezing:
            of_far = {STOPPED: (far.stop, far.go_on), FROZEN: freezing, KILLED: (far.kill, far.start)}
            case.truth = bed.interrupted(*(of_far.get(case.cause) or bed.causes()[case.cause]), case.length_s)
        # TCP sends again after twice the time each time, so that it may be back as late again.
        later_s = (1.2 * case.length_s + 0.5) * case.tcp + 2.0 * (case.cause in (KILLED, *BEDS))
        kept_up(session, AFTER_S + later_s)
        found = outcome_of(json.loads(last_record(session, [])))
    finally:
        session.close()
        progress = {name: watch.end() for name, watch in watches.items()}
    return found, progress


def kept_up(session: OutageSession, seconds: float) -> None:
    """Goes on for so long, as the measurement itself does."""
    until_s = time.monotonic() + seconds
    while (left_s := until_s - time.monotonic()) > 0:
        session.keep_up(json.loads(session.near.glance()))
        time.sleep(min(left_s, 0.1))


def stall_ns(times: list[int], truth: Truth, unknown_ns: float, slack_ns: float) -> tuple[float, float] | None:
    """For how long nothing came around the truth: less a time at most in which nothing was due."""
    gaps = [
        later - one
        for one, later in itertools.pairwise(times)
        if later >= truth.begun_ns[0] and one <= truth.ended_ns[1] + slack_ns
    ]
    return (max(gaps) - unknown_ns - STAMP_NS, max(gaps) + STAMP_NS) if gaps else None


def was_seen(one: Interruption, times: list[int]) -> bool:
    """Whether nothing came for as long: TCP may stall again behind the way that is there again."""
    gaps = ((last, later) for last, later in itertools.pairwise(times) if last < one.end.highest)
    return any(later - last + STAMP_NS >= one.length.lowest for last, later in gaps if later > one.begin.lowest)


def is_blind(found: Outcome, direction: str, truth: Truth) -> bool:
    """Whether the sender was away for most of the truth, and its end says so."""
    end = found.ends["near" if direction == "forward" else "far"]
    return end.blind_ns >= 0.8 * truth.length_ns[0]


def judge(case: Case, found: Outcome, progress: Progress) -> None:
    """Compares each flow with the truth."""
    truth, begun_ns = case.truth, found.begun_ns
    assert truth is not None
    slack_ns = SLACK_NS + (2e9 if case.cause in BEDS else 0)
    window = truth.begun_ns[0] - begun_ns - SLACK_NS, truth.ended_ns[1] - begun_ns + slack_ns
    for direction, flows in found.directions.items():
        hit = direction in DIRECTIONS.get(case.cause, ("forward", "reverse"))
        for flow in flows:
            own = [one for one in flow.of_path if one.end.highest >= window[0] and one.begin.lowest <= window[1]]
            is_own = hit or case.tcp
            times = [time - begun_ns for time in progress.get(direction, {}).get(flow.flow, [])]
            if case.cause in OF_HOST:
                case.invented += len(flow.of_path)
                continue
            case.invented += sum(not was_seen(one, times) for one in flow.of_path if not (is_own and one in own))
            if not is_own:
                continue
            least, most = map(float, truth.length_ns)
            if case.seen:
                # What is lost on the one way keeps acknowledgements of the other back, and may stall it as well.
                # A packet that is lost says when the way was away, a byte that waits does not.
                unknown_ns = found.interval_ns * (1 if case.tcp else 2)
                stall = stall_ns(progress[direction].get(flow.flow, []), truth, unknown_ns, slack_ns)
                if stall is None:
                    continue
                least, most = stall
            if not own and is_blind(found, direction, truth):
                case.blind += 1
                continue
            case.compared += 1
            if not own:
                is_short = least <= (found.interval_ns + 1e8 if case.tcp else found.interval_ns)
                case.covered += is_short
                case.missed += not is_short
                continue
            low = max(own, key=lambda one: one.length.likely).length.lowest
            high = sum(one.length.highest for one in own)
            # After a link is up again, kernels wait before they use it: then it was longer.
            case.covered += (low <= most or case.cause == "link down") and least <= high
            case.width_ns = max(case.width_ns, high - low)


def quiet(bed: Bed, seconds: float) -> None:
    """Prints how many interruptions were found where there was none."""
    settings = OutageSettings(host=f"{FAR}@{bed.name('near')}", flows=10, interval_s=0.01)
    for tcp in (False, True):
        session = OutageSession(settings, tcp=tcp)
        try:
            time.sleep(seconds)
            found = outcome_of(json.loads(last_record(session, [])))
        finally:
            session.close()
        flows = [flow for each in found.directions.values() for flow in each]
        print(
            f"{'TCP' if tcp else 'UDP'}: {sum(len(flow.of_path) for flow in flows)} interruptions of the path, "
            f"{sum(len(flow.interruptions) for flow in flows)} in all, {sum(flow.lost for flow in flows)} lost of "
            f"{sum(flow.sent for flow in flows)} packets in {seconds:g} s; stops of the ends: "
            + ", ".join(f"{end.stops} (longest {end.longest_ns / 1e6:.0f} ms)" for end in found.ends.values()),
            flush=True,
        )


def most(bed: Bed, far: FarEnd, flows: int, interval_s: float) -> None:
    """Prints what became of one interruption at this rate, and what was sent."""
    case = Case("blackhole both", False, flows, interval_s, 0.5)
    found, _ = measured(bed, far, case)
    judge(case, found, {})
    for name, each in found.directions.items():
        sent, lost = (sum(getattr(flow, what) for flow in each) for what in ("sent", "lost"))
        end = found.ends["near" if name == "forward" else "far"]
        print(
            f"{name}: {sent} sent in {found.length_ns / 1e9:.2f} s, {lost} lost, {end.not_sent} due while the sender "
            f"was away (at most {end.longest_blind_ns / 1e6:.1f} ms at once)"
        )
    print(case)


def main() -> None:
    """Prints a line for each case, and the table."""
    words = sys.argv[1:]
    with ExitStack() as stack:
        bed = stack.enter_context(Bed())
        far = stack.enter_context(bed.far_end())
        if words and words[0] == "quiet":
            quiet(bed, float(words[1]))
            return
        if words and words[0] == "most":
            most(bed, far, int(words[1]), float(words[2]) / 1e3)
            return
        count, first = (int(words[place]) if len(words) > place else default for place, default in ((0, 200), (1, 0)))
        seed = words[2] if len(words) > 2 else "outage"
        causes = [word for word in words[3:] if word != "TCP"] or CAUSES
        cases = []
        for number in range(first, first + count):
            case = drawn(number, seed, causes, 1.0 if "TCP" in words else 0.4)
            if case.cause in BEDS:
                with BEDS[case.cause]() as own_bed, own_bed.far_end() as own_far:
                    judge(case, *measured(own_bed, own_far, case))
            else:
                judge(case, *measured(bed, far, case))
            cases.append(case)
            print(number, case, flush=True)
    heads = [
        "cause",
        "protocol",
        "cases",
        "flows compared",
        "truth in the interval",
        "not seen",
        "sender away",
        "invented",
    ]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    for cause, tcp in sorted({(case.cause, case.tcp) for case in cases}):
        own = [case for case in cases if (case.cause, case.tcp) == (cause, tcp)]
        sums = [
            sum(getattr(case, name) for case in own) for name in ("compared", "covered", "missed", "blind", "invented")
        ]
        print(f"| {cause} | {'TCP' if tcp else 'UDP'} | {len(own)} | " + " | ".join(map(str, sums)) + " |")
    compared = sum(case.compared for case in cases)
    print(f"all: {sum(case.covered for case in cases)} of {compared}")


if __name__ == "__main__":
    main()
