"""Capacity of a path's narrowest link by the trains whose delay sum is least: those that met no queue (CapProbe).

Kapoor, Chen, Lao, Gerla, Sanadidi, "CapProbe: a simple and accurate capacity estimation technique" (SIGCOMM
2004), for bulks as in PBProbe (PAM 2006), with the median of the k lowest sums in place of the single lowest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics.seed import DEFAULT
from keisoku.ground.statistics.uncertainty import deviation
from keisoku.subjects.path.train.dispersion import Dispersions

LOWEST = 5
"""k."""
AGREE = 0.03
"""Two successive values agree within this share: enough trains were sent."""
CHECK = 0.05
"""The lowest sum may exceed the sum of the lowest delays by this share of the dispersion."""
HURRY = 0.9
"""A train that took more than this share of its dispersion to be sent was spread by its sender, not by the path."""
NORMAL = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""
_DRAWS = 400


@dataclass(frozen=True)
class LinkCapacity:
    """Capacity by the trains of lowest delay sum."""

    bps: float
    """Of IP packets, bit/s."""
    error_bps: float
    """Standard uncertainty from the trains' scatter (bootstrap)."""
    lower_bps: float
    upper_bps: float
    """95 % interval by the same bootstrap."""
    trains: int
    """That were sent back-to-back and arrived whole."""
    spread: int
    """That were not sent back-to-back, and left out."""
    incomplete: int
    all_spread: bool
    """Trains that were not sent back-to-back were used, as there were too few others."""
    check_excess: float
    """By how much the lowest sum exceeds the sum of the lowest delays, as a share of the dispersion."""
    queued_share: float
    """Share of the trains that were delayed by more than half of the dispersion."""
    low_scatter: float
    """Standard deviation of the dispersions of more trains of low delay sum, as a share of the dispersion, robustly."""
    low_shift: float
    """By how much their median differs from the dispersion, as a share of it."""

    @property
    def passes_check(self) -> bool:
        """At least one train met no queue at all."""
        return self.check_excess <= CHECK

    @property
    def limited_by_sender(self) -> bool:
        """Hardly any train left back-to-back, and so all count: the path may be faster."""
        return self.all_spread


def link_capacity(found: Dispersions) -> LinkCapacity | None:
    """None if fewer than k trains can be used. If hardly any was sent back-to-back all are used (`all_spread`)."""
    hurried = (found.sent_ns < HURRY * found.received_ns) & (found.received_ns > 0)
    spread = int(len(found) - hurried.sum())
    enough = bool(hurried.sum() >= max(LOWEST, len(found) // 10))
    use = found.select(hurried if enough else found.received_ns > 0)
    if len(use) < LOWEST:
        return None
    gap = _gap(use.sum_ns, use.received_ns)
    draws = np.random.default_rng(DEFAULT).integers(0, len(use), (_DRAWS, len(use)))
    drawn = use.bits / np.array([_gap(use.sum_ns[one], use.received_ns[one]) for one in draws]) * 1e9
    lower, upper = np.quantile(drawn, [0.025, 0.975])
    least = use.sum_ns.min()
    more = min(len(use), max(3 * LOWEST, len(use) // 50))
    low = use.received_ns[np.argsort(use.sum_ns)[:more]]
    return LinkCapacity(
        bps=use.bits / gap * 1e9,
        error_bps=deviation(drawn),
        lower_bps=float(lower),
        upper_bps=float(upper),
        trains=len(use),
        spread=spread,
        incomplete=found.incomplete,
        all_spread=not enough,
        check_excess=float((least - use.first_ns.min() - use.last_ns.min()) / gap),
        queued_share=float((use.sum_ns > least + 0.5 * gap).mean()),
        low_scatter=NORMAL * float(np.median(np.abs(low - np.median(low)))) / gap,
        low_shift=abs(float(np.median(low)) / gap - 1),
    )


def agree(before: LinkCapacity | None, now: LinkCapacity | None) -> bool:
    """Enough trains were sent: two successive values agree, and the check passes."""
    return before is not None and now is not None and now.passes_check and abs(now.bps / before.bps - 1) <= AGREE


def _gap(
    sums: np.ndarray[tuple[int], np.dtype[np.float64]], gaps: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float:
    lowest = np.argpartition(sums, LOWEST - 1)[:LOWEST]
    return float(np.median(gaps[lowest]))
