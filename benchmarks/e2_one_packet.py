"""E2's one-packet table again: ten repetitions at 10, 100 and 1000 Mb/s by each source of time, beside the published.

E2 (Kitaguchi et al., TAO/CRL, 2002) compared a PC on its crystal, one on a caesium clock, and that one read by TSC; the
published figures are in keisoku/studies/e2-one-packet.csv. Ours are one link of the lab, whose rate is true, and every
probe by all sources at once, so nothing but the source differs. Needs root. Prints two tables; judges nothing.

Run: python benchmarks/e2_one_packet.py [--repeats 40]
"""

from __future__ import annotations

import argparse
import csv
from importlib.resources import files

from path import M, off

from keisoku.lab import Hop, PathLab
from keisoku.path.hop_campaign import HopCampaign
from keisoku.path.hop_probe import HopProbe
from keisoku.path.hop_socket import HopSockets
from keisoku.path.one_packet_settings import OnePacketSettings
from keisoku.path.one_packet_sources import source_rows
from keisoku.path.place import Place
from keisoku.path.stamp_noise import stamp_noise
from keisoku.record.observation import ObservedRow
from keisoku.report import digits

PUBLISHED = "e2-one-packet.csv"
RATES = (10, 100, 1000)


def published() -> list[dict[str, str]]:
    """Rows of E2's table."""
    return list(csv.DictReader(files("keisoku").joinpath("studies", PUBLISHED).read_text("utf-8").splitlines()))


def measure(rate_mbps: int, repeats: int) -> list[ObservedRow]:
    """Mean and variance by source of time over one link of this rate, probed `repeats` times with every size."""
    with PathLab([Hop(rate_mbps * M)], icmp="unlimited") as lab, off(lab.core):
        place = Place(lab.target_address, lab.tester_namespace)
        # No width is narrow enough to stop before all repeats are there, and the budget only bounds a disturbed host.
        settings = OnePacketSettings(host=lab.target_address, repeats=repeats, precision=1.0, budget_s=120, trains=0)
        noise = stamp_noise(lab.target_address, place.path)
        kept: list[HopProbe] = []
        with HopSockets(place, settings.port) as wire:
            HopCampaign(wire, settings, kept.extend, lambda text: None).run()
    return source_rows(kept, noise)


def main() -> None:
    """Measures and prints both tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeats", type=int, default=40, help="of each size; a tenth of them makes a repetition")
    repeats = options.parse_args().repeats
    print("| E2, Mb/s | clock | mean, Mb/s | variance, (Mb/s)² |\n|---|---|---|---|")
    for row in published():
        print(f"| {row['rate_mbps']} | {row['clock']} | {row['mean_mbps']} | {row['variance']} |")
    print("\n| ours, Mb/s | source of time | mean, Mb/s | variance, (Mb/s)² | of it predicted from the clock, % |")
    print("|---|---|---|---|---|")
    for rate in RATES:
        for row in measure(rate, repeats):
            mean, variance = digits.digits(row.figures["mean"]), row.figures["variance"].value
            share = row.figures.get("clock_share")
            part = "not known" if share is None else digits.significant(share.value, 2)
            print(f"| {rate} | {row.name.partition(', ')[2]} | {mean.compact} | {variance:.3g} | {part} |", flush=True)


if __name__ == "__main__":
    main()
