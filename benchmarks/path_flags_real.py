"""The flags of `keisoku path one-packet` on real kernels: tbf, hidden stages, losses, and the limit of Linux.

`python benchmarks/path_flags_real.py [NAME …]` (needs root) lays each path in namespaces, measures it for at most the
seconds given, and prints a row for each with the rates, the loss of the last hop, and all flags. Judges nothing.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from keisoku.host.place import Place
from keisoku.lab.path.hop import Hop
from keisoku.lab.path.lab import PathLab
from keisoku.lab.path.node import Icmp
from keisoku.path.one_packet.analysis import HOP, analyse
from keisoku.path.one_packet.fit import fit_path
from keisoku.path.one_packet.probe import HopProbe
from keisoku.path.one_packet.probing import HopProbing
from keisoku.path.one_packet.settings import OnePacketSettings
from keisoku.path.one_packet.sockets import HopSockets
from keisoku.report import digits

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


def row(name: str, bed: Bed) -> str:
    """Measures a path."""
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
    return f"| {name} | {rates} | {lost} | {', '.join(limits) or '–'} | {seconds:.0f} | {', '.join(said) or '–'} |"


def main() -> None:
    """Prints the table."""
    print("| path | rates, Mb/s | lost to the last hop and back | limits on replies | s | flags |")
    print("|---|---|---|---|---|---|")
    for name in sys.argv[1:] or BEDS:
        print(row(name, BEDS[name]), flush=True)


if __name__ == "__main__":
    main()
