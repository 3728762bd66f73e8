"""The flags of `keisoku path one-packet` on real kernels: tbf, hidden stages, losses, and the limit of Linux.

`python benchmarks/detection/path_flags_real.py [NAME …]` (needs root) lays each path in namespaces, measures it for at
most the seconds given, and prints a row for each with the rates, the loss of the last hop, and all flags. `--random
COUNT [--seed N]` draws paths by chance in place of those with names: up to three hops, one of which may have a bucket
or hidden stages, losses of 0.5 to 5 % on each link, and MTUs; it also prints a table of hits and false alarms.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass, replace

from path_flags import Seen, enter, hops_flagged, hops_limited, print_detectors

from keisoku.ground.host.place import Place
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.lab.path.node import Icmp
from keisoku.ground.report import digits
from keisoku.ground.run.result import Result
from keisoku.subjects.path.one_packet.judgement.analysis import HOP, analyse
from keisoku.subjects.path.one_packet.judgement.path import fit_path
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.schedule import HopProbing
from keisoku.subjects.path.one_packet.probing.sockets import HopSockets
from keisoku.subjects.path.one_packet.settings import OnePacketSettings

M = 1_000_000
PORT = 33435


@dataclass(frozen=True)
class Bed:
    """A path, and how long it may be measured."""

    hops: tuple[Hop, ...]
    icmp: Icmp = "unlimited"
    budget_s: float = 20.0


PLAIN = (Hop(100 * M), Hop(40 * M), Hop(100 * M))
BEDS = {
    "plain": Bed(PLAIN),
    "tbf 10 Mb/s, burst 15 kB": Bed((Hop(100 * M), Hop(10 * M, bucket_bytes=15_000), Hop(100 * M))),
    "tbf 50 Mb/s, burst 32 kB": Bed((Hop(1000 * M), Hop(50 * M, bucket_bytes=32_000), Hop(1000 * M))),
    "tbf 5 Mb/s, burst 5 kB, alone": Bed((Hop(5 * M, bucket_bytes=5_000),)),
    "two stages of 100 in hop 2": Bed((Hop(100 * M), Hop(100 * M, stages=(100 * M,)), Hop(100 * M))),
    "two stages of 50 in hop 1": Bed((Hop(50 * M, stages=(50 * M,)), Hop(100 * M))),
    "MTU 576": Bed(tuple(Hop(rate * M, mtu=576) for rate in (100, 40, 100))),
    "loss 5 % by the link": Bed((Hop(100 * M, loss=0.05), *PLAIN[1:])),
    "limit of Linux": Bed(PLAIN, icmp="default", budget_s=330.0),
    "limit of Linux, loss 2 %": Bed((Hop(100 * M, loss=0.02), *PLAIN[1:]), icmp="default", budget_s=330.0),
}


RATES = (5, 10, 20, 50, 100, 100, 200, 500)
"""Mb/s of drawn links; the lab's own cannot keep time beyond."""
STEP, NARROW, FASTEST_BUCKET, BURST_FRAMES = 1.35, 0.5, 200 * M, 40
"""What can be seen, as in virtual time (tests/support/random_path.py)."""


def drawn(seed: int) -> Bed:
    """A path by chance."""
    chosen = random.Random(seed)
    mtu = chosen.choice((1500, 1500, 1500, 576))
    hops = [Hop(chosen.choice(RATES) * M, mtu=mtu) for _ in range(chosen.randint(1, 3))]
    place = chosen.randrange(len(hops))
    trait = chosen.choice(("none", "bucket", "bucket", "stages", "stages"))
    if trait == "bucket":
        rate = round(min(hop.forward_bps for hop in hops[: place + 1]) * chosen.uniform(0.1, 0.6))
        hops[place] = Hop(rate, mtu=mtu, bucket_bytes=round((mtu + 14) * chosen.uniform(2, 30)))
    elif trait == "stages":
        hops[place] = replace(hops[place], stages=(hops[place].forward_bps,) * chosen.randint(1, 2))
    if chosen.random() < 0.3:
        lossy = chosen.randrange(len(hops))
        if hops[lossy].bucket_bytes is None:
            hops[lossy] = replace(hops[lossy], loss=chosen.uniform(0.005, 0.05))
    return Bed(tuple(hops))


