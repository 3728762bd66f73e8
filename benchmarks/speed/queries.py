"""Cost of each named query about frames at 1, 10 and 100 million rows: seconds, and the most memory that it took.

python benchmarks/speed/queries.py [MILLIONS...]      made frames of two streams with losses, duplicates and reordering

Every query runs in a process of its own, so that its peak of resident memory is its own. The files are read once
before, so that all queries read them from memory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from keisoku.running.measurement.query import arrow
from keisoku.subjects.device.record.arrival import DUPLICATE, ENTRY, REORDERED
from keisoku.subjects.device.record.frames import SCHEMA, arrived_rows, lost_rows
from keisoku.subjects.device.record.queries import QUERIES

MILLIONS = (1, 10, 100)
ROWS_AT_ONCE = 1 << 20
ONE_IN = 1000
"""Frames that are lost, come twice or come late: one in so many each, at random."""
INTERVAL_NS, LATENCY_NS, LATE_NS = 672, 5000, 20_000


def make(path: Path, rows: int) -> None:
    """A run of one trial whose frames were kept: as the core and the writer of frames store them."""
    chance = np.random.default_rng(rows)
    command = "loss --dut sim:gs908e --size 64 --duration 1ms --waits 1ms --out"
    subprocess.run([sys.executable, "-m", "keisoku", *command.split(), path], check=True, capture_output=True)
    target = path / "frames" / "0.parquet"
    target.parent.mkdir()
    lost: tuple[list[NDArray[np.uint64]], ...] = ([], [])
    with pq.ParquetWriter(target, SCHEMA, compression="zstd") as writer:
        for begin in range(0, rows, ROWS_AT_ONCE):
            number = np.arange(begin, min(rows, begin + ROWS_AT_ONCE), dtype=np.uint64)
            fate = chance.integers(0, ONE_IN, len(number))
            entries = np.zeros(len(number), ENTRY)
            entries["stream"], entries["sequence"], entries["port"] = number % 2, number // 2, 1
            entries["transmit_ns"] = number * INTERVAL_NS
            delay = LATENCY_NS + chance.gamma(2.0, 300.0, len(number)).astype(np.int64)
            entries["receive_ns"] = entries["transmit_ns"] + delay + np.where(fate == 2, LATE_NS, 0)
            for stream in (0, 1):
                lost[stream].append(entries["sequence"][(fate == 0) & (entries["stream"] == stream)])
            again = entries[fate == 1]
            again["flags"], again["receive_ns"] = DUPLICATE, again["receive_ns"] + 1
            entries = np.concatenate([entries[fate != 0], again])
            entries = entries[np.argsort(entries["receive_ns"], kind="stable")]
            for stream in (0, 1):
                own = np.flatnonzero((entries["stream"] == stream) & (entries["flags"] == 0))
                numbers = entries["sequence"][own]
                late = numbers < np.maximum.accumulate(numbers)
                entries["flags"][own[late]] = REORDERED
            writer.write_table(arrived_rows(entries))
        for stream in (0, 1):
            writer.write_table(lost_rows(stream, np.concatenate(lost[stream])))


@dataclass(frozen=True)
class Cost:
    """What one query took."""

    query: str
    million_rows: int
    seconds: float
    answer_rows: int
    peak_megabytes: float


def main(millions: Sequence[int] = MILLIONS) -> list[Cost]:
    """Prints a table, and returns its rows."""
    print("| query | million rows | s | rows of the answer | peak memory MB |\n|---|---|---|---|---|")
    costs = []
    for million in millions:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            make(path, million * 1_000_000)
            (path / "frames" / "0.parquet").read_bytes()
            assert pq.read_metadata(path / "frames" / "0.parquet").num_rows >= million * 1_000_000
            for name in QUERIES:
                command = [sys.executable, __file__, "--one", str(path), name]
                answer = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                cost = Cost(name, million, *json.loads(answer.stdout))
                costs.append(cost)
                print(
                    f"| {name} | {million} | {cost.seconds:.2f} | {cost.answer_rows} | {cost.peak_megabytes:.0f} |",
                    flush=True,
                )
    return costs


def one(path: Path, name: str) -> None:
    """Asks one query and prints, as JSON, its seconds, the rows of its answer and the most memory in MB."""
    begin = monotonic()
    rows = arrow(path, name).num_rows
    seconds = monotonic() - begin
    # getrusage(2) would say the most of the process that started this one, if that is more.
    (peak_kb,) = re.findall(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    print(json.dumps([seconds, rows, int(peak_kb) * 1.024 / 1000]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(Path(sys.argv[2]), sys.argv[3])
    else:
        main([int(value) for value in sys.argv[1:]] or MILLIONS)
