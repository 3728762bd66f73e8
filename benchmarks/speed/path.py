"""`keisoku path one-packet` against Debian's pchar on the same paths of known truth: error of every hop, and time.

Each path is laid once; keisoku measures it, then pchar does, with as many repeats of its sizes and hardly any pause
between them (by default it would pause 0.25 s, which makes six minutes a hop). Both keep off the links' CPU. A case
that pchar cannot finish is left to keisoku alone. Needs root. Prints a row a hop; judges nothing.

Run: python benchmarks/speed/path.py [--quick] [--only CASE …]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from keisoku.ground.host.place import Place
from keisoku.ground.lab.path.cross_traffic import CrossTraffic
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.run.result import Result
from keisoku.subjects.path.one_packet.judgement.analysis import HOP, analyse
from keisoku.subjects.path.one_packet.judgement.path import fit_path
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.schedule import HopProbing
from keisoku.subjects.path.one_packet.probing.sockets import HopSockets
from keisoku.subjects.path.one_packet.settings import OnePacketSettings

M = 1_000_000
PORT = 33435
REPEATS = 8
PCHAR_PATIENCE_S = 300


@dataclass(frozen=True)
class Case:
    """A path, and whether pchar is asked too."""

    hops: tuple[Hop, ...]
    icmp: str = "unlimited"
    cross: tuple[CrossTraffic, ...] = ()
    budget_s: float = 60.0
    peer: bool = True
    quick: bool = True


FOUR = (Hop(100 * M), Hop(50 * M), Hop(10 * M), Hop(100 * M))
CASES = {
    "100/50/10/100": Case(FOUR),
    "100 out, 10 back": Case((Hop(100 * M, 10 * M), *FOUR[1:])),
    "50 % cross traffic on hop 3": Case(FOUR, cross=(CrossTraffic(hop=3, share=0.5),)),
    "two stages of 100 in hop 2": Case((Hop(100 * M), Hop(100 * M, stages=(100 * M,)), Hop(100 * M))),
    "1000, MTU 1500": Case((Hop(1000 * M),) * 4, budget_s=120.0, quick=False),
    "1000, MTU 9100": Case((Hop(1000 * M, mtu=9100),) * 4, quick=False),
    "token bucket of 10 in hop 2": Case((Hop(100 * M), Hop(10 * M, bucket_bytes=15_000), Hop(100 * M)), quick=False),
    "100/50/10/100, ICMP limit of Linux": Case(FOUR, icmp="default", budget_s=600.0, peer=False, quick=False),
}


@dataclass
class Reading:
    """What a tool said of a path: Mb/s of each hop, None where it gave no positive figure."""

    seconds: float
    forward: list[float | None]
    reverse: list[float | None] = field(default_factory=list)
    uncertainty: list[float | None] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)


@contextmanager
def off(core: int | None) -> Iterator[None]:
    """This process and those that it starts keep off a CPU meanwhile, if there is another one."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before - {core} or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def keisoku(lab: PathLab, budget_s: float) -> Reading:
    """keisoku's answer."""
    settings = OnePacketSettings(host=lab.target_address, budget_s=budget_s, repetitions=REPEATS, port=PORT)
    began = time.monotonic()
    kept: list[HopProbe] = []
    with HopSockets(Place(lab.target_address, lab.tester_namespace), PORT) as wire:
        found = HopProbing(wire, settings, kept.extend, lambda text: None).run()
    answer = analyse(lab.target_address, fit_path(kept), kept, None, found.reached)
    seconds = time.monotonic() - began
    figures = [row.figures for row in answer.rows if row.group == HOP]
    return Reading(
        seconds=seconds,
        forward=[one["forward"].value / M if "forward" in one else None for one in figures],
        reverse=[one["reverse"].value / M if "reverse" in one else None for one in figures],
        uncertainty=[(one["forward"].uncertainty or 0) / M if "forward" in one else None for one in figures],
        flags=_flags(answer),
    )


def pchar(lab: PathLab, mtu: int) -> Reading | None:
    """pchar's answer; None if it is not installed, or not done in time."""
    if shutil.which("pchar") is None:
        return None
    step = max(32, mtu // 46 // 4 * 4)
    words = ["pchar", "-n", "-R", str(REPEATS), "-g", "0.002", "-I", str(step), "-m", str(mtu), lab.target_address]
    began = time.monotonic()
    try:
        done = lab.run_in_tester(
            lambda: subprocess.run(words, capture_output=True, text=True, timeout=PCHAR_PATIENCE_S, check=False)
        )
    except subprocess.TimeoutExpired:
        return None
    rates = [_rate(word) for word in re.findall(r"Hop char:.*bw = *(\S+) Kbps", done.stdout)]
    return Reading(time.monotonic() - began, rates)


def _rate(word: str) -> float | None:
    """Mb/s; None for the dashes that pchar prints where it found a slope below zero."""
    return float(word) / 1e3 if re.fullmatch(r"[\d.]+", word) and float(word) > 0 else None


def rows(name: str, case: Case) -> Iterator[str]:
    """The table's rows of one case."""
    with PathLab(list(case.hops), icmp=case.icmp, cross_traffic=case.cross) as lab, off(lab.core):  # type: ignore[arg-type]
        ours = keisoku(lab, case.budget_s)
        peer = pchar(lab, case.hops[0].mtu) if case.peer else None
    for number, hop in enumerate(case.hops):
        forward, reverse = (rate / M for rate in hop.rates_bps)
        if hop.bucket_bytes is not None:
            forward = reverse = float("nan")
        said = [flag.split()[0] for flag in ours.flags if f"hop {number + 1} " in flag]
        cells = [
            name,
            str(number + 1),
            f"{_number(forward)} / {_number(reverse)}",
            _against(ours.forward, number, forward),
            _uncertainty(ours, number),
            _against(ours.reverse, number, reverse),
            _against(peer.forward, number, forward) if peer else "–",
            f"{ours.seconds:.0f}",
            f"{peer.seconds:.0f}" if peer else "–",
            ", ".join(said),
        ]
        yield f"| {' | '.join(cells)} |"


def _flags(answer: Result) -> list[str]:
    return [f"{flag.name} {flag.text}" for flag in answer.flags]


def _number(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.4g}"


def _against(figures: list[float | None], number: int, truth: float) -> str:
    value = figures[number] if number < len(figures) else None
    if value is None:
        return "none"
    return f"{value:.4g}" if truth != truth else f"{value:.4g} ({100 * (value / truth - 1):+.1f} %)"


def _uncertainty(reading: Reading, number: int) -> str:
    value = reading.uncertainty[number] if number < len(reading.uncertainty) else None
    return "–" if value is None else f"± {value:.2g}"


def main() -> None:
    """Measures the cases and prints the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="only the cases that take a minute")
    options.add_argument("--only", nargs="+", choices=list(CASES), help="these cases")
    chosen = options.parse_args()
    names = chosen.only or [name for name, case in CASES.items() if case.quick or not chosen.quick]
    print("| path, Mb/s | hop | truth out / back | keisoku out | U | keisoku back | pchar | s | pchar s | flags |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in names:
        for row in rows(name, CASES[name]):
            print(row, flush=True)


if __name__ == "__main__":
    main()