def compared(seed: int, bed: Bed, answer: Result) -> Seen:
    """The flags of a drawn path beside what is on it. Nothing else that a flag says is on any."""
    found = Seen(seed, set())
    before = [min((hop.forward_bps for hop in bed.hops[:at]), default=1e12) for at in range(len(bed.hops))]
    bucket, stages, can_bucket, can_stages = 0, 0, False, False
    for number, (hop, first) in enumerate(zip(bed.hops, before, strict=True), 1):
        if hop.bucket_bytes is not None:
            # The kernel's bucket is on a veth pair, which is no slower itself.
            bucket = number
            narrow = hop.forward_bps <= min(NARROW * first, FASTEST_BUCKET)
            can_bucket = narrow and hop.bucket_bytes <= BURST_FRAMES * hop.mtu
        elif hop.stages:
            stages = number
            can_stages = first >= STEP * hop.forward_bps / (1 + len(hop.stages))
    truth = {"token-bucket": (bucket, can_bucket), "hidden-stages": (stages, can_stages)}
    for name in ("token-bucket", "hidden-stages", "kink", "slow-router", "outage"):
        place, can_be = truth.get(name, (0, False))
        enter(found, name, {place} - {0}, hops_flagged(answer, name), can_be)
    enter(found, "limit on replies", set(), hops_limited(answer), False)
    return found


def measure(name: str, bed: Bed) -> tuple[str, Result]:
    """Measures a path; its row, and the result."""
    with PathLab(list(bed.hops), icmp=bed.icmp) as lab:
        settings = OnePacketSettings(host=lab.target_address, budget_s=bed.budget_s, port=PORT)
        kept: list[HopProbe] = []
        began = time.monotonic()
        with HopSockets(Place(lab.target_address, lab.tester_namespace), PORT) as wire:
            path = HopProbing(wire, settings, kept.extend, lambda text: None).run()
        seconds = time.monotonic() - began
    answer = analyse(lab.target_address, fit_path(kept), kept, None, path.reached)
    # Where only the sum of both ways is known, that of each if they are alike.
    hops = [one.figures.get("forward") or one.figures.get("if_symmetric") for one in answer.rows if one.group == HOP]
    routers = [one for one in answer.rows if one.group != HOP]
    rates = ", ".join("–" if one is None else f"{one.value / M:.4g}" for one in hops)
    lost = digits.text(routers[-1].figures["lost"])
    limits = [
        f"{one.figures['reply_interval'].value / 1e9:.2f} s" for one in routers if "reply_interval" in one.figures
    ]
    said = [f"{flag.name} ({flag.text[:7].rstrip(' (')})" for flag in answer.flags]
    said += [
        f"stages not checked (hop {one.case.split()[0]}: {why.partition(';')[0]})"
        for one in answer.rows
        if (why := one.remark.partition("hidden stages not checked: ")[2])
    ]
    return (
        f"| {name} | {rates} | {lost} | {', '.join(limits) or '–'} | {seconds:.0f} | {', '.join(said) or '–'} |",
        answer,
    )


def described(bed: Bed) -> str:
    """A drawn path in words."""
    links = []
    for hop in bed.hops:
        extra = (
            f" tbf {hop.bucket_bytes} byte" if hop.bucket_bytes else f" x{1 + len(hop.stages)}" if hop.stages else ""
        )
        links.append(f"{hop.forward_bps / M:.3g}{extra}" + (f" loss {100 * hop.loss:.1f} %" if hop.loss else ""))
    return f"{', '.join(links)}; MTU {bed.hops[0].mtu}"


def main() -> None:
    """Prints the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("name", nargs="*", choices=[[], *BEDS])
    options.add_argument("--random", type=int, default=0)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    seeds = range(chosen.seed, chosen.seed + chosen.random)
    print("| path | rates, Mb/s | lost to the last hop and back | limits on replies | s | flags |")
    print("|---|---|---|---|---|---|")
    for name in [] if seeds else chosen.name or BEDS:
        print(measure(name, BEDS[name])[0], flush=True)
    found = []
    for seed in seeds:
        bed = drawn(seed)
        line, answer = measure(f"{seed}: {described(bed)}", bed)
        print(line, flush=True)
        found.append(compared(seed, bed, answer))
    if found:
        print()
        print_detectors(found)


if __name__ == "__main__":
    main()
