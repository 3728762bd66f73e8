"""A row for each frame, in Parquet, while they arrive: rows written and dropped at 0.5 million frames/s.

Needs root. Run: python benchmarks/speed/frames.py [--rate 500000] [--seconds 10]. Over the lab's cable, so that the
device has no part in it; writes to a temporary file and removes it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.record.arrival import ENTRY
from keisoku.subjects.device.record.frames import FrameWriter
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial

FRAMES_PER_SECOND = 500_000.0


class Watched:
    """Passes rows on to a writer and keeps how many came at once, and how long writing took."""

    def __init__(self, writer: FrameWriter) -> None:
        self._writer = writer
        self.rows = self.most_rows = 0
        self.busy_s = 0.0

    def append(self, entries: bytes) -> None:
        """Times the writer, too."""
        rows = len(entries) // ENTRY.itemsize
        self.rows += rows
        self.most_rows = max(self.most_rows, rows)
        before_s = time.thread_time()
        self._writer.append(entries)
        self.busy_s += time.thread_time() - before_s


def measure(frames_per_second: float, seconds: float) -> list[str]:
    """Lines to print: what was asked, offered, arrived, written, dropped."""
    plan = parse({"methods": ["loss"], "dut": "lab:cable", "frame_bytes": [64]})
    trial = Trial(
        purpose="benchmark",
        frame_bytes=64,
        frames_per_second=frames_per_second,
        duration_ns=round(seconds * NS_PER_S),
        phases=Phases(learning_wait_ns=0, drain_ns=NS_PER_S // 10, rest_ns=0),
    )
    with tempfile.TemporaryDirectory(prefix="keisoku-bench-") as folder, open_engine(plan) as engine:
        path = Path(folder) / "0.parquet"
        with FrameWriter(path) as writer:
            watched = Watched(writer)
            engine.start(trial, stream=1, seed=1, frames=watched)
            try:
                facts, _ = engine.finish()
            except EngineError as error:  # it says how many rows were dropped
                return [f"{frames_per_second / 1e6:g} M frames/s asked for {seconds:g} s: {error}"]
            writer.finish(facts)
        size_bytes = path.stat().st_size
    sent, tracked = facts.sent, facts.tracked
    span_s = (sent.last_sent_ns - sent.first_sent_ns) / NS_PER_S
    return [
        f"asked     {frames_per_second / 1e6:g} M frames/s for {seconds:g} s",
        f"offered   {sent.offered_frames / span_s / 1e6:.3f} M frames/s, {sent.offered_frames} frames",
        f"lost      {tracked.lost_frames} frames, {facts.tester_dropped_frames} of them dropped by the tester",
        f"rows      {watched.rows} written of {tracked.received_frames - tracked.foreign_frames} arrivals, 0 dropped",
        f"file      {size_bytes / 1e6:.1f} MB, {size_bytes / watched.rows:.2f} byte a row, "
        f"{size_bytes / span_s / 1e6:.2f} MB/s",
        f"backlog   at most {watched.most_rows} rows; the writer was busy for {100 * watched.busy_s / span_s:.0f} % "
        "of a core",
    ]


def main() -> None:
    """Prints what was measured."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rate", type=float, default=FRAMES_PER_SECOND, help="frames/s")
    options.add_argument("--seconds", type=float, default=10.0, help="length of the trial")
    chosen = options.parse_args()
    print("\n".join(measure(chosen.rate, chosen.seconds)))


if __name__ == "__main__":
    main()
