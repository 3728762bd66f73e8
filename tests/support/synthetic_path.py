"""Trains through a path in virtual time: serialising links, Poisson cross traffic, clocks and stamps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from keisoku.subjects.path.train.log import Train
from keisoku.subjects.path.train.probe import Direction

_EPOCH_NS = 1_795_000_000_000_000_000


@dataclass
class Link:
    """FIFO; cross traffic of `share` in packets of `cross_bytes` joins and leaves at this link."""

    bps: float
    share: float = 0.0
    cross_bytes: int = 1000
    stages: int = 1
    gather_ns: float = 0.0
    """Arrivals wait for the next tick of a timer before they queue."""


@dataclass
class SyntheticPath:
    """Sends trains of one stage after the other; every random choice is the seed's."""

    links: Sequence[Link]
    seed: int = 1
    skew: float = 0.0
    """Of the receiver's clock."""
    noise_ns: float = 0.0
    """Standard deviation of every stamp."""
    send_gap_ns: float = 2000.0
    bucket: tuple[float, float] | None = None
    """Bytes of burst and sustained bit/s, at the end of the path."""
    coalesce_ns: float = 0.0
    read_ns: float = 0.0
    """From one stamp to the next of a program that finds each train whole."""
    ttl: int | None = None
    trains: list[Train] = field(default_factory=list)
    _now_ns: float = 0.0

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)

    def send(
        self, stage: str, ip_bytes: int, count: int, trains: int, gap_ns: float = 2e6, way: Direction = "forward"
    ) -> None:
        """Adds trains to `trains`."""
        for _ in range(trains):
            self._now_ns += gap_ns * self._random.uniform(0.5, 1.5)
            sent = self._now_ns + np.arange(count) * self.send_gap_ns
            arrived = sent.copy()
            for link in self.links:
                for _ in range(link.stages):
                    arrived = self._through(link, arrived, ip_bytes)
            if self.bucket:
                arrived = self._through_bucket(arrived, ip_bytes)
            self._now_ns = max(self._now_ns, arrived[-1])
            if self.coalesce_ns:
                arrived = np.ceil(arrived / self.coalesce_ns) * self.coalesce_ns
            if self.read_ns:
                arrived = arrived[-1] + self.read_ns * np.arange(count)
            stamps = self._stamp(sent, 0.0), self._stamp(arrived, self.skew)
            ttl = self.ttl if self.ttl is not None else 65 - len(self.links)
            self.trains.append(Train(len(self.trains), stage, way, ip_bytes, *stamps, ttl))

    def _through(self, link: Link, arrivals: np.ndarray, ip_bytes: int) -> np.ndarray:
        if link.gather_ns:
            arrivals = np.ceil(arrivals / link.gather_ns) * link.gather_ns
        service = 8e9 * ip_bytes / link.bps
        cross_service = 8e9 * link.cross_bytes / link.bps
        begin, end = arrivals[0] - 200 * cross_service, arrivals[-1] + 1
        cross = np.zeros(0)
        if link.share:
            # Long enough before the train that the queue is as it always is.
            cross = begin + np.cumsum(self._random.exponential(cross_service / link.share, 4000))
            cross = cross[cross < max(end, arrivals[-1] + len(arrivals) * service)]
        times = np.concatenate((cross, arrivals))
        ours = np.concatenate((np.zeros(len(cross), bool), np.ones(len(arrivals), bool)))
        order = np.argsort(times, kind="stable")
        busy, left = -np.inf, []
        for place in order:
            busy = max(busy, times[place]) + (service if ours[place] else cross_service)
            if ours[place]:
                left.append(busy)
        return np.array(left)

    def _through_bucket(self, arrivals: np.ndarray, ip_bytes: int) -> np.ndarray:
        assert self.bucket
        burst, rate = self.bucket
        tokens, last, left = burst, arrivals[0], []
        for arrival in arrivals:
            begin = max(arrival, last)
            tokens = min(burst, tokens + (begin - last) * rate / 8e9)
            wait = max(0.0, (ip_bytes - tokens) * 8e9 / rate)
            tokens = tokens + wait * rate / 8e9 - ip_bytes
            last = begin + wait
            left.append(last)
        return np.array(left)

    def _stamp(self, times: np.ndarray, skew: float) -> np.ndarray:
        noise = self._random.normal(0, self.noise_ns, len(times)) if self.noise_ns else 0.0
        return _EPOCH_NS + np.round(times * (1 + skew) + noise).astype(np.int64)
