"""One long trial through the lab's bridge: is memory flat, do the counts add up? `make soak` runs it.

Finds the highest load without loss by a short search, then carries a share of it for long. A lossless hour is not
promised: what was lost is told with its times. It passes if every frame is accounted for and this process did not grow.

Exit codes: 0 passed, 1 memory grew or counts are not exact, 2 could not measure.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.lab_trials import on_lab

from keisoku.errors import EngineError, PlanError
from keisoku.ground.lab.available import available
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.engine import Engine, FrameSink, Progress
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.validity import reasons

SHARE = 0.9
"""Of the highest load without loss: the search's trials are short, and a virtual machine's host has other guests."""
SEARCH_S = 2.0
STEPS = 8
BEYOND_FPS = 4e6
"""More than the lab's bridge carries anywhere."""
OFFERED_SHARE = 0.9
BOUND_BYTES = 8 << 20
"""Memory is flat if the highest reading of the last tenth is above that of the first tenth by no more than this: at
1 million frames/s for an hour a leak of 1 byte in 400 frames exceeds it; what allocators keep aside is below it."""
LOOK_S = 1.0
GAPS_SHOWN = 20
_TENTH = 10


class SoakMemory:
    """Resident bytes of this process, read while the load runs."""

    def __init__(self, begin_s: float, end_s: float) -> None:
        self._begin_s, self._end_s = begin_s, end_s
        self._readings = array("q")

    def look(self, elapsed_s: float) -> None:
        """Reads once, if the load has warmed up and not ended."""
        if self._begin_s <= elapsed_s < self._end_s:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            self._readings.append(pages * os.sysconf("SC_PAGE_SIZE"))

    def ends(self) -> tuple[int, int]:
        """Highest reading of the first tenth and of the last. Raises EngineError if there are fewer than two."""
        if len(self._readings) < 2:
            raise EngineError("the load was too short to see whether memory grows")
        tenth = max(1, len(self._readings) // _TENTH)
        return max(self._readings[:tenth]), max(self._readings[-tenth:])


@dataclass(frozen=True)
class Outcome:
    """What a long trial showed."""

    trial: Trial
    facts: Facts
    first_bytes: int
    last_bytes: int

    @property
    def is_flat(self) -> bool:
        """Whether memory stayed within the bound."""
        return self.last_bytes - self.first_bytes <= BOUND_BYTES


def soak_plan(**source: object) -> Plan:
    """64-byte frames through a Linux bridge; `source` replaces what is said here."""
    phases = {"learning_wait_s": 0.1, "drain_s": 0.5, "rest_s": 0.1}
    own = {"methods": ["throughput"], "dut": "lab:bridge", "frame_bytes": [64], "phases": phases}
    return parse(own | source)


def carry(
    engine: Engine,
    trial: Trial,
    stream: int,
    frames: FrameSink | None = None,
    observer: Callable[[Progress], None] = lambda progress: None,
) -> Facts:
    """One trial, with a look each second or, if it is short, at each hundredth of it."""
    engine.start(trial, stream=stream, seed=1, frames=frames)
    look_s = min(LOOK_S, trial.duration_ns / NS_PER_S / 100)
    try:
        while not (progress := engine.wait(look_s)).finished:
            observer(progress)
    except BaseException:
        engine.stop()
        engine.finish()
        raise
    return engine.finish()[0]


def highest_lossless_fps(plan: Plan, engine: Engine) -> float:
    """Frames/s by halving; zero if no load came out whole.

    Looks at counts alone. The throughput method repeats what a busy host disturbed and then asks for less; here that
    would only say how busy the host was.
    """
    low, high = 0.0, BEYOND_FPS
    for step in range(STEPS):
        rate = high if step == 0 else (low + high) / 2
        facts = carry(engine, _trial(plan, engine, "search", rate, SEARCH_S), stream=1 + step)
        sent = facts.sent
        offered = (sent.offered_frames - 1) * NS_PER_S / max(1, sent.last_sent_ns - sent.first_sent_ns)
        if facts.tracked.forwarded_frames == sent.offered_frames > 1:
            low = max(low, min(rate, offered))
        else:
            high = min(rate, offered)
        # What cannot be offered at all is no loss, but asking for more makes no sense.
        high = max(low, min(high, offered)) if offered < OFFERED_SHARE * rate else high
    return low


def _trial(plan: Plan, engine: Engine, purpose: str, frames_per_second: float, seconds: float) -> Trial:
    inputs = MethodInput(plan, engine.capabilities, Bias())
    return inputs.trial(purpose, plan.frame_bytes[0], frames_per_second, seconds)


def long_trial(
    plan: Plan, engine: Engine, frames_per_second: float, seconds: float, frames: FrameSink | None = None
) -> Outcome:
    """One trial with readings of memory from its first tenth (at most 60 s) on."""
    trial = _trial(plan, engine, "soak", frames_per_second, seconds)
    load_s = trial.phases.learning_wait_ns / NS_PER_S
    memory = SoakMemory(load_s + min(60.0, seconds / _TENTH), load_s + seconds)
    facts = carry(engine, trial, 0xFFF0, frames, lambda progress: memory.look(progress.elapsed_s))
    return Outcome(trial, facts, *memory.ends())


def inexact(facts: Facts) -> list[str]:
    """Every equality that does not hold; empty if the counts are exact."""
    found = []
    for stream in facts.streams:
        own = stream.tracked
        listed = sum(gap.count for gap in own.lost)
        series = sum(interval.forwarded_frames for interval in own.series)
        latencies = own.latency.count if own.latency else 0
        equalities = {
            "offered = forwarded + lost + corrupt": (
                stream.offered_frames,
                own.forwarded_frames + own.lost_frames + own.corrupt.count,
            ),
            "received = forwarded + duplicated + corrupt arrivals + foreign": (
                own.received_frames,
                own.forwarded_frames + own.duplicated.count + own.corrupt_arrivals + own.foreign_frames,
            ),
            "lost = sum of the gaps": (own.lost_frames, listed),
            "forwarded = sum of the intervals": (own.forwarded_frames, series),
            "forwarded = latencies": (own.forwarded_frames, latencies),
        }
        found += [
            f"stream {stream.stream}: {name} is {one} = {other}"
            for name, (one, other) in equalities.items()
            if one != other
        ]
    for transmitter in facts.transmitters:
        offered = sum(stream.offered_frames for stream in facts.streams if stream.transmit == transmitter.port)
        gaps = sum(transmitter.sent.gaps.counts)
        if offered != transmitter.sent.offered_frames or gaps != max(0, offered - 1):
            found.append(f"port {transmitter.port + 1}: {transmitter.sent.offered_frames} sent, {gaps} gaps")
    if facts.tester_dropped_frames:
        found.append(f"the tester itself dropped {facts.tester_dropped_frames} frames")
    return found


def show(outcome: Outcome, seconds: float) -> bool:
    """Prints what was found; true if it passed."""
    facts, tracked = outcome.facts, outcome.facts.tracked
    offered = facts.sent.offered_frames
    wrong = inexact(facts)
    grown = (outcome.last_bytes - outcome.first_bytes) / 1024
    print(f"offered     {offered} of {outcome.trial.frames} frames in {seconds:.0f} s")
    print(f"forwarded   {tracked.forwarded_frames}")
    print(f"lost        {tracked.lost_frames} ({1e6 * tracked.lost_frames / max(1, offered):.3g} in a million)")
    for gap in tracked.lost[:GAPS_SHOWN]:
        after_s = "the start" if gap.after_ns is None else f"{gap.after_ns / 1e9:.6f} s"
        print(f"            {gap.count} frames, {gap.first} to {gap.last}, sent after {after_s}")
    if len(tracked.lost) > GAPS_SHOWN:
        print(f"            and {len(tracked.lost) - GAPS_SHOWN} more gaps")
    print(f"duplicated  {tracked.duplicated.count}, reordered {tracked.reordered.count}", end="")
    print(f", corrupt {tracked.corrupt.count}, foreign {tracked.foreign_frames}")
    sent = facts.sent
    print(f"sender      at most {sent.lag_max_ns / 1e6:.1f} ms late, shifted by {sent.postponed_ns / 1e6:.1f} ms")
    for reason in reasons(outcome.trial, facts):
        print(f"guard       {reason}")
    print(f"memory      {outcome.first_bytes >> 10} KiB first, {outcome.last_bytes >> 10} KiB last: {grown:+.0f} KiB")
    print("counts      " + ("; ".join(wrong) if wrong else "exact"))
    passed = outcome.is_flat and not wrong and not facts.interrupted
    print("passed" if passed else "failed")
    return passed


def main() -> int:
    """Searches, soaks, prints."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=60.0, help="length of the long trial")
    options.add_argument("--rate", type=float, help="frames/s of it, in place of a search")
    chosen = options.parse_args()
    if reason := available():
        print(f"a soak needs a lab: {reason}", file=sys.stderr)
        return 2
    plan, seconds = soak_plan(), 60 * chosen.minutes
    try:
        with Lab("bridge") as lab:
            engine = on_lab(plan, lab)
            try:
                rate = chosen.rate
                if rate is None:
                    highest = highest_lossless_fps(plan, engine)
                    print(f"highest load without loss in {SEARCH_S:g} s: {highest:.0f} frames/s", flush=True)
                    rate = SHARE * highest
                if rate <= 0:
                    print("no load came out whole", file=sys.stderr)
                    return 2
                until = time.strftime("%H:%M:%S", time.localtime(time.time() + seconds))
                print(f"soaking at {rate:.0f} frames/s until {until}", flush=True)
                return 0 if show(long_trial(plan, engine, rate, seconds), seconds) else 1
            finally:
                engine.close()
    except (EngineError, PlanError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
