"""How often figures about buffers, resets and delay variation contain the truth, on simulated devices drawn at random.

Run it by itself: `python benchmarks/accuracy/buffer_truth.py [FIRST LAST] [FAMILY ...]`, with the range of seeds: those
below 1000 are for choosing constants, all others for showing what was chosen. Virtual time only. The truth is derived
from the device's file, never from a trial: rates, backlogs and the times at which a queue is full or empty.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.simulated_trials import carry_out, device, plan

from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Quantity

FIRST, LAST = 1000, 1200
OVERHEAD_BYTES = 20
"""Preamble and gap: bytes that a frame occupies on the wire in addition."""
Compared = tuple[str, Quantity | None, float]
"""What was compared, the figure (None: it is missing), and the truth."""


@dataclass(frozen=True)
class Queue:
    """A device with one output, and a load on it, drawn at random; rates in frames/s."""

    frame_bytes: int
    link_bps: float
    service_bps: float
    load_fps: float
    trial_s: float
    buffer_bytes: int
    toml: str

    @property
    def service_fps(self) -> float:
        """Frames that the output sends a second."""
        return self.service_bps / (8 * (self.frame_bytes + OVERHEAD_BYTES))

    @property
    def growth(self) -> float:
        """By how much the latency of a waiting frame grows, in ns for each second of arrivals."""
        return (1 - self.service_fps / self.load_fps) * 1e9


def _log_uniform(chance: random.Random, low: float, high: float) -> float:
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def _noise(chance: random.Random, gap_ns: float) -> str:
    """Nothing, or jitter of up to a tenth of a gap, or stamps of some resolution."""
    kind = chance.choice(("", "", "uniform", "normal", "stamps"))
    if kind == "stamps":
        return f"resolution_ns = {chance.choice((1, 8, 40, 1000))}\n"
    if not kind:
        return ""
    return f'[jitter]\ndistribution = "{kind}"\nspread_ns = {gap_ns * _log_uniform(chance, 1e-3, 0.3):.3f}\n'


def _queue(chance: random.Random, share: float, **more: float) -> Queue:
    """`share` is the load as a share of the service rate."""
    size = chance.choice((64, 128, 256, 512, 1024, 1518))
    link_bps = chance.choice((1e7, 1e8, 1e9))
    service_bps = link_bps * chance.uniform(0.3, 0.9)
    service_fps = service_bps / (8 * (size + OVERHEAD_BYTES))
    frames = _log_uniform(chance, 2e4, 2e5)
    load_fps = service_fps * share
    trial_s = float(f"{frames / load_fps:.3g}")
    return Queue(size, link_bps, service_bps, load_fps, trial_s, 1 << 28, _noise(chance, 1e9 / load_fps))


def _device(queue: Queue, extra: str = "") -> str:
    top = [line for line in queue.toml.splitlines() if line.startswith("resolution")]
    rest = [line for line in queue.toml.splitlines() if not line.startswith("resolution")]
    return "\n".join(
        [
            f"link_bits_per_second = {queue.link_bps}",
            *top,
            "[output]",
            f"buffer_bytes = {queue.buffer_bytes}",
            f"service_bits_per_second = {queue.service_bps}",
            *rest,
            extra,
        ]
    )


def _over_time(queue: Queue, extra: str = "") -> list[Row]:
    source = plan(
        "buffer_over_time",
        frame_bytes=[queue.frame_bytes],
        buffer_over_time={"trial_s": queue.trial_s, "rate_fps": queue.load_fps},
    )
    return carry_out(source, device(_device(queue, extra)))[0].rows


def _kinds(rows: list[Row]) -> list[str]:
    return [row.case.rpartition(": ")[2] for row in rows]


def _extra(rows: list[Row], once: tuple[str, ...]) -> Quantity:
    """Rows that are not one of these kinds, each at most once."""
    kinds = _kinds(rows)
    extra = len(kinds) - sum(kind in kinds for kind in once)
    return Quantity(value=extra, unit="rows", uncertainty=0.0)


def _of(rows: list[Row], kind: str) -> Row | None:
    return next((row for row in rows if row.case.endswith(kind)), None)


def _figure(row: Row | None, name: str) -> Quantity | None:
    return row.figures.get(name) if row else None


def drain(chance: random.Random) -> Iterator[Compared]:
    """A backlog from the start, which is worked off during the trial or beyond it."""
    queue = _queue(chance, 1 - _log_uniform(chance, 1e-5, 0.5))
    sweep_s = queue.trial_s * chance.uniform(0.2, 2.0)
    backlog_ns = max(1000, round(-queue.growth * sweep_s))
    most_ns = min(1.8e9, 0.2 * queue.trial_s * 1e9)  # the tester waits 2 s for what is left
    if backlog_ns > most_ns:
        backlog_ns = round(most_ns * chance.uniform(0.1, 1))
    rows = _over_time(queue, f"[stall]\nfirst_ns = 0\nduration_ns = {backlog_ns}\n")
    service_ns = 1e9 / queue.service_fps
    lowest_ns = 10 * service_ns + 100
    yield "drain: rows too many", _extra(rows, ("draining", "flat")), 0.0
    # The first frame has crossed the device meanwhile, at 8 ns a byte.
    end_s = (backlog_ns - 8 * queue.frame_bytes) / -queue.growth + backlog_ns * 1e-9
    if backlog_ns < lowest_ns or end_s < 0.2 * queue.trial_s:
        return
    row = _of(rows, "draining")
    yield "slope of a drain", _figure(row, "slope"), queue.growth
    yield "mismatch of a drain", _figure(row, "mismatch"), queue.growth * 1e-3
    if end_s < 0.9 * queue.trial_s:
        yield "end of a drain", _figure(row, "end"), end_s


def fill(chance: random.Random) -> Iterator[Compared]:
    """A load above the service rate: a buffer that is full during the trial or after it."""
    queue = _queue(chance, 1 + _log_uniform(chance, 1e-4, 0.1))
    full_s = queue.trial_s * chance.uniform(0.25, 1.5)
    most = 1.8 * queue.service_fps  # the tester waits 2 s for what is left
    frames = int(min(most, max(20, full_s * (queue.load_fps - queue.service_fps))))
    buffer = frames * queue.frame_bytes + chance.randrange(queue.frame_bytes)
    queue = Queue(**{**queue.__dict__, "buffer_bytes": buffer})
    # The last that fits finds the others before it: it waits until they have left, but for what of one has been sent.
    full_s = (frames - 1) / (queue.load_fps - queue.service_fps)
    arrives_s = full_s * queue.load_fps / queue.service_fps
    rows = _over_time(queue)
    yield "filling: rows too many", _extra(rows, ("filling", "full and dropping")), 0.0
    row = _of(rows, "filling")
    if arrives_s < 0.25 * queue.trial_s:
        return
    yield "slope of a filling", _figure(row, "slope"), queue.growth
    yield "mismatch of a filling", _figure(row, "mismatch"), queue.growth * 1e-3
    if arrives_s < 0.8 * queue.trial_s:
        yield "end of a filling", _figure(row, "end"), arrives_s
        yield "depth of a full buffer", _figure(_of(rows, "full and dropping"), "depth"), buffer


def stall(chance: random.Random) -> Iterator[Compared]:
    """The output stalls once: latency jumps, and falls while the backlog is worked off."""
    queue = _queue(chance, 1 - _log_uniform(chance, 1e-6, 0.3))
    if "jitter" in queue.toml and queue.growth > -1e6:  # nearly critical: its queue comes and goes by itself
        return
    first_s = queue.trial_s * chance.uniform(0.2, 0.7)
    gap_ns = 1e9 / queue.load_fps
    step_ns = round(max(5 * gap_ns, min(1.8e9, _log_uniform(chance, 1e-4, 0.05) * queue.trial_s * 1e9)))
    rows = _over_time(queue, f"[stall]\nfirst_ns = {round(first_s * 1e9)}\nduration_ns = {step_ns}\n")
    drained_s = step_ns / -queue.growth + step_ns * 1e-9
    if drained_s < 0.25 * queue.trial_s:
        return
    kinds = _kinds(rows)
    yield "stall: jumps found", Quantity(value=kinds.count("jump"), unit="", uncertainty=0.0), 1.0
    once = ("flat", "jump", "draining")
    extra = _extra(rows, once).value - (kinds.count("flat") == 2 and kinds[-1] == "flat")
    yield "stall: rows too many", Quantity(value=extra, unit="rows", uncertainty=0.0), 0.0
    row = _of(rows, "jump")
    yield "step of a jump", _figure(row, "step"), step_ns
    yield "end of a jump", _figure(row, "end"), first_s


def even(chance: random.Random) -> Iterator[Compared]:
    """Nothing happens: no queue, or a queue that neither grows nor falls."""
    queue = _queue(chance, chance.uniform(0.1, 0.95))
    rows = _over_time(queue)
    yield "even: rows too many", _extra(rows, ("flat",)), 0.0
    yield "level of an even latency", _figure(rows[0], "slope"), 0.0


FAMILIES = {family.__name__: family for family in (drain, fill, stall, even)}


@dataclass
class Tally:
    """Comparisons of one quantity."""

    inside: int = 0
    missing: int = 0
    errors: list[float] | None = None
    widths: list[float] | None = None


def inside(found: Quantity, truth: float) -> bool:
    """Whether the truth is in the figure's interval; without one there is nothing to be in."""
    low, high = found.bounds or (math.nan, math.nan)
    return low <= truth <= high


