"""What a device's exports say of a trial's frames, beside the exact counts of these frames.

A sampler counts each frame independently of the others with a probability p (RFC 5475 §5.2), so the number of samples
is binomial, and p has the exact interval of Clopper and Pearson. One that counts every n-th frame scatters less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.share import clopper_pearson
from keisoku.subjects.device.record.exports import Exporter, Exports
from keisoku.subjects.device.record.facts import Facts

CONFIDENCE = 0.999
"""Of an estimate's interval: an exporter that says the truth is accused in one of a thousand runs."""
_SIGMAS = 3.2905 + 1.6449
"""Quantiles of a normal distribution, of this confidence on both sides and of 95 % on one."""
_RARE = 1e-3
"""Chance of one missing flow that is nobody's fault."""
_WRAP = 1 << 32
"""Counters of frames have 32 bits in sFlow."""
_CARRIES = 0.5
"""An interface that counted more than this share of the frames is one of those that they passed."""


def samples_needed(deviation: float) -> int:
    """So many samples show a deviation of an estimate, as a ratio, with a probability of 95 %."""
    return ceil((_SIGMAS / deviation) ** 2)


@dataclass(frozen=True)
class Account:
    """What one exporter says of the trial's streams. A frame that the device lost may have been counted or not, so the
    truth of a stream is between what it forwarded and what was offered."""

    exporter: Exporter
    least_frames: NDArray[np.int64]
    """Forwarded, of each stream of which no flow was older than the trial."""
    most_frames: NDArray[np.int64]
    """Offered."""
    sampled_frames: NDArray[np.int64]
    """Frames that were looked at, of each of these streams."""
    one_in: int
    """Each of them stands for so many: as it is configured, as the exports say, or as their counts show."""
    one_in_said: int | None
    bytes_a_frame: float | None
    """None: it says nothing of bytes."""
    older_flows: int
    """Flows that began before the trial: what is exported of them has other frames, too."""
    last_ns: int | None
    """Arrival of the last datagram that says something of these streams, since the first frame was due."""

    @cached_property
    def samples(self) -> int:
        """Frames that were looked at."""
        return int(self.sampled_frames.sum())

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Streams of which nothing was exported though frames passed."""
        found: NDArray[np.bool_] = (self.sampled_frames == 0) & (self.least_frames > 0)
        return found

    @property
    def other_counts(self) -> int:
        """Streams of which more or fewer frames were counted than there were, by an exporter that counts all."""
        fewer = (self.sampled_frames < self.least_frames) & ~self.missing
        return int((fewer | (self.sampled_frames > self.most_frames)).sum())

    @property
    def ratio(self) -> tuple[float, float, float]:
        """The estimate of all frames by the truth: likely, and the ends of its interval; exact if all are counted."""
        least, most = max(1, int(self.least_frames.sum())), int(self.most_frames.sum())
        said = self.samples * self.one_in
        if self.one_in == 1 or self.samples >= least:
            return said / most, said / most, said / least
        lower, _ = clopper_pearson(self.samples, most, CONFIDENCE)
        _, upper = clopper_pearson(self.samples, least, CONFIDENCE)
        return said / most, lower * self.one_in, upper * self.one_in

    @property
    def is_explained(self) -> bool:
        """Whether sampling alone leaves so many flows without a sample, in all but one of a thousand runs."""
        share = self.samples / max(1, int(self.most_frames.sum()))
        chances = np.exp(self.least_frames[self.least_frames > 0] * np.log1p(-min(share, 1 - 1e-12)))
        most = chances.sum() + _SIGMAS * np.sqrt((chances * (1 - chances)).sum())
        return bool(self.missing.sum() <= most + (most > _RARE))


def accounts(facts: Facts, sampling: int | None) -> list[Account]:
    """One of each exporter that said something of flows, in the order in which they were first heard; it looks at one
    frame in `sampling`, if that is known."""
    exports = facts.exports
    if exports is None:
        return []
    rows = exports.flows.rows
    return [
        _account(exporter, rows[rows[:, 0] == number], facts, sampling)
        for number, exporter in enumerate(exports.exporters)
        if (rows[:, 0] == number).any()
    ]


def _account(exporter: Exporter, rows: NDArray[np.int64], facts: Facts, sampling: int | None) -> Account:
    streams = len(facts.streams)
    own = rows[rows[:, 1] >= 0]
    older = np.unique(own[own[:, 7] == 1, 1])
    young = np.setdiff1d(np.arange(streams), older)
    kept = own[np.isin(own[:, 1], young)]
    least = np.array([stream.tracked.forwarded_frames for stream in facts.streams], np.int64)[young]
    most = np.array([stream.offered_frames for stream in facts.streams], np.int64)[young]
    counted = np.bincount(kept[:, 1], kept[:, 5], minlength=streams).astype(np.int64)[young]
    said = own[own[:, 4] > 0, 4]
    one_in_said = int(np.median(said)) if len(said) else None
    one_in = sampling or one_in_said
    if one_in is None:
        is_true = bool(((counted >= least) & (counted <= most)).all())
        # Samples that were multiplied scatter, and all are multiples of one number.
        scatters = len(np.unique(counted)) > 1 and not is_true
        one_in = int(np.gcd.reduce(kept[:, 5])) if scatters else 1
    # Some exporters multiply what they count by that already.
    if one_in > 1 and not (kept[:, 5] % one_in).any():
        counted //= one_in
    bytes_ = int(kept[:, 6].sum())
    return Account(
        exporter=exporter,
        least_frames=least,
        most_frames=most,
        sampled_frames=counted,
        one_in=one_in,
        one_in_said=one_in_said,
        bytes_a_frame=bytes_ / int(kept[:, 5].sum()) if bytes_ else None,
        older_flows=len(older),
        last_ns=int(kept[:, 2].max()) if len(kept) else None,
    )


@dataclass(frozen=True)
class Reading:
    """By how much the counters of an interface grew over the load, in one direction."""

    exporter: Exporter
    interface: int
    inwards: bool
    frames: int
    """Modulo 2^32."""


def readings(exports: Exports, load_ns: int, frames: int) -> list[Reading]:
    """Of the interfaces and directions that carried the trial's frames, as far as they were read before the load and
    after it."""
    rows, found = exports.interfaces.rows, []
    for number, interface in dict.fromkeys(map(tuple, rows[:, :2].tolist())):
        own = rows[(rows[:, 0] == number) & (rows[:, 1] == interface)]
        before, after = own[own[:, 2] <= 0], own[own[:, 2] > load_ns]
        if not len(before) or not len(after):
            continue
        for inwards, column in ((True, 3), (False, 5)):
            grown = int(after[-1, column] - before[-1, column]) % _WRAP
            if _CARRIES * frames < grown < _WRAP // 2:
                found.append(Reading(exports.exporters[number], interface, inwards, grown))
    return found
