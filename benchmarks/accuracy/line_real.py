"""What `keisoku line survey` says of real namespaces whose rates, NAT and timeouts are known. Needs root.

`python benchmarks/accuracy/line_real.py [FIRST] [COUNT]` makes COUNT paths (default 4) by chance, with seeds from FIRST
(default 1) on: 3 to 50 Mb/s in each direction, a NAT of the kernel, timeouts of 3 to 15 s. One round each, about half a
minute.
"""

from __future__ import annotations

import random
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.kernel_nat import KINDS, OTHER, prepare

from keisoku.ground.entry import Work
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.name import find_path
from keisoku.ground.report import digits
from keisoku.ground.run.settings import parsed
from keisoku.ground.statistics.quantity import Quantity
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.table import find
from keisoku.subjects.line.survey.analysis import RATE
from keisoku.subjects.line.survey.nat import ANSWERED, KEPT, NAT, UNANSWERED

FORGETTING = (
    "masquerade",
    "masquerade random",
    "masquerade fully-random",
    "fixed ports",
    "ports by address",
    "firewall",
)


def main() -> None:
    """Measure, and print."""
    first, count = (int(given) for given in [*sys.argv[1:3], *("1", "4")[len(sys.argv) - 1 :]][:2])
    print("| seed | | truth | said | inside |")
    for seed in range(first, first + count):
        _one(seed)


def _one(seed: int) -> None:
    chance = random.Random(seed)
    rates = {"upload": chance.uniform(3, 50), "download": chance.uniform(3, 50)}
    name = chance.choice(FORGETTING)
    kind = replace(KINDS[name], unanswered_s=chance.randint(3, 15), answered_s=chance.randint(3, 15))
    path = f"path?hops=200M,{rates['upload']:.2f}M/{rates['download']:.2f}M&queue=80k&delay=5ms&icmp=unlimited"
    with find_path(path) as lab:
        prepare(kind, lab)
        with (
            FarEnd("stream", Place(lab.target_address, lab.target_namespace), "--other-address", OTHER) as server,
            tempfile.TemporaryDirectory() as folder,
        ):
            measurement = find("line")
            host = f"{lab.target_address}@{lab.tester_namespace}"
            given = {"host": host, "port": server.port, "rounds": 1, "ramp_s": 0.8, "duration_s": 0.8, "within_s": 90.0}
            done = carry_out(Work(measurement, parsed(measurement.settings, given), Path(folder) / "run"))
    rows = {(row.group, row.case): row for row in done.results[0].rows}
    for case, rate in rates.items():
        _print(seed, case, f"{rate:.2f} Mb/s", 1e4 * round(100 * rate), rows[RATE, case].figures["capacity"])
    for case, truth_s in ((UNANSWERED, kind.unanswered_s), (ANSWERED, kind.answered_s)):
        if (KEPT, case) in rows:
            _print(seed, case, f"{truth_s} s", 1e9 * truth_s, rows[KEPT, case].figures["timeout"])
    said = "; ".join(rows[NAT, case].remark for case in ("kind", "mapping", "filtering") if (NAT, case) in rows)
    print(f"| {seed} | {name} | {kind.expected} | {said} | |", flush=True)


def _print(seed: int, case: str, truth: str, value: float, figure: Quantity) -> None:
    lower, upper = figure.bounds or (float("nan"), float("nan"))
    print(f"| {seed} | {case} | {truth} | {digits.text(figure)} | {'yes' if lower <= value <= upper else 'NO'} |")


if __name__ == "__main__":
    main()
