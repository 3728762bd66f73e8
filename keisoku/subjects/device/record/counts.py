"""Counts and measured values of a trial: of a sending port, and of a received stream.

Mirrors the types of the same names in `core/src`. Holds facts only; never computes.
"""

from __future__ import annotations

from typing import Literal

from keisoku.frozen import Frozen
from keisoku.subjects.device.record.gaps import Gaps
from keisoku.subjects.device.record.packed import Numbers, Pairs


class Buckets(Frozen):
    """Occupied buckets of a histogram: `lower_ns <= value < upper_ns`."""

    negative: int = 0
    lower_ns: Numbers = []
    upper_ns: Numbers = []
    counts: Numbers = []


class Latency(Frozen):
    """Over all frames of a trial; `deviation_ns` is their standard deviation."""

    count: int
    min_ns: float
    max_ns: float
    mean_ns: float
    deviation_ns: float
    histogram: Buckets


class Variation(Frozen):
    """D(i) − D(i−1) over all pairs of consecutive frames that both arrived, signed (RFC 3393, RFC 8219 §7.3.2)."""

    count: int
    min_ns: float
    max_ns: float
    mean_ns: float
    histogram: Buckets
    """Buckets for both signs; the one around zero is from −1 to 1."""


class Jitter(Frozen):
    """|D(i) − D(i−1)| of frames that arrived one after the other, also where frames between them were lost
    (RFC 4689 §3.2.5)."""

    count: int
    mean_ns: float
    max_ns: float
    parts_ns: list[float] = []
    """Means of equal parts of them in order of arrival; what follows the last whole part is in none."""


class DriverDelay(Frozen):
    """For a sample of frames: the driver's timestamp minus the one in the frame."""

    asked_frames: int
    delay: Latency | None


class Marked(Frozen):
    """Latencies of the frames that arrived marked, in the buckets of the latencies of all frames."""

    ce: Buckets
    """With CE, congestion experienced (RFC 3168 §5)."""
    remarked: Buckets
    """With another DSCP or PCP than they were sent with."""


PacedBatches = list[tuple[int, int, int]]
"""The pace of the core, which is how long a piece of work took on it, in ns (0: not the same before and after), how
long batches took, in ns, and how many did."""


class Sent(Frozen):
    """Facts of the sender at one port, or at all of them; times in ns since the first frame was due."""

    offered_frames: int
    unsent_frames: int = 0
    """Frames besides these that were not sent, because the port had no link."""
    first_sent_ns: int
    last_sent_ns: int
    lag_max_ns: int
    postponed_ns: int
    """Total shift of the schedule because the sender was too late to catch up."""
    interrupted_ns: int = 0
    """The part of it because the host stopped the sender between two frames; the rest is because it is too slow."""
    interruptions: int = 0
    """How often the host stopped it for longer than it may catch up."""
    shifts: Pairs = []
    """The first shifts of the schedule: when the late frame was sent, and by how much later all others were due then,
    in ns."""
    refused_frames: int | None = None
    """Frames of those offered that the driver had no room for, so that they never left; None where it is not known."""
    gaps: Buckets
    driver_delay: DriverDelay | None = None
    """How much later than its timestamp the driver sent a frame, where the driver reports it."""
    batches: PacedBatches = []
    """From the first frame of a batch to when the next could begin, without waits for due times. Only where the trial
    times them."""

    @property
    def unlisted_ns(self) -> int:
        """By how much the schedule was shifted besides `shifts`; 0 if they are all."""
        return self.postponed_ns - sum(by_ns for _, by_ns in self.shifts)

    @property
    def left_frames(self) -> int:
        """Frames that left, as far as is known."""
        return self.offered_frames - (self.refused_frames or 0)

    @property
    def going_ns(self) -> int:
        """How long the load lasted without the time in which the host stopped the sender."""
        return self.last_sent_ns - self.interrupted_ns

    @property
    def sending_ns(self) -> int:
        """From the first frame to the last without the time in which the host stopped the sender; below 0 if nothing
        but a stop lies between them."""
        return self.going_ns - self.first_sent_ns

    @property
    def interrupted_share(self) -> float:
        """Share of the load's time in which the host stopped the sender."""
        return self.interrupted_ns / self.last_sent_ns if self.last_sent_ns > 0 else 0.0


class Ranges(Frozen):
    """Sequence numbers as `(first, last)` ranges; `complete` is false if the list was cut."""

    count: int
    ranges: Pairs
    complete: bool


class Extents(Frozen):
    """Distances such as reordering extents (RFC 4737 §4.2) in frames; element k counts those of 2^k to 2^(k+1) - 1."""

    max_frames: int = 0
    sum_frames: int = 0
    by_power_of_two: list[int] = []


class Times(Frozen):
    """Times in ns and how many there were; mean and maximum are 0 if none."""

    count: int
    max_ns: int
    mean_ns: float
    histogram: Buckets


class Reordering(Frozen):
    """Metrics of reordering for a receiver (RFC 4737, RFC 5236), in frames; see `core/src/reordering.rs`."""

    extent: Extents
    byte_offset: Extents
    """Extents in frames: how many with greater numbers arrived before a reordered one."""
    late_time: Times
    discontinuities: int
    gap: Extents
    """Between discontinuities."""
    gap_time: Times
    in_order_frames: int
    run_squares: int
    """Sum of the squared lengths of reordering-free runs; their number is that of reordered frames."""
    n_reordered: list[int]
    """Element k counts frames that are (k + 1)-reordered."""
    threshold_frames: int
    """Largest displacement and occupancy that are counted."""
    displacement: Pairs
    """Displacement (early is negative) and frames: RFC 5236's FD."""
    occupancy: Pairs
    """Buffer occupancy and arrivals: RFC 5236's FB."""
    discarded_frames: int
    """Frames displaced beyond the threshold."""


class IntervalLatency(Frozen):
    """Latencies of the frames received in one interval."""

    min_ns: float
    max_ns: float
    mean_ns: float


class Interval(Frozen):
    """One interval of receive time, counted from when the first frame was due."""

    start_ns: int
    forwarded_frames: int
    latency: IntervalLatency | None


class Tracked(Frozen):
    """The receiver's account of one stream; see `core/src/account/tracking.rs` for each count."""

    received_frames: int
    forwarded_frames: int
    lost_frames: int
    corrupt: Ranges
    corrupt_arrivals: int
    duplicated: Ranges
    reordered: Ranges
    reordering: Reordering | None = None
    """None if nothing was reordered."""
    foreign_frames: int
    lost: Gaps
    lost_kept_as: Literal["list", "bitmap", "intervals"]
    """Least detailed form in `lost`: each gap with its times, bitmaps of dense ranges, or counts in intervals."""
    lost_at: Buckets | None = None
    """For each frame that was missing when a later one arrived, the latency of that one and the time from when the
    missing one was sent, about, to when that one was: its own latency if the queue only drained meanwhile. None if the
    trial did not ask for it."""
    latency: Latency | None
    variation: Variation | None = None
    jitter: Jitter | None = None
    """None if the trial did not ask for it."""
    tagged_latency_ns: float | None
    latency_since_tag: Buckets | None = None
    """Latencies of the frames that arrived from the tagged one on."""
    series: list[Interval]
