"""What a simulated device does by its description alone: the truth that figures of procedures are compared with.

Written from docs/devices.md and nothing else, with random numbers of its own: no code that measures or simulates is
used. Frames of one size come at a constant rate.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

WIRE_BYTES = 20
HEADER_BYTES = 14
FRAMES = 500_000
"""In a reference of frames that wait for each other."""
TRIALS, DRAWS = 200, 20_000
"""In a reference of trials whose frames wait for each other, and of independent ones."""
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True)
class Device:
    """One way through a device; times in ns."""

    link_bps: float = 1e9
    mode: str = "store-and-forward"
    ns_per_byte: float = 8.0
    constant_ns: float = 1000.0
    decision_ns: float = 0.0
    jitter: str = ""
    """Empty, 'uniform' or 'normal'."""
    spread_ns: float = 0.0
    resolution_ns: float = 0.0
    service_bps: float | None = None
    buffer_bytes: int = 1 << 24
    offset_ppm: float = 0.0
    """Of the receiving port's clock."""
    loss: float = 0.0
    reorder: float = 0.0
    ports: int = 2
    more: str = ""
    """Sections that the physics below do not have."""

    @property
    def toml(self) -> str:
        """Its description."""
        lines = [
            f"ports = {self.ports}",
            f"link_bits_per_second = {self.link_bps!r}",
            f"resolution_ns = {self.resolution_ns!r}",
            f"[forwarding]\nmode = '{self.mode}'\nns_per_byte = {self.ns_per_byte!r}",
            f"constant_ns = {self.constant_ns!r}\ndecision_ns = {self.decision_ns!r}",
            f"[output]\nbuffer_bytes = {self.buffer_bytes}",
        ]
        if self.service_bps:
            lines.append(f"service_bits_per_second = {self.service_bps!r}")
        if self.jitter:
            lines.append(f"[jitter]\ndistribution = '{self.jitter}'\nspread_ns = {self.spread_ns!r}")
        lines.append(f"[loss]\nratio = {self.loss!r}")
        lines.append(f"[faults]\nreorder_ratio = {self.reorder!r}")
        if self.offset_ppm:
            offsets = "\n".join(f"{port} = {self.offset_ppm!r}" for port in range(2, self.ports + 1))
            lines.append(f"[clock_offset_ppm]\n{offsets}")
        return "\n".join([*lines, self.more])

    def line_fps(self, size: int) -> float:
        """The most that the link carries."""
        return self.link_bps / (8 * (size + WIRE_BYTES))

    def capacity_fps(self, size: int) -> float:
        """The most that an output forwards."""
        speed = (self.service_bps or self.link_bps) * (1 + self.offset_ppm * 1e-6)
        return speed / (8 * (size + WIRE_BYTES))

    def forwarding_ns(self, size: int) -> float:
        """First bit in to first bit out of a frame that meets no queue and no jitter."""
        read = size if self.mode == "store-and-forward" else min(HEADER_BYTES, size)
        return max(self.ns_per_byte * read + self.constant_ns, self.decision_ns)

    def frame_ns(self, size: int) -> float:
        """The frame's duration on the link."""
        return size * 8e9 / self.link_bps

    def latency(self, size: int, fps: float, seed: int) -> Latency:
        """The distribution of latencies at a load below the capacity."""
        base, gap = self.forwarding_ns(size), 1e9 / fps
        if not self.jitter:
            return Latency(base, base, base, dict.fromkeys(QUANTILES, base), 0.0)
        bounds = (0.0, 1.0) if self.jitter == "uniform" else (-6.0, 6.0)
        ends = [base + self.spread_ns * end for end in bounds]
        if not self._queues(size, fps):
            spread = _quantiles(self.jitter)
            mean = base + self.spread_ns * spread["mean"]
            quantiles = {name: base + self.spread_ns * spread[name] for name in QUANTILES}
            return Latency(mean, ends[0], ends[1], quantiles, 0.0)
        found = self._queued(gap, base, 1e9 / self.capacity_fps(size), FRAMES, np.random.default_rng(seed))
        quantiles = {name: float(np.quantile(found, share)) for name, share in QUANTILES.items()}
        return Latency(float(found.mean()), ends[0], ends[1], quantiles, float(np.median(np.diff(found))))

    def variation(self, size: int, fps: float, frames: int, seed: int) -> float:
        """The median over trials of so many frames of the 99.9th percentile less the least latency of the trial."""
        if not self.jitter:
            return 0.0
        chance, base = np.random.default_rng(seed), self.forwarding_ns(size)
        if self._queues(size, fps):
            trials = [
                self._queued(1e9 / fps, base, 1e9 / self.capacity_fps(size), frames, chance) for _ in range(TRIALS)
            ]
            return float(np.median([_ranked(found) - found.min() for found in trials]))
        # Ranks of independent latencies: those of uniform numbers, of which the quantile is taken.
        arrived = round(frames * (1 - self.loss))
        least = 1 - chance.random(DRAWS) ** (1 / arrived)
        others = math.ceil(QUANTILES["p99.9"] * arrived) - 1
        high = least + (1 - least) * chance.beta(others, arrived - others, DRAWS)
        return self.spread_ns * float(np.median(_quantile(self.jitter, high) - _quantile(self.jitter, least)))

    def _queues(self, size: int, fps: float) -> bool:
        """Whether frames can wait for each other at this load."""
        reach = self.spread_ns * (1 if self.jitter == "uniform" else 12)
        return 1e9 / fps < reach + 1e9 / self.capacity_fps(size)

    def _queued(
        self, gap: float, base: float, service: float, frames: int, chance: np.random.Generator
    ) -> NDArray[np.float64]:
        """Latencies of frames that keep their order and wait for each other (Lindley 1952)."""
        sent = np.arange(frames) * gap
        sent = sent[chance.random(frames) >= self.loss]
        ready = sent + base + self.spread_ns * _deviates(self.jitter, len(sent), chance)
        turns = np.arange(len(sent)) * service
        found: NDArray[np.float64] = np.maximum.accumulate(ready - turns) + turns - sent
        return found

    def filled_s(self, size: int, seconds: float, seed: int) -> float | None:
        """When the first frame that finds the buffer full would have left, of frames at the smallest gap; None if none
        finds it full."""
        chance = np.random.default_rng(seed)
        service = 1e9 / self.capacity_fps(size)
        sent = np.arange(round(seconds * self.line_fps(size))) * 1e9 / self.line_fps(size)
        jitter = self.spread_ns * _deviates(self.jitter, len(sent), chance) if self.jitter else 0.0
        ready = np.maximum.accumulate(sent + self.forwarding_ns(size) + jitter)
        turns = np.arange(len(sent)) * service
        left = np.maximum.accumulate(ready - turns) + turns + service
        inside = np.arange(len(sent)) - np.searchsorted(left, ready, side="right")
        full = np.flatnonzero(inside >= self.buffer_bytes // size)
        return float(left[full[0] - 1]) * 1e-9 if len(full) else None

    def longest_burst(self, size: int, fps: float) -> int:
        """Frames of the longest burst at this rate that loses none."""
        places, capacity = self.buffer_bytes // size, self.capacity_fps(size)
        return next(frame for frame in count(1) if frame - math.floor(frame * capacity / fps + 1e-9) >= places)

    def longest_microburst(self, size: int, senders: int) -> int:
        """Frames that each of so many ports can send at the smallest gap to one output without loss."""
        gap, service = 1 / self.line_fps(size), 1 / self.capacity_fps(size)
        places, sent = self.buffer_bytes // size, 0
        departures: list[float] = []
        while True:
            now = sent * gap
            for _ in range(senders):
                departures = [left for left in departures if left > now * (1 + 1e-12)]
                if len(departures) == places:
                    return sent
                departures.append(max(now, departures[-1] if departures else now) + service)
            sent += 1


@dataclass(frozen=True)
class Latency:
    """Of single frames, FIFO, in ns."""

    mean: float
    least: float
    most: float
    quantiles: dict[str, float]
    ipdv_median: float


def _deviates(kind: str, frames: int, chance: np.random.Generator) -> NDArray[np.float64]:
    if kind == "uniform":
        return chance.random(frames)
    total = np.full(frames, -6.0)
    for _ in range(12):
        total += chance.random(frames)
    return total


def _ranked(latencies: NDArray[np.float64]) -> float:
    """The 99.9th percentile (nearest rank)."""
    place = math.ceil(QUANTILES["p99.9"] * len(latencies)) - 1
    return float(np.partition(latencies, place)[place])


def _quantile(kind: str, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of one deviate, at many shares."""
    if kind == "uniform":
        return shares
    below, deviates = _lower_half()
    smaller = np.minimum(shares, 1 - shares)
    return np.sign(shares - 0.5) * -np.interp(np.log(smaller), below, deviates)


@cache
def _lower_half() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logarithms of shares up to a half, and the sums of twelve uniform numbers below which they lie."""
    shares = np.exp(np.linspace(math.log(1e-9), math.log(0.5), 2000))
    return np.log(shares), np.array([_irwin_hall(share) for share in shares])


@cache
def _quantiles(kind: str) -> dict[str, float]:
    """Of one deviate; the sum of twelve uniform ones has the distribution of Irwin and Hall."""
    if kind == "uniform":
        return {"mean": 0.5, **QUANTILES}
    return {"mean": 0.0} | {name: -_irwin_hall(1 - share) for name, share in QUANTILES.items()}


def _irwin_hall(share: float) -> float:
    """The quantile of a share of at most 0.5, by bisection."""
    low, high = -6.0, 0.0
    for _ in range(60):
        middle = (low + high) / 2
        terms = range(math.floor(middle + 6) + 1)
        below = sum((-1) ** term * math.comb(12, term) * (middle + 6 - term) ** 12 for term in terms)
        low, high = (middle, high) if below / math.factorial(12) < share else (low, middle)
    return high


def log_uniform(chance: random.Random, low: float, high: float) -> float:
    """A number of any order of magnitude between the two."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))
