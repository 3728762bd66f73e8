"""How long the search `descent` takes on devices drawn at random, from families that its constants are chosen on.

Run it by itself: `python benchmarks/speed/search_families.py [FIRST LAST]`, with the range of seeds: those below 1000
are for choosing constants, all others for showing what was chosen. Seconds are virtual, of load only. Goal: RFC 2544's
(60 s, no frame lost), bounds half a percent apart. The controller is driven by itself; a trial is the time of its first
loss.

No device here is one of `benchmarks/speed/search.py`, which shows controllers on four devices that nothing was chosen
on.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from collections.abc import Callable

from keisoku.subjects.device.procedure.rfc9971.descent import descent
from keisoku.subjects.device.procedure.rfc9971.search_goal import Bounds, Goal, Question, Search, TrialResult
from keisoku.subjects.device.procedure.rfc9971.settings import PRESETS

MOST_FPS = 1e6
LEAST_FPS = MOST_FPS * 1e-4
SEEN_S = (0.05, 0.1)
"""From a loss to the stop: at least and at most."""
GOAL = Goal(0.0, PRESETS["rfc2544"], 0.005)
Device = Callable[[float, random.Random], float]
"""Seconds to the first loss at a load; infinite if there is none."""


def _log_uniform(chance: random.Random, low: float, high: float) -> float:
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def _capacity(chance: random.Random) -> float:
    return MOST_FPS * _log_uniform(chance, 0.05, 0.97)


def _overload(load: float, capacity: float, buffer_frames: float) -> float:
    return buffer_frames / (load - capacity) if load > capacity else math.inf


def hard(chance: random.Random) -> Device:
    """A rate limit with a buffer of 10 to 10 000 frames."""
    capacity, buffer = _capacity(chance), _log_uniform(chance, 10, 1e4)
    return lambda load, now: _overload(load, capacity, buffer)


def noisy(chance: random.Random) -> Device:
    """A rate limit that is another one in each trial: 0.05 to 2 % of spread."""
    capacity, spread = _capacity(chance), _log_uniform(chance, 5e-4, 0.02)
    return lambda load, now: _overload(load, capacity * now.gauss(1, spread), 100)


def stalls(chance: random.Random) -> Device:
    """A noisy rate limit, and stalls 10 to 300 s apart on average, which a buffer absorbs below a part of the
    capacity."""
    capacity, spread = _capacity(chance), _log_uniform(chance, 5e-4, 0.01)
    every_s, absorbed = _log_uniform(chance, 10, 300), capacity * chance.uniform(0.2, 1)

    def first_s(load: float, now: random.Random) -> float:
        stalled_s = now.expovariate(1 / every_s) if load > absorbed else math.inf
        return min(_overload(load, capacity * now.gauss(1, spread), 100), stalled_s)

    return first_s


def leak(chance: random.Random) -> Device:
    """A rate limit, and every frame is lost with a probability at which 0.3 to 100 are lost in 60 s at capacity."""
    capacity = _capacity(chance)
    ratio = _log_uniform(chance, 0.3, 100) / (60 * capacity)
    return lambda load, now: min(_overload(load, capacity, 100), now.expovariate(ratio * load))


def knee(chance: random.Random) -> Device:
    """Loss grows from half to 95 % of the capacity on, to 0.01 to 10 % at the capacity."""
    capacity = _capacity(chance)
    start = chance.uniform(0.5, 0.95)
    slope = _log_uniform(chance, 1e-4, 0.1) / (1 - start)

    def first_s(load: float, now: random.Random) -> float:
        ratio = slope * (load / capacity - start)
        return min(_overload(load, capacity, 100), now.expovariate(ratio * load) if ratio > 0 else math.inf)

    return first_s


def deep(chance: random.Random) -> Device:
    """A rate limit behind a buffer that holds 0.02 to 10 s of it."""
    capacity = _capacity(chance)
    buffer = capacity * _log_uniform(chance, 0.02, 10)
    return lambda load, now: _overload(load, capacity, buffer)


FAMILIES = {family.__name__: family for family in (hard, noisy, stalls, leak, knee, deep)}


def searched(search: Search, device: Device, chance: random.Random) -> tuple[Bounds, float, int]:
    """What a search finds, its seconds of load, and its trials."""
    total_s, trials = 0.0, 0
    question: Question = next(search)
    while True:
        first_s = device(question.fps, chance)
        lossy = first_s < question.seconds
        spent_s = (
            min(question.seconds, first_s + chance.uniform(*SEEN_S))
            if lossy and not question.for_rate
            else question.seconds
        )
        frames = max(1, round(question.fps * question.seconds))
        lost = int(lossy)
        if lossy and question.for_rate:  # what an overloaded device forwards is its capacity
            lost = max(1, round(frames * (1 - _forwarded(device, question.fps, chance))))
        total_s, trials = total_s + spent_s, trials + 1
        try:
            question = search.send(TrialResult(question.seconds, spent_s, frames, lost))
        except StopIteration as stop:
            return stop.value, total_s, trials


def _forwarded(device: Device, fps: float, chance: random.Random) -> float:
    """The highest share of a load that is forwarded without loss in 0.1 s, as the counts of a whole trial show it."""
    low, high = 0.0, 1.0
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (middle, high) if device(fps * middle, chance) > 0.1 else (low, middle)
    return low


def main() -> None:
    """Prints the table."""
    first, last = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (1000, 1300)
    print(f"| family, seeds {first} to {last - 1} | mean seconds | median | 90 % | trials |")
    print("|---|---|---|---|---|")
    means = []
    for name, family in FAMILIES.items():
        seconds, trials = [], []
        for seed in range(first, last):
            chance = random.Random(f"{name} {seed}")
            bounds, spent_s, count = searched(descent(GOAL, LEAST_FPS, MOST_FPS), family(chance), chance)
            assert bounds.lower_fps is None or bounds.upper_fps is None or bounds.lower_fps >= bounds.upper_fps * 0.995
            seconds.append(spent_s)
            trials.append(count)
        seconds.sort()
        means.append(statistics.mean(seconds))
        print(
            f"| {name} | {means[-1]:.1f} | {statistics.median(seconds):.1f} | {seconds[int(0.9 * len(seconds))]:.1f} |"
            f" {statistics.mean(trials):.1f} |",
            flush=True,
        )
    print(f"| geometric mean | {statistics.geometric_mean(means):.1f} | | | |")


if __name__ == "__main__":
    main()
