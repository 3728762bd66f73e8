"""Devices that break what procedures take for granted, made of parts that frames pass one after the other.

The simulated devices of keisoku have none of these habits. A trial has one stream of one size at a constant load; its
facts are what a tester without errors would say.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.device.engine.engine import FrameSink
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.record.counts import Interval, IntervalLatency, Sent, Tracked
from keisoku.subjects.device.record.facts import Facts, Receiver
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from support.one_stream import facts_of
from support.simulated_trials import device
from support.synthetic_runs import NONE, buckets, latency

Times = NDArray[np.float64]
"""When the frames of a trial reach a part, in ns since the first was due; NaN where they were lost before."""
_LOOK_NS = 5_000_000
"""A tester that stops a trial at a loss looks so often."""


@dataclass(frozen=True)
class Load:
    """What a part may know of a trial besides the times."""

    fps: float
    chance: np.random.Generator
    before: int
    """Frames of all earlier trials."""


class Part:
    """A part of a device; without a habit of its own, frames leave it when they reach it."""

    def passed(self, times_ns: Times, load: Load) -> Times:
        """When frames leave it; NaN for those that it loses."""
        return times_ns


@dataclass
class Wait(Part):
    """Each frame takes so long, and up to `spread_ns` more by chance; frames keep their order."""

    ns: float
    spread_ns: float = 0.0

    def passed(self, times_ns: Times, load: Load) -> Times:
        left = times_ns + self.ns + load.chance.uniform(0, self.spread_ns, times_ns.size)
        return _in_order(left)


@dataclass
class Poll(Part):
    """Looks for frames every `tick_ns` only; the first time at a moment of its own in each trial, or at `phase_ns`."""

    tick_ns: float
    phase_ns: float | None = None

    def passed(self, times_ns: Times, load: Load) -> Times:
        phase_ns = load.chance.uniform(0, self.tick_ns) if self.phase_ns is None else self.phase_ns
        return phase_ns + np.ceil((times_ns - phase_ns) / self.tick_ns - 1e-9) * self.tick_ns


@dataclass
class Queue(Part):
    """A buffer with an output, which sends `slow_share` of its rate from `slow_after_s` of a trial on, or for good once
    the buffer was full."""

    fps: float
    frames: int
    slow_after_s: float = inf
    slow_share: float = 1.0
    slow_once_full: bool = False
    was_full: bool = False

    def passed(self, times_ns: Times, load: Load) -> Times:
        left_ns = np.full(times_ns.size, np.nan)
        inside = deque[float]()
        free_ns = 0.0
        for place, time_ns in enumerate(times_ns.tolist()):
            if time_ns != time_ns:
                continue
            while inside and inside[0] <= time_ns:
                inside.popleft()
            if len(inside) >= self.frames:
                self.was_full = self.was_full or self.slow_once_full
                continue
            start_ns = max(time_ns, free_ns)
            slow = self.was_full or start_ns >= self.slow_after_s * NS_PER_S
            free_ns = start_ns + NS_PER_S / (self.fps * (self.slow_share if slow else 1.0))
            left_ns[place] = start_ns
            inside.append(free_ns)
        return left_ns


@dataclass
class Policer(Part):
    """A token bucket of so many frames: without a token a frame is lost, and none waits."""

    fps: float
    burst: int

    def passed(self, times_ns: Times, load: Load) -> Times:
        left_ns = times_ns.copy()
        tokens, at_ns = float(self.burst), 0.0
        for place, time_ns in enumerate(times_ns.tolist()):
            if time_ns != time_ns:
                continue
            tokens, at_ns = min(self.burst, tokens + (time_ns - at_ns) / NS_PER_S * self.fps), time_ns
            if tokens >= 1 - 1e-6:
                tokens -= 1
            else:
                left_ns[place] = np.nan
        return left_ns


@dataclass
class Lost(Part):
    """Loses frames: `ratio` of them by chance at loads between two; one in `every`, counted over all trials or in each;
    the `first` ones and the `last` ones of a trial; those that reach it at `at_s`, for `for_s`."""

    ratio: float = 0.0
    from_fps: float = 0.0
    to_fps: float = inf
    every: int = 0
    in_each: bool = False
    first: int = 0
    last: int = 0
    at_s: float = inf
    for_s: float = 0.0

    def passed(self, times_ns: Times, load: Load) -> Times:
        left_ns, number = times_ns.copy(), np.arange(times_ns.size)
        if self.from_fps <= load.fps <= self.to_fps:
            left_ns[load.chance.random(times_ns.size) < self.ratio] = np.nan
        if self.every:
            left_ns[(number + (0 if self.in_each else load.before) + 1) % self.every == 0] = np.nan
        left_ns[: self.first] = np.nan
        left_ns[max(0, times_ns.size - self.last) :] = np.nan
        passed_s = times_ns / NS_PER_S - self.at_s
        left_ns[(passed_s >= 0) & (passed_s < self.for_s)] = np.nan
        return left_ns


@dataclass
class Begin(Part):
    """The first `frames` of each trial take `ns` longer."""

    frames: int
    ns: float

    def passed(self, times_ns: Times, load: Load) -> Times:
        return _in_order(times_ns + self.ns * (np.arange(times_ns.size) < self.frames))


class OddEngine(SimulatedEngine):
    """A tester of a device that is made of these parts, in this order, on a link of this rate."""

    def __init__(self, parts: Sequence[Part], link_bits_per_second: float = 1e8) -> None:
        super().__init__(device(f"link_bits_per_second = {link_bits_per_second}"))
        self._parts = parts
        self._before = 0

    def start(self, trial: Trial, stream: int, seed: int, frames: FrameSink | None = None) -> None:
        """Carries the trial out."""
        assert not trial.flows and not trial.variation and not trial.changes
        self._trial, self._odd_seed = trial, seed

    def finish(self) -> tuple[Facts, float]:
        """Its facts, and the seconds that it took with its phases."""
        trial = self._trial
        assert trial is not None
        sent_ns: Times = np.arange(trial.frames, dtype=np.float64) * (NS_PER_S / trial.frames_per_second)
        left_ns = sent_ns
        load = Load(trial.frames_per_second, np.random.default_rng(self._odd_seed), self._before)
        for part in self._parts:
            left_ns = part.passed(left_ns, load)
        left_ns = np.where(left_ns > sent_ns[-1] + trial.phases.drain_ns, np.nan, left_ns)
        offered = _until_stopped(trial, sent_ns, left_ns)
        self._before += offered
        facts = _facts(trial, sent_ns[:offered], left_ns[:offered])
        return facts, (trial.whole_ns - trial.duration_ns + facts.sent.last_sent_ns) / NS_PER_S


def _in_order(times_ns: Times) -> Times:
    """No frame leaves before one that was sent earlier."""
    latest_ns = np.maximum.accumulate(np.nan_to_num(times_ns, nan=-inf))
    return np.where(np.isnan(times_ns), np.nan, latest_ns)


def _until_stopped(trial: Trial, sent_ns: Times, left_ns: Times) -> int:
    """How many frames a tester sends that stops after so many lost ones."""
    lost = np.flatnonzero(np.isnan(left_ns))
    if trial.stop_after_lost is None or lost.size <= trial.stop_after_lost:
        return sent_ns.size
    later = np.flatnonzero(~np.isnan(left_ns[lost[trial.stop_after_lost] :]))
    if not later.size:
        return sent_ns.size  # what nothing follows may still arrive
    seen_ns = left_ns[lost[trial.stop_after_lost] + later[0]]
    return int(np.searchsorted(sent_ns, seen_ns + _LOOK_NS, "right"))


def _facts(trial: Trial, sent_ns: Times, left_ns: Times) -> Facts:
    gap_ns = NS_PER_S / trial.frames_per_second
    arrived = np.flatnonzero(~np.isnan(left_ns))
    taken_ns = (left_ns - sent_ns)[arrived]
    since = taken_ns[arrived >= trial.tag] if trial.tag is not None else taken_ns[:0]
    tracked = Tracked(
        received_frames=arrived.size,
        forwarded_frames=arrived.size,
        lost_frames=sent_ns.size - arrived.size,
        corrupt=NONE,
        corrupt_arrivals=0,
        duplicated=NONE,
        reordered=NONE,
        foreign_frames=0,
        lost=_gaps(sent_ns, np.isnan(left_ns)),
        lost_kept_as="list",
        latency=latency(taken_ns) if arrived.size else None,
        tagged_latency_ns=float(since[0]) if since.size and arrived[-since.size] == trial.tag else None,
        latency_since_tag=buckets(since) if since.size else None,
        series=_series(trial, left_ns[arrived], taken_ns),
    )
    sent = Sent(
        offered_frames=sent_ns.size,
        first_sent_ns=0,
        last_sent_ns=round(float(sent_ns[-1])),
        lag_max_ns=0,
        postponed_ns=0,
        gaps=buckets(np.full(max(1, sent_ns.size - 1), gap_ns)),
    )
    receiver = Receiver(
        port=1,
        foreign_frames=0,
        misdirected_frames=0,
        tester_dropped_frames=0,
        last_received_ns=int(left_ns[arrived[-1]]) if arrived.size else None,
        stamp="",
    )
    stopped = sent_ns.size < trial.frames
    return facts_of(sent, tracked).model_copy(update={"receivers": [receiver], "stopped_for_loss": stopped})


def _gaps(sent_ns: Times, lost: NDArray[np.bool_]) -> list[Gap]:
    edges = np.flatnonzero(np.diff(lost.astype(np.int8), prepend=0, append=0))
    times_ns = sent_ns.astype(np.int64).tolist()
    return [
        Gap(
            first=first,
            last=behind - 1,
            count=behind - first,
            after_ns=times_ns[first - 1] if first else None,
            before_ns=times_ns[behind] if behind < lost.size else None,
        )
        for first, behind in edges.reshape(-1, 2).tolist()
    ]


def _series(trial: Trial, left_ns: Times, taken_ns: Times) -> list[Interval]:
    if not left_ns.size:
        return []
    number = (left_ns // trial.interval_ns).astype(int)
    ends = np.searchsorted(number, np.arange(number[-1] + 2))
    found = []
    for place, (begin, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        own = taken_ns[begin:end]
        known = None
        if own.size:
            known = IntervalLatency(min_ns=float(own.min()), max_ns=float(own.max()), mean_ns=float(own.mean()))
        found.append(Interval(start_ns=place * trial.interval_ns, forwarded_frames=end - begin, latency=known))
    return found
