"""One trial: what was asked (`Trial`), what happened (`Facts`), and both with context (`TrialRecord`).

Mirrors `core/src/record.rs`. Holds counts and intentions; the few properties are definitions of
the RFCs, everything else belongs to `analysis`. Never talks to an engine.
"""

from __future__ import annotations

import json
from base64 import b64decode
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

NS_PER_S = 1_000_000_000


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Phases(_Model):
    """What surrounds the load of a trial (RFC 2544 §23)."""

    learning: bool = True
    """Send learning frames before the load (RFC 2544 §23 c)."""
    learning_wait_ns: int = Field(2 * NS_PER_S, ge=0)
    drain_ns: int = Field(2 * NS_PER_S, ge=0)
    """How long the receiver waits for frames after the last one was sent (§23 d: 2 s)."""
    rest_ns: int = Field(5 * NS_PER_S, ge=0)
    """Pause for the DUT to settle before the next trial (§23 e: at least 5 s)."""


class Trial(_Model):
    """A constant load of one stream for a fixed time: the intention."""

    purpose: str
    """Why a method wants it, for people: 'search', 'final', 'latency 3 of 20'."""
    frame_bytes: int
    """From destination address to FCS, both included (RFC 2544 §9)."""
    frames_per_second: float
    duration_ns: int
    phases: Phases = Phases()
    interval_ns: int = NS_PER_S
    tag: int | None = None
    """Sequence number of the frame that RFC 2544 §26.2 tags."""

    @property
    def frames(self) -> int:
        """Frames to send: at least one."""
        return max(1, round(self.frames_per_second * self.duration_ns / NS_PER_S))

    def load(self, stream: int, seed: int = 0) -> str:
        """The load as `core/src/record.rs` reads it; `seed` feeds a simulated device's random choices."""
        return json.dumps(
            {
                "frame_bytes": self.frame_bytes,
                "frames_per_second": self.frames_per_second,
                "frames": self.frames,
                "duration_ns": self.duration_ns,
                "stream": stream,
                "drain_ns": self.phases.drain_ns,
                "interval_ns": self.interval_ns,
                "tag": self.tag,
                "seed": seed,
            }
        )


class Buckets(_Model):
    """Occupied buckets of a histogram: `lower_ns <= value < upper_ns`."""

    negative: int = 0
    lower_ns: list[int] = []
    upper_ns: list[int] = []
    counts: list[int] = []


class Sent(_Model):
    """What the sender did; times in ns since the first frame was due."""

    offered_frames: int
    first_sent_ns: int
    last_sent_ns: int
    lag_max_ns: int
    postponed_ns: int
    """By how much the schedule was shifted in all, because the sender was too late to catch up."""
    gaps: Buckets


class Ranges(_Model):
    """Sequence numbers as `(first, last)` ranges; `complete` is false if the list was cut."""

    count: int
    ranges: list[tuple[int, int]]
    complete: bool


class Extents(_Model):
    """Reordering extents (RFC 4737 §4.2.1) in frames; element k counts those of 2^k to 2^(k+1) - 1."""

    max_frames: int = 0
    by_power_of_two: list[int] = []


class Gap(_Model):
    """Missing sequence numbers, sent after `after_ns` and before `before_ns`."""

    first: int
    last: int
    count: int
    """All from first to last, or fewer where gaps had to be joined."""
    after_ns: int | None
    before_ns: int | None
    bitmap: str | None = None
    """Of joined gaps, which are missing: base64; bit k of byte k / 8, least significant first, is `first + k`."""

    def numbers(self) -> list[int]:
        """The missing sequence numbers. Raises ValueError of joined gaps that kept their count only."""
        if self.bitmap is not None:
            octets = enumerate(b64decode(self.bitmap))
            return [self.first + 8 * place + k for place, octet in octets for k in range(8) if octet >> k & 1]
        if self.count != self.last - self.first + 1:
            raise ValueError(f"which {self.count} of {self.first} to {self.last} are missing was not kept")
        return list(range(self.first, self.last + 1))


class Latency(_Model):
    """Over all frames of a trial; `deviation_ns` is their standard deviation."""

    count: int
    min_ns: float
    max_ns: float
    mean_ns: float
    deviation_ns: float
    histogram: Buckets


class IntervalLatency(_Model):
    """Over the frames received in one interval."""

    min_ns: float
    max_ns: float
    mean_ns: float


class Interval(_Model):
    """One interval of receive time, counted from when the first frame was due."""

    start_ns: int
    forwarded_frames: int
    latency: IntervalLatency | None


class Tracked(_Model):
    """What the receiver found; see `core/src/tracking.rs` for each count."""

    received_frames: int
    forwarded_frames: int
    lost_frames: int
    corrupt: Ranges
    corrupt_arrivals: int
    duplicated: Ranges
    reordered: Ranges
    reordering_extent: Extents = Extents()
    foreign_frames: int
    lost: list[Gap]
    lost_kept_as: Literal["list", "bitmap", "intervals"]
    """Weakest form in `lost`: each gap with its times, bitmaps of dense stretches, or counts in intervals."""
    latency: Latency | None
    tagged_latency_ns: float | None
    series: list[Interval]


class Facts(_Model):
    """What an engine returns of one trial."""

    sent: Sent
    tracked: Tracked
    tester_dropped_frames: int
    interrupted: bool
    transmit_stamp: str
    receive_stamp: str


class TrialRecord(_Model):
    """A finished trial as it is kept: intention, facts, and whether they may be used."""

    index: int
    method: str
    trial: Trial
    facts: Facts
    started_at: str
    """UTC, ISO 8601."""
    engine_seconds: float
    """Time that passed inside the engine, waits included; virtual for simulated devices."""
    invalid_because: list[str]
    """Why this trial says nothing about the DUT; empty if it does."""

    @property
    def valid(self) -> bool:
        """False if the tester failed to offer or to account for what was asked."""
        return not self.invalid_because

    @cached_property
    def offered_fps(self) -> float:
        """Offered load in frames/s (RFC 2285 §3.5.2), from the first to the last stamp."""
        sent = self.facts.sent
        span_ns = sent.last_sent_ns - sent.first_sent_ns
        if sent.offered_frames < 2 or span_ns <= 0:
            return self.trial.frames_per_second
        return (sent.offered_frames - 1) * NS_PER_S / span_ns

    @property
    def loss_ratio(self) -> float:
        """RFC 2544 §26.3: (offered - forwarded) / offered; corrupt frames count as not forwarded."""
        offered = self.facts.sent.offered_frames
        return (offered - self.facts.tracked.forwarded_frames) / offered if offered else 0.0
