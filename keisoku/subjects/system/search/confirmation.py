"""Tests whether a limit is better than another one, or than none: interleaved blocks and a paired test. Sets no limit.

A block of four is limit, other, other, limit (ABBA), so a drift that is straight over the block cancels in its
difference. The differences of blocks are what is tested (Student). The second evaluation of each pair comes
later after the change than the first: if they differ, the system had not settled.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from keisoku.ground.statistics.uncertainty import CONFIDENCE, half_width, standard_error_of_mean, student
from keisoku.subjects.system.search.candidate import Limit
from keisoku.subjects.system.search.evaluation import Evaluation

SURELY_UNSETTLED = 0.99
"""Confidence of the test, as it is made several times."""
AGREE, SURELY, WIDTH = 1.3, 2.6, 2.8
"""Standard errors of their difference up to which two gains agree, and from which on they surely do not; and half the
width of an interval of 95 % in standard errors, of five blocks (Student)."""
STILL = 1.0
"""Share of what a gain changed by at the last, longer settling time that it may yet change by."""
LITTLE, OF_GAIN = 0.005, 0.05
"""Natural logarithm, and share of the gain, by which a system may still change: it does not matter."""


@dataclass(frozen=True)
class Gain:
    """By how much a limit's score lies above that of another one or of none, in natural logarithms."""

    mean: float
    error: float
    """Half the width of its two-sided interval of 95 %."""
    blocks: int
    settles: int = 1
    """Times the settling time that were left out after each change."""
    unsettled: float | None = None
    """By how much the other one, or none, still changed, or the limit; None: by nothing that matters."""

    @property
    def lower(self) -> float:
        """Lower end of its interval, the logarithm of a ratio; what is shown of it contradicts no judgement."""
        return self.mean - self.error

    @property
    def real(self) -> bool:
        """True if the gain is significant."""
        return self.lower > 0

    @property
    def percent(self) -> float:
        """The mean, of the figure of merit itself."""
        return 100 * math.expm1(self.mean)

    def apart(self, other: Gain) -> float:
        """By how much two measurements of one gain may differ, as natural logarithms of a ratio: a system that still
        changes a little does not matter."""
        return max(LITTLE, OF_GAIN * abs(self.mean), math.hypot(self.error, other.error) / WIDTH)

    def unsure(self, settles: Sequence[int]) -> bool:
        """Whether what was observed after the first of these settling times must not be used, as it came to another
        gain than the second."""
        return self.settles not in settles[:2]

    def after(self, last: Gain) -> Gain:
        """This gain, of a longer settling time than the last one; what they differ by may go on to the next one."""
        error = math.hypot(self.error, STILL * abs(self.mean - last.mean))
        surely = abs(self.mean - last.mean) > SURELY * self.apart(last)
        unsettled = self.mean - last.mean if surely else self.unsettled
        return replace(self, error=error, unsettled=unsettled)

    def plus(self, other: Gain) -> Gain:
        """What two gains make together that were measured one after the other."""
        mean, error = self.mean + other.mean, math.hypot(self.error, other.error)
        return Gain(mean, error, self.blocks, self.settles, self.unsettled)


def confirm(
    limit: Limit,
    blocks: int,
    other: Limit = None,
    settles: int = 1,
    before: Sequence[float] = (),
    purpose: str = "confirm",
    most_blocks: int = 0,
) -> Generator[Evaluation, float, Gain]:
    """Evaluates the limit against the other in so many blocks of four. Two blocks at least, as one has no scatter.

    While it is undecided whether there is a gain that matters, their number is doubled, up to `most_blocks`.
    `before`: scores without unit of the other from before any limit was set, when nothing was left to settle.
    """
    looks = [blocks]
    while 2 * looks[-1] <= most_blocks:
        looks.append(2 * looks[-1])
    scores: list[float] = []
    for until in looks:
        while len(scores) < 4 * until:
            for tried in (limit, other, other, limit):
                scores.append((yield Evaluation(tried, purpose, settles)))
        table = np.asarray(scores).reshape(until, 4)
        found = gain(((table[:, 0] - table[:, 1] - table[:, 2] + table[:, 3]) / 2).tolist(), len(looks))
        if found.real or found.mean + found.error <= LITTLE:
            break
    return replace(found, settles=settles, unsettled=_unsettled(table, before, found.mean))


def confirm_settled(
    limit: Limit, blocks: int, settles: Sequence[int], before: Sequence[float] = (), most_blocks: int = 0
) -> Generator[Evaluation, float, Gain]:
    """Confirms a limit against none at the first of these settling times, and again at the next ones until the gain no
    longer depends on them: before, each of the two shows something of the other, and the gain is understated. Scores
    have no unit.
    """
    last: Gain | None = None
    for each in settles:
        found = yield from confirm(limit, blocks, None, each, before, most_blocks=most_blocks)
        if last is None:
            last = found
            continue
        agree = found.unsettled is None and abs(found.mean - last.mean) <= AGREE * found.apart(last)
        last, found = found, found.after(last)
        if agree:
            break
    return found


def gain(differences: list[float], looks: int = 1) -> Gain:
    """The mean of paired differences and its interval, which holds at all `looks` at a growing number of differences
    together (Bonferroni). Raises ValueError for fewer than two."""
    count = len(differences)
    if count < 2:
        raise ValueError("one difference has no scatter to test it by")
    return Gain(float(np.mean(differences)), half_width(differences, 1 - (1 - CONFIDENCE) / looks), count)


def _unsettled(
    table: np.ndarray[tuple[int, ...], np.dtype[np.float64]], before: Sequence[float], mean: float
) -> float | None:
    """The largest of the changes that are surely there and matter; None if there is none."""
    other = table[:, 1:3]
    # Of each pair, the later less the earlier; the limit's pairs reach from one block into the next.
    changes = [other[:, 1] - other[:, 0], table[1:, 0] - table[:-1, 3]]
    found = []
    for change in changes:
        if len(change) >= 2:
            found.append((float(np.mean(change)), half_width(change.tolist(), SURELY_UNSETTLED)))
    if len(before) >= 2:
        blocks = other.mean(axis=1)
        each = math.hypot(standard_error_of_mean(before), standard_error_of_mean(blocks))
        freedom = min(len(before), len(blocks)) - 1
        bound = student(freedom, SURELY_UNSETTLED) * each
        found.append((float(np.mean(before) - blocks.mean()), bound))
    least = max(LITTLE, OF_GAIN * abs(mean))
    sure = [change for change, bound in found if abs(change) > max(bound, least)]
    return max(sure, key=abs) if sure else None
