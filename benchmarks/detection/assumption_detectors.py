"""How often a throughput search says that loss is by chance, or that a buffer fed its trials: hits and false alarms.

Run it by itself: `python benchmarks/detection/assumption_detectors.py [FIRST LAST]`, with the range of seeds: those
below 1000 are for choosing constants, all others for showing what was chosen. Virtual time only.
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.simulated_trials import carry_out, device, plan

from keisoku.subjects.device.method.assumption import chance_of_loss, outflow

LINK_BPS = 1e8
FIRST, LAST = 1000, 1150
FED, SLIGHTLY = 1.003, 1.0002
"""A throughput is fed by a buffer if it is so many times what the output sends."""


def _log_uniform(chance: random.Random, low: float, high: float) -> float:
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def _limited(chance: random.Random, frames: tuple[float, float], size: int) -> tuple[str, float]:
    """An output slower than the link with a buffer of so many frames, and the frames/s that it sends."""
    service_bps = LINK_BPS * _log_uniform(chance, 3e-3, 0.97)
    buffer = max(64, round(size * _log_uniform(chance, *frames)))
    toml = f"[output]\nservice_bits_per_second = {service_bps}\nbuffer_bytes = {buffer}\n"
    if chance.random() < 0.5:
        spread_ns = size * 8e9 / LINK_BPS * _log_uniform(chance, 0.01, 10)
        toml += f'[jitter]\ndistribution = "normal"\nspread_ns = {spread_ns}\n'
    return toml, service_bps / (8 * (size + 20))


def _addresses(chance: random.Random, slowly: bool) -> bool:
    """Whether a search for a table's capacity says that the device learns too slowly."""
    asked = 100_000.0
    rate = asked * (_log_uniform(chance, 0.01, 0.999) if slowly else chance.uniform(1.01, 20))
    entries = round(_log_uniform(chance, 10, 8192))
    toml = f"ports = 4\n[address_table]\nentries = {entries}\nlearning_per_second = {rate}\n"
    settings = {"learning_fps": asked, "test_fps": asked, "settle_s": 0.001, "most_addresses": 10_000}
    phases = {"learning_wait_s": 0.0, "drain_s": 0.1, "rest_s": 0.0}
    source = plan("address_caching", frame_bytes=[64], ports=["1", "2", "3"], phases=phases, address_caching=settings)
    row = carry_out(source, device(toml))[0].rows[0]
    right = row.figures["addresses"].value == entries - 3 and not row.figures["addresses"].bound
    assert slowly or right, (entries, row)
    return "learns more slowly" in row.remark


def main() -> None:
    """Prints all tables."""
    first, last = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (FIRST, LAST)
    chance_table: dict[str, list[bool]] = {}
    fed_table: dict[str, list[bool]] = {}
    address_table: dict[str, list[bool]] = {}
    for seed in range(first, last):
        chance = random.Random(f"assumption {seed}")
        for name, slowly in (("learns more slowly than asked", True), ("learns as fast as asked", False)):
            address_table.setdefault(name, []).append(_addresses(chance, slowly))
        size, seconds = chance.choice((64, 256, 1518)), _log_uniform(chance, 0.2, 2)
        line_fps = LINK_BPS / (8 * (size + 20))
        ratio = _log_uniform(chance, 10 / (line_fps * seconds), 0.02)
        shallow, slow_fps = _limited(chance, (1, 200), size)
        deep, deep_fps = _limited(chance, (200, 20_000), size)
        families = {
            "loss by chance": (f"[loss]\nratio = {ratio}\n", line_fps),
            "a limit": (shallow, slow_fps),
            "a limit behind a deep buffer": (deep, deep_fps),
            "a limit, and loss by chance below it": (f"{shallow}[loss]\nratio = {ratio}\n", slow_fps),
            "the link": ("", line_fps),
        }
        for name, (toml, fps) in families.items():
            settings = {"trial_s": seconds, "resolution_percent": 0.1}
            source = plan("throughput", frame_bytes=[size], throughput=settings, seed=seed)
            result, records = carry_out(source, device(f"link_bits_per_second = {LINK_BPS}\n{toml}"))
            usable = [record for record in records if record.valid]
            chance_table.setdefault(name, []).append(chance_of_loss(usable) is not None)
            shown = next((record for record in records if record.index == result.rows[0].trial), None)
            if shown is not None:
                share = shown.offered_fps / fps
                kind = (
                    "fed by a buffer" if share > FED else "fed, by less than 0.3 %" if share > SLIGHTLY else "not fed"
                )
                fed_table.setdefault(kind, []).append(outflow(shown) is not None)
    print(f"| device, seeds {first} to {last - 1} | runs | said that loss is by chance |")
    print("|---|---|---|")
    for name, said in chance_table.items():
        print(f"| {name} | {len(said)} | {sum(said)} ({100 * sum(said) / len(said):.1f} %) |")
    print("\n| table of addresses | runs | said that it learns more slowly |")
    print("|---|---|---|")
    for name, said in address_table.items():
        print(f"| {name} | {len(said)} | {sum(said)} ({100 * sum(said) / len(said):.1f} %) |")
    print("\n| deciding trial | runs | said that a queue grew |")
    print("|---|---|---|")
    for name, said in fed_table.items():
        print(f"| {name} | {len(said)} | {sum(said)} ({100 * sum(said) / len(said):.1f} %) |")


if __name__ == "__main__":
    main()
