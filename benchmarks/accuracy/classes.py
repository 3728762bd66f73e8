"""How often the intervals of `keisoku qos` and `keisoku marking` contain the truth, on random simulated devices.

    python benchmarks/accuracy/classes.py [SEED] [CASES]

Constants of token buckets and weights were chosen on seeds below 100, those of curves on seeds below 3000; the
figures of docs/how-we-know/devices.md are of other seeds.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.simulated_trials import carry_out, device, plan

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.procedure.rfc3168.marking import CURVE
from keisoku.subjects.device.procedure.rfc4689.qos import LIMITS, SHARING


def measured(method: str, toml: str, size: int, seed: int, **settings: object) -> Result:
    """One run on three ports of a simulated device."""
    wanted = plan(method, ports=["1", "2", "3"], frame_bytes=(size,), seed=seed, **{method: settings})
    return carry_out(wanted, device("ports = 3\n" + toml))[0]


def inside(row: Row, name: str, truth: float) -> bool:
    """Whether a figure's interval has the truth."""
    figure: Quantity | None = row.figures.get(name)
    return bool(figure and figure.interval and figure.interval.lower <= truth <= figure.interval.upper)


def policers(chance: random.Random, cases: int, jitter: str, kind: str) -> None:
    """Rate and burst, four classes a run."""
    rates = bursts = near = both = 0
    for number in range(cases // 4):
        truths = [(round(chance.uniform(2e6, 8e7)), chance.randrange(3_000, 120_000)) for _ in range(4)]
        toml = "link_bits_per_second = 100_000_000\n" + jitter
        for code, (rate, burst) in enumerate(truths):
            toml += f"[[queue]]\ncodes = [{code}]\n{kind} = {{ bits_per_second = {rate}, burst_bytes = {burst} }}\n"
        result = measured("qos", toml, 512, number, classes=[0, 1, 2, 3], trial_s=0.2, window_s=1.0, pause_s=0.2)
        rows = {row.case: row for row in result.rows if row.group == LIMITS}
        for code, (rate, burst) in enumerate(truths):
            row = rows[f"DSCP {code}"]
            hits = inside(row, "rate", rate), inside(row, "burst", burst)
            rates, bursts, both = rates + hits[0], bursts + hits[1], both + all(hits)
            figures = [row.figures[name].value if name in row.figures else 0.0 for name in ("rate", "burst")]
            near += abs(figures[0] - rate) <= 0.01 * rate and abs(figures[1] - burst) <= 0.01 * burst
    whole = cases // 4 * 4
    print(
        f"{kind} {jitter.split()[-1] if jitter else 'no jitter':>10}: of {whole} inside: rate {rates}, burst {bursts}, "
        f"both {both}; both within 1 %: {near}"
    )


def weights(chance: random.Random, cases: int) -> None:
    """Weights of three classes."""
    hits = 0
    for number in range(cases // 2):
        kind = ("drr", "wfq")[number % 2]
        truths = [1.0, *(round(chance.uniform(1.2, 12), 2) for _ in range(2))]
        toml = f'link_bits_per_second = 100_000_000\n[scheduler]\nkind = "{kind}"\n'
        toml += "".join(
            f"[[queue]]\ncodes = [{code}]\nbuffer_bytes = 40_000\nweight = {weight}\n"
            for code, weight in enumerate(truths)
        )
        settings = {"classes": [0, 1, 2], "trial_s": 0.2, "window_s": 0.5, "pause_s": 0.2}
        result = measured("qos", toml, 512, number, **settings)
        rows = {row.case: row for row in result.rows if row.group == SHARING}
        hits += sum(inside(rows[f"DSCP {code}"], "weight", truths[code]) for code in (1, 2))
    print(f"weights: of {cases // 2 * 2} inside: {hits}")


def curves(chance: random.Random, cases: int, action: str, mark: str) -> None:
    """Kmin, Kmax, Pmax; every fourth is a step."""
    hits = {"kmin": 0, "kmax": 0, "pmax": 0}
    ramps = whole = 0
    for number in range(cases):
        least = chance.randrange(10_000, 150_000)
        most = least if number % 4 == 0 else least + chance.randrange(50_000, 200_000)
        share = round(chance.uniform(0.05, 0.9), 3)
        toml = "[output]\nbuffer_bytes = 400_000\n[[queue]]\n"
        toml += (
            f'marking = {{ least_bytes = {least}, most_bytes = {most}, most_ratio = {share}, action = "{action}" }}\n'
        )
        result = measured("marking", toml, 1000, number, trial_s=1.0, saturation_s=0.1, mark=mark)
        row = next(row for row in result.rows if row.group == CURVE)
        found = {"kmin": inside(row, "kmin", least), "kmax": inside(row, "kmax", most)}
        if most > least:
            ramps += 1
            found["pmax"] = inside(row, "pmax", 100 * share)
        if mark == "loss":  # Kmax and Pmax are told only if the queue rose so far
            found = {name: hit for name, hit in found.items() if name in row.figures or name == "kmin"}
        for name, hit in found.items():
            hits[name] += hit
        whole += all(found.values())
    print(
        f"curves ({mark}): of {cases} all inside: {whole}; kmin {hits['kmin']}, kmax {hits['kmax']}, "
        f"pmax {hits['pmax']} of {ramps}"
    )


def main() -> None:
    """All tables."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    policers(random.Random(seed), cases, "", "policer")
    policers(random.Random(seed + 1), cases, '[jitter]\ndistribution = "uniform"\nspread_ns = 20_000.0\n', "policer")
    policers(random.Random(seed + 2), cases, "", "shaper")
    weights(random.Random(seed + 3), cases)
    for place, (action, mark) in enumerate((("mark", "ce"), ("remark", "class"), ("drop", "loss"))):
        curves(random.Random(seed + 4 + place), cases, action, mark)


if __name__ == "__main__":
    main()