def main() -> None:
    """Prints the table."""
    words = sys.argv[1:]
    numbers = [int(word) for word in words if word.isdigit()]
    first, last = numbers if len(numbers) == 2 else (FIRST, LAST)
    names = [word for word in words if not word.isdigit() and word != "-v"] or list(FAMILIES)
    loud = "-v" in words
    rows: dict[str, list[tuple[Quantity | None, float, int]]] = defaultdict(list)
    for name in names:
        for seed in range(first, last):
            for what, found, truth in FAMILIES[name](random.Random(f"{name} {seed}")):
                rows[what].append((found, truth, seed))
                if loud and what != "x" and (found is None or not inside(found, truth)):
                    print(name, seed, what, found and (found.value, found.uncertainty, found.interval), truth)
    print(f"| figure, seeds {first} to {last - 1} | compared | missing | inside | uncertainty / error, median |")
    print("|---|---|---|---|---|")
    for what, compared in rows.items():
        known = [(found, truth) for found, truth, _ in compared if found is not None]
        hits = sum(inside(found, truth) for found, truth in known)
        wide = [(found.bounds[1] - found.bounds[0]) / 2 for found, _ in known if found.bounds]
        errors = [abs(found.value - truth) for found, truth in known if found.bounds]
        pairs = [(width, error) for width, error in zip(wide, errors, strict=True) if error and math.isfinite(width)]
        ratio = statistics.median(width / error for width, error in pairs) if pairs else math.nan
        share = 100 * hits / len(known) if known else math.nan
        print(f"| {what} | {len(compared)} | {len(compared) - len(known)} | {hits} ({share:.1f} %) | {ratio:.2g} |")


if __name__ == "__main__":
    main()
