"""The time base and its stamps in integers: what the RTL is compared with, and what long sweeps are made of."""

from fractions import Fraction
from math import ceil, gcd

TICK_NS = Fraction(320, 41)
CLOCK_NS = 8


def elapsed_ns(ticks: int) -> int:
    """What the time base shows `ticks` after it was set, less what it was set to."""
    return (320 * ticks + 17 * (ticks // 41) % 41) // 41


def stamp_ns(event_ns: Fraction, first_edge_ns: Fraction = Fraction(0), ticks_late: int = 2) -> int:
    """The stamp of an event at a time; the time base shows 0 from `first_edge_ns` on.

    The event is seen by the first edge after it, and its stamp is what is shown `ticks_late` edges after that.
    """
    return elapsed_ns(ceil((event_ns - first_edge_ns) / TICK_NS) - 1 + ticks_late)


def mean_resolution_ns(period: Fraction) -> float:
    """What the mean latency of frames a period of byte times apart may be off by when all clocks are one crystal's.

    The clocks meet in 40 phases, 8/40 ns apart; a period that shares a factor with 40 visits only some of them. One
    that is no whole number of byte times slips through all.
    """
    return CLOCK_NS * (gcd(int(period), 40) if period.denominator == 1 else 1) / 40
